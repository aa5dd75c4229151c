"""Takes secrets out of what happens before it is stored, shown, or sent to the model again.

A person's own words are kept as typed, but for secrets of this process: nobody means to write those into a log. What is
run is the truth: redacting a call changes what is remembered of it, not what it does.
"""

from typing import Any, TypeVar

from msgspec.structs import replace

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
    ArtifactMade: ("title", "text"),
    BackgroundEnded: ("title",),
    BackgroundStarted: ("title",),
    BlockDone: ("block",),
    Configured: ("config",),
    HookRan: ("text",),
    InputDropped: (),
    InputQueued: ("blocks",),
    InteractionClosed: ("message", "input"),
    InteractionOpened: ("call", "reason", "suggestions", "blocked_path", "description"),
    InterruptAsked: (),
    MessageDone: (),
    ModeChanged: (),
    ModelChanged: (),
    Noted: ("text",),
    PermissionsChanged: ("updates",),
    Prompted: ("blocks",),
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
"""Where in each kind of event text of others stands. The others have ids, names, paths and numbers only.

Every kind is here; a test compares the table with the union.
"""


def conceal(event: Kind, mask: Redactor) -> Kind:
    """`event` as it may be kept; the very same if there is no secret in it."""
    changed: dict[str, Any] = {}
    for name in FIELDS[type(event)]:
        old = getattr(event, name)
        new = _redacted(event, name, old, mask)
        if new is not old:
            changed[name] = new
    return replace(event, **changed) if changed else event


def _redacted(event: Durable, name: str, value: Any, mask: Redactor) -> Any:
    if name == "blocks":
        return concealed_words(value, event.origin if isinstance(event, Prompted) else "human", mask)
    return concealed_block(value, mask) if name == "block" else mask.value(value)


def concealed_words(blocks: tuple[Block, ...], origin: str, mask: Redactor) -> tuple[Block, ...]:
    """Words for the model from outside; the very same tuple if there is no secret in them."""
    if origin == "human":
        found = tuple(_as_typed(block, mask) for block in blocks)
    else:
        found = tuple(concealed_block(block, mask) for block in blocks)
    return blocks if all(new is old for new, old in zip(found, blocks, strict=True)) else found


def _as_typed(block: Block, mask: Redactor) -> Block:
    if not isinstance(block, Text) or (known := mask.known(block.text)) is block.text:
        return block
    return Text(known)


def concealed_parts(content: str | tuple[ReplyPart, ...], mask: Redactor) -> str | tuple[ReplyPart, ...]:
    """What a tool gave."""
    if isinstance(content, str):
        return mask.text(content)
    return tuple(Text(mask.text(part.text)) if isinstance(part, Text) else part for part in content)


def concealed_block(block: Block, mask: Redactor) -> Block:
    match block:
        case Text(text=text):
            masked = mask.text(text)
            return block if masked is text else Text(masked)
        case Thinking(text=text):
            masked = mask.text(text)
            # What was signed cannot be changed: without its proof it is not sent back to its vendor.
            return block if masked is text else replace(block, text=masked, signature="")
        case ToolCall():
            return _call(block, mask)
        case _:
            return block


def _call(call: ToolCall, mask: Redactor) -> ToolCall:
    given, malformed = mask.value(call.input), mask.text(call.malformed)
    if given is call.input and malformed is call.malformed:
        return call
    return replace(call, input=given, malformed=malformed)
