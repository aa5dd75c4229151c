"""Takes secrets out of what happens before it is stored, shown, or sent to the model again.

The reply to a call is masked where it is made, because its whole may also go to a file. A person's own words are kept
as typed, but for secrets of this process: nobody means to write those into a log. What is run is the truth: masking
a call changes what is remembered of it, not what it does.
"""

from typing import Any, TypeVar

from msgspec.structs import replace

from bobstay.kit.secrets import Mask
from bobstay.model.event import (
    Advised,
    BlockDone,
    Event,
    HookRan,
    InteractionClosed,
    InteractionOpened,
    Noted,
    Prompted,
    RunDone,
    TasksReplaced,
    ToolDone,
    ToolStarted,
)
from bobstay.model.message import Block, ReplyPart, Text, Thinking, ToolCall

Kind = TypeVar("Kind", bound=Event)

FIELDS: dict[type[Any], tuple[str, ...]] = {
    Advised: ("reason",),
    HookRan: ("text",),
    InteractionClosed: ("message",),
    InteractionOpened: ("reason", "suggestions", "blocked_path", "description"),
    Noted: ("text",),
    RunDone: ("text", "structured"),
    TasksReplaced: ("tasks",),
    ToolDone: ("display", "input", "decided"),
    ToolStarted: ("input",),
}
"""Where in an event others' words stand. Kinds that are not here have none, or are looked at apart."""


def conceal(event: Kind, mask: Mask) -> Kind:
    """`event` as it may be kept; the very same if there is no secret in it."""
    changed: dict[str, Any] = {}
    for name in FIELDS.get(type(event), ()):
        old = getattr(event, name)
        new = mask.value(old)
        if new is not old:
            changed[name] = new
    if isinstance(event, BlockDone) and (block := concealed_block(event.block, mask)) is not event.block:
        changed["block"] = block
    elif isinstance(event, InteractionOpened) and (call := _call(event.call, mask)) is not event.call:
        changed["call"] = call
    elif isinstance(event, Prompted) and (blocks := concealed_words(event.blocks, event.origin, mask)) != event.blocks:
        changed["blocks"] = blocks
    elif isinstance(event, RunDone) and event.deferred is not None:
        changed["deferred"] = _call(event.deferred, mask)
    return replace(event, **changed) if changed else event


def concealed_words(blocks: tuple[Block, ...], origin: str, mask: Mask) -> tuple[Block, ...]:
    """Words for the model from outside."""
    if origin != "human":
        return tuple(concealed_block(block, mask) for block in blocks)
    return tuple(Text(mask.known(block.text)) if isinstance(block, Text) else block for block in blocks)


def concealed_parts(content: str | tuple[ReplyPart, ...], mask: Mask) -> str | tuple[ReplyPart, ...]:
    """What a tool gave."""
    if isinstance(content, str):
        return mask.text(content)
    return tuple(Text(mask.text(part.text)) if isinstance(part, Text) else part for part in content)


def concealed_block(block: Block, mask: Mask) -> Block:
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


def _call(call: ToolCall, mask: Mask) -> ToolCall:
    given, malformed = mask.value(call.input), mask.text(call.malformed)
    if given is call.input and malformed is call.malformed:
        return call
    return replace(call, input=given, malformed=malformed)
