"""The events of a session, as one closed union.

The loop yields them, the log stores the durable ones, every front end renders them. No `match` over events has a
`case _`, so the type checkers report every place that must handle a new kind.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.event_parts import ConversationEvent as ConversationEvent  # noqa: PLC0414 - re-exported: parts of events
from bobstay.model.event_parts import Ending as Ending  # noqa: PLC0414
from bobstay.model.event_parts import InteractionEvent as InteractionEvent  # noqa: PLC0414
from bobstay.model.event_parts import NoticeEvent as NoticeEvent  # noqa: PLC0414
from bobstay.model.event_parts import SettingsEvent as SettingsEvent  # noqa: PLC0414
from bobstay.model.event_parts import Task as Task  # noqa: PLC0414
from bobstay.model.event_parts import ToolEvent as ToolEvent  # noqa: PLC0414
from bobstay.model.live_events import Live
from bobstay.model.message import Block, ModelSpend, Stop, ToolCall, ToolReply, Usage
from bobstay.model.session_events import (
    ArtifactMade,
    Configured,
    InterruptAsked,
    SessionChanged,
    SessionEvent,
    WorkerExited,
    WorkerStarted,
)

# ---------------------------------------------------------------- durable: in the log before any consequence


class SessionStarted(SessionEvent, frozen=True, tag="session_started", omit_defaults=True):
    cwd: str
    version: str
    model: str = ""
    forked_from: str = ""
    """Id of the session this one was copied from."""
    imported_from: str = ""
    """Path of the foreign transcript this one was made from."""


Origin: TypeAlias = Literal["human", "harness", "hook"]


class InputQueued(ConversationEvent, frozen=True, tag="input_queued", omit_defaults=True):
    """A message arrived while the session was busy; the `Prompted` with the same id passes it to the model."""

    id: str
    blocks: tuple[Block, ...]
    how: Literal["steer", "queue"] = "steer"
    client_id: str = ""
    verbatim: bool = False
    """As in `Prompted`."""
    sender: str = ""
    """The agent that sent it; empty for a person. Such a message is never taken for a person's words."""


class InputDropped(ConversationEvent, frozen=True, tag="input_dropped"):
    """A queued message was withdrawn before the model read it."""

    id: str


class Prompted(ConversationEvent, frozen=True, tag="prompted", omit_defaults=True):
    """Input for the model: a person's prompt, or a reminder from the harness or a hook."""

    id: str
    blocks: tuple[Block, ...]
    origin: Origin = "human"
    client_id: str = ""
    """The id the host gave this message, if it did."""
    why: str = ""
    """The cause of input that is not a person's, such as `output_limit` or `stop_hook`."""
    typed: str = ""
    """What the person typed, if that called a command; `blocks` is then what the model reads instead."""
    blocked: bool = False
    """A hook refused this prompt: the model never reads it."""
    verbatim: bool = False
    """A program composed it: what looks like a command or a mention of a file in it is plain text."""
    files: dict[str, str] = {}
    """Path to content hash of each file that it shows to the model as a whole."""


class TurnStarted(ConversationEvent, frozen=True, tag="turn_started"):
    """A turn starts on a person's prompt; `RunDone` ends it."""

    turn: int
    model: str
    mode: str
    window: int = 0
    """Context window of the model in tokens; 0 if the engine does not know it."""


class BlockDone(ConversationEvent, frozen=True, tag="block_done", omit_defaults=True):
    """One block of the model's answer is complete. A call may start once this is stored."""

    message_id: str
    index: int
    block: Block
    model: str = ""
    usage: Usage = Usage()
    """As counted when the message began."""
    partial: bool = False
    """Cut short by an interrupt or a fault: what had arrived is kept."""


class MessageDone(ConversationEvent, frozen=True, tag="message_done", omit_defaults=True):
    message_id: str
    model: str
    stop: Stop
    usage: Usage
    cost: float = 0.0
    """In US dollars, at the price of that time."""
    api_ms: int = 0
    request_id: str = ""
    broken: Literal["", "kept", "lost"] = ""
    """The answer broke off: its complete blocks are kept, or there were none. Usage is then estimated."""


class InteractionOpened(InteractionEvent, frozen=True, tag="interaction_opened", omit_defaults=True):
    """A person is asked to decide about a call with exactly this input."""

    id: str
    kind: Literal["permission", "question", "plan"]
    call: ToolCall
    reason: str = ""
    reason_type: str = ""
    suggestions: tuple[dict[str, Any], ...] = ()
    blocked_path: str = ""
    description: str = ""
    destructive: bool = False
    """The call may destroy what cannot be restored: front ends offer no lasting permission for it."""
    agent: str = ""
    """Id of the sub-agent whose call it is; "" for the session's own."""
    mcp_server: dict[str, str] = {}
    """`name` and `source` of the MCP server whose tool is called; empty for other tools."""


class InteractionClosed(InteractionEvent, frozen=True, tag="interaction_closed", omit_defaults=True):
    id: str
    outcome: Literal["allowed", "denied", "cancelled"]
    message: str = ""
    by: str = ""
    """Who decided: a person's name, `hook`, `rule`, or why there was no decision."""
    input: dict[str, Any] | None = None
    """The input to run instead, if the answer changed it."""


class Advised(InteractionEvent, frozen=True, tag="advised", omit_defaults=True):
    """The advisor of auto mode judged a call that a person would have been asked about."""

    call_id: str
    verdict: Literal["allow", "deny", "ask"]
    reason: str = ""
    failed: bool = False
    """There was no usable answer; the verdict is then `ask`."""
    model: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    api_ms: int = 0


class ToolStarted(ToolEvent, frozen=True, tag="tool_started", omit_defaults=True):
    """All checks passed and the call runs now. After a crash, only such a call may have had effects."""

    call_id: str
    name: str
    input: dict[str, Any]
    """The input the call runs with: hooks and people may have changed what the model sent."""
    read_only: bool = False


class Decided(Struct, frozen=True, omit_defaults=True):
    """The decision about permission for a call."""

    verdict: Literal["accept", "reject"]
    source: str = ""
    reason_type: str = ""
    why: str = ""


class ToolDone(ToolEvent, frozen=True, tag="tool_done", omit_defaults=True):
    """The reply to a call; there is exactly one."""

    reply: ToolReply
    name: str = ""
    display: Any = None
    """For people and programs; the shape belongs to the tool. JSON values only."""
    duration_ms: int = 0
    decided: Decided | None = None
    denied: bool = False
    """Permission was refused: the call never ran."""
    interrupted: bool = False
    input: dict[str, Any] | None = None
    """The input that was judged or run, if it differs from what the model sent."""
    files: dict[str, str] = {}
    """Path to content hash of each file whose content the model now knows."""
    cwd: str = ""
    """The shell's working directory, if it changed."""
    root: str = ""
    """The directory the session works in, if it changed: a worktree, or its own again."""
    lines_added: int = 0
    lines_removed: int = 0


class TasksReplaced(ToolEvent, frozen=True, tag="tasks_replaced", omit_defaults=True):
    tasks: tuple[Task, ...]
    last_id: int = 0
    """The highest id a task was ever given, so that none is given twice; 0 for a list without ids."""


class Pruned(ConversationEvent, frozen=True, tag="pruned", omit_defaults=True):
    """Old tool output is left out of what the model is sent; the log keeps it."""

    call_ids: tuple[str, ...]
    tokens: int = 0
    images: bool = False
    """All images so far are left out: the vendor refused one of them."""


class ModeChanged(SettingsEvent, frozen=True, tag="mode_changed"):
    mode: str


class ModelChanged(SettingsEvent, frozen=True, tag="model_changed", omit_defaults=True):
    model: str
    why: Literal["asked", "fallback", "restored"] = "asked"
    """`asked`: a person chose it; `fallback`: it replaces the chosen one for this turn; `restored`: the reverse."""
    previous: str = ""


class PermissionsChanged(SettingsEvent, frozen=True, tag="permissions_changed"):
    """Rules or directories were added or removed, in the shape of the wire's permission updates."""

    updates: tuple[dict[str, Any], ...]


class HookRan(NoticeEvent, frozen=True, tag="hook_ran", omit_defaults=True):
    """The hooks of one event ran."""

    hook: str
    """Event and subject, such as `PreToolUse:Bash`."""
    event: str
    outcome: str
    """The strictest decision, `stop`, `error` if a hook failed, else `none`."""
    text: str = ""
    duration_ms: int = 0
    spent: tuple[ModelSpend, ...] = ()
    """Model requests that hooks made."""


class Noted(NoticeEvent, frozen=True, tag="noted", omit_defaults=True):
    """A note for the person that is no part of the conversation with the model."""

    text: str
    level: Literal["info", "notice", "warning", "error"] = "info"
    tag: Literal["", "hook_no_verdict", "agent_mcp_blocked"] = ""
    """The kind of note, for programs; `hook_no_verdict` for a hook that did not answer in time."""
    subject: str = ""
    """What it is about, for programs: the type of an agent whose servers are not started."""


class RunDone(ConversationEvent, frozen=True, tag="run_done", omit_defaults=True):
    """A turn ended; this is its last event."""

    ending: Ending
    text: str = ""
    """The final answer, or what a person should read about the failure."""
    stop: str = ""
    status: int | None = None
    """HTTP status of the failure, if there is one."""
    error: str = ""
    """The class of an API error, such as `rate_limit`."""
    structured: Any = None
    deferred: ToolCall | None = None
    local: bool = False
    """A command gave the answer without the model."""
    local_command: str = ""
    """The built-in command that did, for programs."""
    turns: int = 0
    """Model requests made in this turn."""
    duration_ms: int = 0


class Raw(NoticeEvent, frozen=True, tag="raw"):
    """An event of another engine, or of a newer version, that this version does not know."""

    data: dict[str, Any]


Durable: TypeAlias = (
    SessionStarted
    | InputQueued
    | InputDropped
    | Prompted
    | TurnStarted
    | BlockDone
    | MessageDone
    | InteractionOpened
    | InteractionClosed
    | Advised
    | ToolStarted
    | ToolDone
    | TasksReplaced
    | Pruned
    | ModeChanged
    | ModelChanged
    | PermissionsChanged
    | HookRan
    | Noted
    | RunDone
    | Configured
    | SessionChanged
    | WorkerStarted
    | WorkerExited
    | InterruptAsked
    | ArtifactMade
    | BackgroundStarted
    | BackgroundEnded
    | AgentStarted
    | AgentEnded
    | Raw
)

Event: TypeAlias = Live | Durable


class Envelope(Struct, frozen=True, omit_defaults=True):
    """A durable event as stored in the log. `parent` makes the log a tree; `seq` numbers it without gaps."""

    seq: int
    id: str
    parent: str
    at: float
    event: Durable
    agent: str = ""
    """The sub-agent whose entry it is; "" for the session's own."""
    parent_call: str = ""
    """The call that first started that sub-agent."""
    epoch: int = 0
