"""Everything that can happen in a session, as one closed union.

The loop yields these, the log stores the durable ones, every face renders them. A new kind added here
makes the type checker point at each place that must learn about it: nobody writes `case _` over it.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.live_events import Live
from bobstay.model.message import Block, Stop, ToolCall, ToolReply, Usage
from bobstay.model.session_events import (
    ArtifactMade,
    Configured,
    InterruptAsked,
    SessionChanged,
    WorkerExited,
    WorkerStarted,
)

# ---------------------------------------------------------------- durable: in the log before any consequence


class SessionStarted(Struct, frozen=True, tag="session_started", omit_defaults=True):
    cwd: str
    version: str
    model: str = ""
    forked_from: str = ""
    """Id of the session this one was copied from."""
    imported_from: str = ""
    """Path of the foreign transcript this one was made from."""


Origin: TypeAlias = Literal["human", "harness", "hook"]


class InputQueued(Struct, frozen=True, tag="input_queued", omit_defaults=True):
    """A message came while the session was busy; the `Prompted` with the same id takes it up."""

    id: str
    blocks: tuple[Block, ...]
    how: Literal["steer", "queue"] = "steer"
    client_id: str = ""


class InputDropped(Struct, frozen=True, tag="input_dropped"):
    """A queued message was withdrawn before it was taken up."""

    id: str


class Prompted(Struct, frozen=True, tag="prompted", omit_defaults=True):
    """Words for the model from outside: a person's prompt, or the harness's own reminder."""

    id: str
    blocks: tuple[Block, ...]
    origin: Origin = "human"
    client_id: str = ""
    """The id the host gave this message, if it did."""
    why: str = ""
    """For words that are not a person's: what made them, such as `output_limit` or `stop_hook`."""
    blocked: bool = False
    """A hook refused this prompt: the model never reads it."""


class TurnStarted(Struct, frozen=True, tag="turn_started"):
    """A person's prompt begins to be worked on; `RunDone` ends it."""

    turn: int
    model: str
    mode: str
    window: int = 0
    """Tokens the model can have before it, as the engine knows it; 0 where nobody told."""


class BlockDone(Struct, frozen=True, tag="block_done", omit_defaults=True):
    """One block of the model's answer is complete. A call may start once this is stored."""

    message_id: str
    index: int
    block: Block
    model: str = ""
    usage: Usage = Usage()
    """As counted when the message began."""
    partial: bool = False
    """Cut short by an interrupt or a fault: what had come is kept."""


class MessageDone(Struct, frozen=True, tag="message_done", omit_defaults=True):
    message_id: str
    model: str
    stop: Stop
    usage: Usage
    cost: float = 0.0
    """In US dollars; priced once, when it happened."""
    api_ms: int = 0
    request_id: str = ""
    broken: Literal["", "kept", "lost"] = ""
    """The answer ended before its end: what came of it stands, or nothing came that could. Usage is then estimated."""


class InteractionOpened(Struct, frozen=True, tag="interaction_opened", omit_defaults=True):
    """A person is needed. Bound to the call and its very input."""

    id: str
    kind: Literal["permission", "question", "plan"]
    call: ToolCall
    reason: str = ""
    reason_type: str = ""
    suggestions: tuple[dict[str, Any], ...] = ()
    blocked_path: str = ""
    description: str = ""
    destructive: bool = False
    """The call may destroy what cannot be brought back: front ends offer no lasting permission for it."""


class InteractionClosed(Struct, frozen=True, tag="interaction_closed", omit_defaults=True):
    id: str
    outcome: Literal["allowed", "denied", "cancelled"]
    message: str = ""
    by: str = ""
    """Who decided: a person's name, `hook`, `rule`, or why nobody did."""
    input: dict[str, Any] | None = None
    """What is to be run instead, where the answer changed it."""


class Advised(Struct, frozen=True, tag="advised", omit_defaults=True):
    """In auto mode a small model said what it thinks of a call that a person would have been asked about."""

    call_id: str
    verdict: Literal["allow", "deny", "ask"]
    reason: str = ""
    failed: bool = False
    """It gave no answer that could be used; the verdict is then `ask`."""
    model: str = ""
    usage: Usage = Usage()
    cost: float = 0.0
    api_ms: int = 0


class ToolStarted(Struct, frozen=True, tag="tool_started", omit_defaults=True):
    """All checks passed and the call runs now. After a crash, only such a call may have had effects."""

    call_id: str
    name: str
    input: dict[str, Any]
    """What is really run: hooks and people may have rewritten what the model sent."""
    read_only: bool = False


class Decided(Struct, frozen=True, omit_defaults=True):
    """How the permission question of a call was settled."""

    verdict: Literal["accept", "reject"]
    source: str = ""
    reason_type: str = ""
    why: str = ""


class ToolDone(Struct, frozen=True, tag="tool_done", omit_defaults=True):
    """The one answer to a call."""

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
    """The input that was judged or run, where it differs from what the model sent."""
    files: dict[str, str] = {}
    """Path to content hash of each file whose content the model now knows."""
    cwd: str = ""
    """Where the shell stands now, if that changed."""
    lines_added: int = 0
    lines_removed: int = 0


class Task(Struct, frozen=True, omit_defaults=True):
    content: str
    status: Literal["pending", "in_progress", "completed"]
    active_form: str = ""


class TasksReplaced(Struct, frozen=True, tag="tasks_replaced"):
    tasks: tuple[Task, ...]


class Pruned(Struct, frozen=True, tag="pruned", omit_defaults=True):
    """Old tool output is left out of what the model is sent; the log keeps it."""

    call_ids: tuple[str, ...]
    tokens: int = 0
    images: bool = False
    """All images so far are left out: the vendor refused one of them."""


class ModeChanged(Struct, frozen=True, tag="mode_changed"):
    mode: str


class ModelChanged(Struct, frozen=True, tag="model_changed", omit_defaults=True):
    model: str
    why: Literal["asked", "fallback", "restored"] = "asked"
    """A person chose it; it stands in for this turn; the chosen one is asked again in a new turn."""
    previous: str = ""


class PermissionsChanged(Struct, frozen=True, tag="permissions_changed"):
    """Rules or directories were added or removed, in the shape of the wire's permission updates."""

    updates: tuple[dict[str, Any], ...]


class HookRan(Struct, frozen=True, tag="hook_ran", omit_defaults=True):
    hook: str
    event: str
    outcome: str
    text: str = ""


class Noted(Struct, frozen=True, tag="noted", omit_defaults=True):
    """Something a person should know that is no part of the talk with the model."""

    text: str
    level: Literal["info", "notice", "warning", "error"] = "info"
    tag: Literal["", "hook_no_verdict"] = ""
    """What kind of news it is, for programs; `hook_no_verdict` for a hook that did not answer in time."""


Stopped: TypeAlias = Literal[
    "interrupted_streaming",
    "interrupted_tools",
    "hook_stopped",
    "stop_hook_prevented",
    "prompt_blocked",
    "deferred",
]
Limit: TypeAlias = Literal["max_turns", "max_cost", "max_tokens", "max_time", "max_output", "max_structured_retries"]
Fault: TypeAlias = Literal["api_error", "prompt_too_long", "refused", "repeating", "auto_denied", "failed"]
Ending: TypeAlias = Literal["completed", Stopped, Limit, Fault]


class RunDone(Struct, frozen=True, tag="run_done", omit_defaults=True):
    """A turn is over: the one last word on how it went."""

    ending: Ending
    text: str = ""
    """The final answer, or what a person should read about the failure."""
    stop: str = ""
    status: int | None = None
    """HTTP status of the failure, where there is one."""
    error: str = ""
    """The class of an API error, such as `rate_limit`."""
    structured: Any = None
    deferred: ToolCall | None = None
    turns: int = 0
    """Model calls made in this turn."""
    duration_ms: int = 0


class Raw(Struct, frozen=True, tag="raw"):
    """What another engine said, or a newer version stored, and we have no word for."""

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
    | Raw
)

Event: TypeAlias = Live | Durable


class Envelope(Struct, frozen=True, omit_defaults=True):
    """A durable event as the log keeps it. `parent` makes the log a tree; `seq` numbers it without holes."""

    seq: int
    id: str
    parent: str
    at: float
    event: Durable
    agent: str = ""
    parent_call: str = ""
    epoch: int = 0
