"""Redacts durable events before they are stored, shown, or sent to the model again.

A person's prompt is kept as typed, except for the known secrets of this process. A call runs with its real input:
redaction changes only what is stored and shown of it.
"""

from typing import Any, TypeVar

from msgspec.structs import replace

from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.event import (
    Advised,
    BlockDone,
    Durable,
    HookRan,
    InputDropped,
    InputQueued,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    ModeChanged,
    ModelChanged,
    Noted,
    PermissionsChanged,
    Prompted,
    Pruned,
    Raw,
    RunDone,
    SessionStarted,
    TasksReplaced,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.message import Block, ReplyPart, Text, Thinking, ToolCall
from bobstay.model.session_events import (
    ArtifactMade,
    Configured,
    InterruptAsked,
    SessionChanged,
    WorkerExited,
    WorkerStarted,
)
from bobstay.redaction.redactor import Redactor

Kind = TypeVar("Kind", bound=Durable)

FIELDS: dict[type[Any], tuple[str, ...]] = {
    Advised: ("reason",),
    AgentEnded: ("description", "text"),
    AgentStarted: ("description", "prompt"),
    ArtifactMade: ("title", "text"),
    BackgroundEnded: ("title", "note"),
    BackgroundStarted: ("title",),
    BlockDone: ("block",),
    Configured: ("config",),
    HookRan: ("text",),
    InputDropped: (),
    InputQueued: ("blocks", "sender"),
    InteractionClosed: ("message", "input"),
    InteractionOpened: ("call", "reason", "suggestions", "blocked_path", "description", "mcp_server"),
    InterruptAsked: (),
    MessageDone: (),
    ModeChanged: (),
    ModelChanged: (),
    Noted: ("text", "subject"),
    PermissionsChanged: ("updates",),
    Prompted: ("blocks", "typed"),
    Pruned: (),
    Raw: ("data",),
    RunDone: ("text", "error", "structured", "deferred"),
    SessionChanged: ("title",),
    SessionStarted: (),
    TasksReplaced: ("tasks",),
    ToolDone: ("reply", "display", "input", "decided"),
    ToolStarted: ("input",),
    TurnStarted: (),
    WorkerExited: ("error",),
    WorkerStarted: ("command",),
}
"""The fields of each kind of event that may contain a secret. Other fields hold ids, names, paths and numbers only.

Every kind of event is listed; a test compares the table with the union.
"""


def redact_event(event: Kind, redactor: Redactor) -> Kind:
    """Return `event` without secrets; the same object if there is none in it."""
    changed: dict[str, Any] = {}
    for name in FIELDS[type(event)]:
        old = getattr(event, name)
        new = _redact_field(event, name, old, redactor)
        if new is not old:
            changed[name] = new
    return replace(event, **changed) if changed else event


def _redact_field(event: Durable, name: str, value: Any, redactor: Redactor) -> Any:
    if name == "typed":
        return redactor.redact_known(value)
    if name == "blocks":
        return redact_prompt(value, event.origin if isinstance(event, Prompted) else "human", redactor)
    return redact_block(value, redactor) if name == "block" else redactor.redact_value(value)


def redact_prompt(blocks: tuple[Block, ...], origin: str, redactor: Redactor) -> tuple[Block, ...]:
    """Return the blocks of a prompt without secrets; the same tuple if there is none in it."""
    if origin == "human":
        redacted = tuple(_redact_known_secrets(block, redactor) for block in blocks)
    else:
        redacted = tuple(redact_block(block, redactor) for block in blocks)
    return blocks if all(new is old for new, old in zip(redacted, blocks, strict=True)) else redacted


def _redact_known_secrets(block: Block, redactor: Redactor) -> Block:
    if not isinstance(block, Text) or (known := redactor.redact_known(block.text)) is block.text:
        return block
    return Text(known)


def redact_parts(content: str | tuple[ReplyPart, ...], redactor: Redactor) -> str | tuple[ReplyPart, ...]:
    """Return the content of a tool result without secrets."""
    if isinstance(content, str):
        return redactor.redact(content)
    return tuple(Text(redactor.redact(part.text)) if isinstance(part, Text) else part for part in content)


def redact_block(block: Block, redactor: Redactor) -> Block:
    match block:
        case Text(text=text):
            redacted = redactor.redact(text)
            return block if redacted is text else Text(redacted)
        case Thinking(text=text):
            redacted = redactor.redact(text)
            # The signature does not match changed text: without one, the block is not sent back to its vendor.
            return block if redacted is text else replace(block, text=redacted, signature="")
        case ToolCall():
            return _redact_call(block, redactor)
        case _:
            return block


def _redact_call(call: ToolCall, redactor: Redactor) -> ToolCall:
    input, malformed = redactor.redact_value(call.input), redactor.redact(call.malformed)
    if input is call.input and malformed is call.malformed:
        return call
    return replace(call, input=input, malformed=malformed)
