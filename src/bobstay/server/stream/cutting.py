"""Long texts cut short for those who ask for it: a page shows how an output begins and ends, and loads the rest."""

from functools import lru_cache
from typing import TypeVar

import msgspec

from bobstay.sessions.codec import to_json

LEAST = 1024
"""A client that wants less than this of a text gets this much."""
E = TypeVar("E")


@lru_cache(maxsize=2)
def cut_frame(frame: bytes, limit: int) -> bytes:
    """A frame in which no text is longer than about `limit` characters; the same for all who want it so short.

    Clients are told one after the other, so the last ones are enough to remember: frames may have megabytes.
    """
    try:
        return to_json(_cut(msgspec.json.decode(frame), limit))
    except (msgspec.DecodeError, RecursionError, ValueError):
        return frame  # better too long than lost


def cut_struct(value: E, limit: int) -> E:
    """The same for a struct."""
    raw = to_json(value)
    if len(raw) <= limit:
        return value
    try:
        cut = _cut(msgspec.json.decode(raw), limit)
        return msgspec.convert(cut, type(value))
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, ValueError):
        return value


def _cut(value: object, limit: int) -> object:
    if isinstance(value, str):
        return _cut_text(value, limit)
    if isinstance(value, list):
        return [_cut(item, limit) for item in value]
    if isinstance(value, dict):
        if value.get("type") == "image":
            return value  # half a picture is none
        return {name: _cut(item, limit) for name, item in value.items()}
    return value


def _cut_text(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    tail = limit - head
    return f"{text[:head]}\n… {len(text) - limit} characters left out …\n{text[-tail:]}"
