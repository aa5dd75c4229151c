"""Limits the length of a line to what hosts read: frames that are too long are cut, with a note."""

from collections.abc import Iterator
from typing import Any

import msgspec

from bobstay.wire.wire_frames import Frame

LINE_LIMIT = 1024 * 1024 - 1024
"""Characters. Hosts give up on a line of 1 MiB; the margin is for the newline and different ways of counting."""

_NEVER_BELOW = 200
"""A string is not cut shorter than this, so that it stays recognisable."""
_LEAST_ENTRIES = 4

_encoder = msgspec.json.Encoder()


def encode_line(frame: Frame, limit: int = LINE_LIMIT) -> bytes:
    """Return `frame` as one line of JSON, without the newline, of at most `limit` characters."""
    line = _encoder.encode(frame)
    if _fits(line, limit):
        return line
    try:
        return _encoder.encode(shrink(frame, limit))
    except RecursionError:
        # Nested too deeply to be shortened: only small values of the top level are kept.
        return _encoder.encode({**{key: value for key, value in frame.items() if _is_small(value)}, "truncated": True})


def _is_small(value: object) -> bool:
    return not isinstance(value, dict | list | tuple | str) or (isinstance(value, str) and len(value) <= _NEVER_BELOW)


def shrink(frame: Frame, limit: int = LINE_LIMIT) -> Frame:
    """Return a copy of `frame` that fits: first its display is cut, then everything else, longest strings first.

    Keys, short strings, numbers and the nesting are kept as long as they fit.
    """
    result: Frame = msgspec.json.decode(_encoder.encode(frame))
    display = result.get("tool_use_result")
    if display is not None:
        rest = _length({**result, "tool_use_result": None})
        room = max(limit - rest, _NEVER_BELOW)
        if _length(display) > room:
            note = f"[left out: {_length(display)} characters do not fit into one line]"
            result["tool_use_result"] = _shrink_value(display, room) or {"truncated": True, "note": note}
    if _length(result) <= limit:
        return result
    smaller: Frame | None = _shrink_value(result, limit)
    return smaller or {**_sketch(result, _Budget(limit // 2)), "truncated": True}


def _shrink_value(value: Any, limit: int) -> Any:
    """Return a smaller copy of the same shape, or None if cutting strings and lists is not enough."""
    value = _without_images(value)
    for _ in range(8):
        length = _length(value)
        if length <= limit:
            return value
        level = _level(value, length - limit)
        value = _cut_strings(value, level) if level is not None else _cut_lists(value)
    return None


def _level(value: Any, excess: int) -> int | None:
    """Return the length to which longer strings must be cut to save `excess` characters; None if impossible."""
    lengths = sorted((_length(text) for text in _strings(value)), reverse=True)
    lengths = [length for length in lengths if length > _NEVER_BELOW * 2]
    saved = 0
    for count, length in enumerate(lengths, start=1):
        following = lengths[count] if count < len(lengths) else _NEVER_BELOW * 2
        if saved + count * (length - following) >= excess:
            # The note about the cut takes room too.
            return max(length - (excess - saved) // count - 120, _NEVER_BELOW)
        saved += count * (length - following)
    return _NEVER_BELOW if saved * 2 >= excess else None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _strings(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _strings(entry)


def _cut_strings(value: Any, level: int) -> Any:
    if isinstance(value, str):
        return _cut(value, level)
    if isinstance(value, dict):
        return {key: _cut_strings(entry, level) for key, entry in value.items()}
    if isinstance(value, list):
        return [_cut_strings(entry, level) for entry in value]
    return value


def _cut(text: str, level: int) -> str:
    """Keep the head and the tail; escapes may make the JSON longer than the text."""
    length = _length(text)
    if length <= level + 120:
        return text
    kept = max(level * len(text) // length, 2)
    head, tail = kept * 2 // 3, kept // 3
    return f"{text[:head]}\n[... {len(text) - head - tail} characters left out to fit one line ...]\n{text[-tail:]}"


def _cut_lists(value: Any) -> Any:
    """Shorten each long list, keeping both ends."""
    if isinstance(value, dict):
        return {key: _cut_lists(entry) for key, entry in value.items()}
    if not isinstance(value, list):
        return value
    kept = [_cut_lists(entry) for entry in value]
    if len(kept) <= _LEAST_ENTRIES * 2:
        return kept
    quarter = max(len(kept) // 16, _LEAST_ENTRIES)
    left_out = len(kept) - quarter * 2
    note: list[Any] = []
    if all(isinstance(entry, str) for entry in kept):
        note = [f"[... {left_out} entries left out to fit one line ...]"]
    return [*kept[:quarter], *note, *kept[-quarter:]]


def _without_images(value: Any) -> Any:
    """Replace large images with a note: part of an image is of no use."""
    if isinstance(value, list):
        return [_without_images(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    source = value.get("source")
    if value.get("type") == "image" and isinstance(source, dict) and isinstance(source.get("data"), str):
        size = len(source["data"])
        if size > _NEVER_BELOW * 2:
            return {"type": "text", "text": f"[an image of {size} base64 characters, left out to fit one line]"}
    return {key: _without_images(entry) for key, entry in value.items()}


def _sketch(value: Any, budget: "_Budget") -> Any:
    """Last resort: keep small values first, and each container as far as there is room. Identifiers are kept."""
    if isinstance(value, str):
        text = value if _length(value) <= _NEVER_BELOW * 2 else _cut(value, _NEVER_BELOW)
        budget.left -= _length(text)
        return text
    if isinstance(value, dict):
        kept: Frame = {}
        names: list[str] = sorted(value, key=lambda name: isinstance(value[str(name)], dict | list))
        for key in names:
            budget.left -= _length(key) + 8
            if budget.left < 0:
                break
            kept[key] = _sketch(value[key], budget)
        return kept
    if isinstance(value, list):
        entries: list[Any] = []
        for entry in value[:_LEAST_ENTRIES]:
            budget.left -= 8
            if budget.left < 0:
                break
            entries.append(_sketch(entry, budget))
        return entries
    budget.left -= 24
    return value


class _Budget:
    def __init__(self, left: int) -> None:
        self.left = left


def _fits(line: bytes, limit: int) -> bool:
    return len(line) <= limit or len(line.decode()) <= limit


def _length(value: Any) -> int:
    line = _encoder.encode(value)
    return len(line) if line.isascii() else len(line.decode())
