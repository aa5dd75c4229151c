"""Repairs a message history so that every vendor accepts it. The log is not changed.

A valid history starts and ends with the user, its roles alternate, no message and no block is empty, every call is
answered in the next message and nowhere else, every reply answers a call of the message before it, call ids are
unique, and images are of a size that vendors accept.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from bobstay.model.message import Block, Image, Message, Text, Thinking, ToolCall, ToolReply

INTERRUPTED = (
    "Interrupted before an answer came: it is not known whether this ran to its end. Check before trying again."
)
NOT_STARTED = "Interrupted before this call began: it had no effect."
EMPTY = "(no content)"
OPENING = "(continued)"
CLOSING = "(continue)"
"""Added where the model's message is the last: many models refuse to continue an answer of their own."""
IMAGE_LIMIT = 7_000_000
"""Base64 characters of one image; the strictest vendor accepts 5 MB of raw image."""
IMAGE_DROPPED = "[Image left out: it is too large to send.]"


def repair(
    messages: Sequence[Message], *, clean: int = 0, never_started: frozenset[str] = frozenset()
) -> list[Message]:
    """Return a valid history. Messages that are already valid are returned as the same objects.

    `clean` is the number of messages at the start that an earlier call left unchanged: they are not checked again, so
    that a long session costs no more per step than a short one.
    """
    repaired = list(messages[:clean])
    repaired += _repair_new(messages[clean:], never_started, after=repaired[-1] if repaired else None)
    if repaired and repaired[-1].role == "assistant":
        repaired.append(Message("user", (Text(CLOSING),)))
    return repaired


def clean_prefix(before: Sequence[Message], after: Sequence[Message]) -> int:
    """Number of messages of `after` that are unchanged objects of `before`, ending with a message of the user."""
    count = 0
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        if old is not new:
            break
        if new.role == "assistant":
            count = index
    return count


def _repair_new(messages: Sequence[Message], never_started: frozenset[str], *, after: Message | None) -> list[Message]:
    normalised = _normalise(list(messages))
    if normalised and normalised[0].role == "assistant" and (after is None or after.role == "assistant"):
        normalised.insert(0, Message("user", (Text(OPENING),)))
    unique = _unique_calls(normalised)
    answered: list[Message] = []
    for index, message in enumerate(unique):
        if message.role == "assistant":
            answered.append(message)
            follower = unique[index + 1] if index + 1 < len(unique) else None
            if follower is None and _calls(message):
                answered.append(Message("user", _replies_to(message, (), never_started)))
        else:
            previous = answered[-1] if answered else None
            answered.append(_with_replies(message, previous, never_started))
    return answered


def _without_empty(message: Message) -> Message | None:
    blocks = tuple(kept for kept in map(_legal_block, message.blocks) if kept is not None)
    if not blocks:
        return None
    if len(blocks) == len(message.blocks) and all(a is b for a, b in zip(blocks, message.blocks, strict=True)):
        blocks = message.blocks
    if message.role == "assistant" and isinstance(blocks[-1], Thinking):
        # A message may not end in thinking: the answer was cut off there.
        trimmed = blocks
        while trimmed and isinstance(trimmed[-1], Thinking):
            trimmed = trimmed[:-1]
        if not trimmed:
            return None
        blocks = trimmed
    return message if blocks is message.blocks else replace(message, blocks=blocks)


def _legal_block(block: Block) -> Block | None:
    match block:
        case Text(text=text):
            return block if text.strip() else None
        case Thinking(text=text, signature=signature):
            return block if text or signature else None
        case Image():
            return _legal_image(block)
        case ToolCall(id=id_, name=name):
            return block if id_ and name else None
        case ToolReply(content=content):
            return _legal_reply(block, content)


def _legal_image(image: Image) -> Image | Text:
    return image if 0 < len(image.data) <= IMAGE_LIMIT else Text(IMAGE_DROPPED)


def _legal_reply(reply: ToolReply, content: tuple[Text | Image, ...]) -> ToolReply:
    parts = tuple(
        _legal_image(part) if isinstance(part, Image) else part
        for part in content
        if isinstance(part, Image) or part.text.strip()
    )
    if not parts:
        return replace(reply, content=(Text(EMPTY),)) if content != (Text(EMPTY),) else reply
    same = len(parts) == len(content) and all(a is b for a, b in zip(parts, content, strict=True))
    return reply if same else replace(reply, content=parts)


def _normalise(messages: list[Message]) -> list[Message]:
    """Drop empty messages and merge neighbours until nothing changes: each step can make the other necessary."""
    while True:
        # Empty messages first: thinking without an answer must not be merged into the next answer.
        kept = [message for message in map(_without_empty, messages) if message is not None]
        kept = [_without_duplicate_calls(message) for message in _merge(kept)]
        if len(kept) == len(messages) and all(a is b for a, b in zip(kept, messages, strict=True)):
            return kept
        messages = kept


def _without_duplicate_calls(message: Message) -> Message:
    """Drop a second call of the same id within one answer."""
    ids = [call.id for call in _calls(message)]
    if message.role == "user" or len(ids) == len(set(ids)):
        return message
    seen: set[str] = set()
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, ToolCall):
            if block.id in seen:
                continue
            seen.add(block.id)
        blocks.append(block)
    return replace(message, blocks=tuple(blocks))


def _merge(messages: list[Message]) -> list[Message]:
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].role == message.role:
            merged[-1] = replace(merged[-1], blocks=(*merged[-1].blocks, *message.blocks))
        else:
            merged.append(message)
    return merged


def _unique_calls(messages: list[Message]) -> list[Message]:
    """Give a call whose id an earlier answer used a new id, and its reply too: ids must be unique."""
    seen: set[str] = set()
    renamed: dict[str, str] = {}
    kept: list[Message] = []
    for message in messages:
        if message.role == "assistant":
            own = {call.id for call in _calls(message)}
            renamed = {taken: _free_id(taken, seen | own) for taken in sorted(own & seen)}
            seen.update(own, renamed.values())
        kept.append(_with_ids(message, renamed) if renamed else message)
    return kept


def _free_id(taken: str, seen: set[str]) -> str:
    number = 2
    while f"{taken}_{number}" in seen:
        number += 1
    return f"{taken}_{number}"


def _with_ids(message: Message, renamed: dict[str, str]) -> Message:
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, ToolCall) and block.id in renamed:
            blocks.append(replace(block, id=renamed[block.id]))
        elif isinstance(block, ToolReply) and block.call_id in renamed:
            blocks.append(replace(block, call_id=renamed[block.call_id]))
        else:
            blocks.append(block)
    return replace(message, blocks=tuple(blocks))


def _calls(message: Message) -> list[ToolCall]:
    return [block for block in message.blocks if isinstance(block, ToolCall)]


def _replies_to(answer: Message, blocks: tuple[Block, ...], never_started: frozenset[str]) -> tuple[Block, ...]:
    """One reply from `blocks` to each call of `answer`, in order, made up where there is none."""
    by_id = {block.call_id: block for block in reversed(blocks) if isinstance(block, ToolReply)}
    return tuple(
        by_id.get(call.id)
        or ToolReply(call.id, (Text(NOT_STARTED if call.id in never_started else INTERRUPTED),), is_error=True)
        for call in _calls(answer)
    )


def _with_replies(message: Message, previous: Message | None, never_started: frozenset[str]) -> Message:
    replies = _replies_to(previous, message.blocks, never_started) if previous is not None else ()
    rest = tuple(block for block in message.blocks if not isinstance(block, ToolReply))
    blocks = (*replies, *rest) or (Text(EMPTY),)
    same = len(blocks) == len(message.blocks) and all(a is b for a, b in zip(blocks, message.blocks, strict=True))
    return message if same else replace(message, blocks=blocks)
