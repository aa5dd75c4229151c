"""Cuts the middle out of long texts for clients that request it, with a description of each cut."""

from functools import lru_cache
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.model.event import Envelope
from bobstay.sessions.log_codec import to_json

LEAST = 1024
"""Minimum limit of a text."""
PROSE = 200 * 1024
"""Messages of people and models up to this many characters stay whole, because half an answer misleads."""

Path: TypeAlias = tuple[str | int, ...]


class Cut(Struct, frozen=True, omit_defaults=True):
    """A text whose middle was cut out. The text itself contains its beginning only."""

    path: Path
    """Path of the text in the event."""
    tail: str
    """End of the text."""
    omitted: int
    """Characters that were cut out."""
    lines: int = 0
    """Line breaks that were cut out."""
    seq: int = 0
    """`seq` of the entry, in a list for several entries; 0 on a frame, which has its own."""


@lru_cache(maxsize=2)
def cut_frame(frame: bytes, limit: int) -> bytes:
    """The frame of a stored entry without texts longer than about `limit` characters; `cuts` lists what was cut.

    The cache is small, because clients get the same frame one after the other and frames may have megabytes. Transient
    frames stay unchanged: their texts continue by offset.
    """
    try:
        read = msgspec.json.decode(frame)
        if not isinstance(read, dict) or not isinstance(read.get("data"), dict) or not read.get("seq"):
            return frame
        data, cuts = _cut_event(read["data"], limit)
        return to_json({**read, "data": data, "cuts": cuts}) if cuts else frame
    except (msgspec.DecodeError, RecursionError, ValueError):
        return frame  # better uncut than lost


def cut_entry(entry: Envelope, limit: int) -> tuple[Envelope, list[Cut]]:
    """The same for an entry of the log."""
    raw = to_json(entry)
    if len(raw) <= limit:
        return entry, []
    try:
        read = msgspec.json.decode(raw)
        event, cuts = _cut_event(read["event"], limit)
        if not cuts:
            return entry, []
        cuts = [msgspec.structs.replace(cut, seq=entry.seq) for cut in cuts]
        return msgspec.convert({**read, "event": event}, Envelope), cuts
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, ValueError):
        return entry, []


def _cut_event(event: dict[str, Any], limit: int) -> tuple[Any, list[Cut]]:
    cuts: list[Cut] = []
    if _is_prose(event):
        limit = max(limit, PROSE)
    return _cut(event, limit, (), cuts), cuts


def _is_prose(event: dict[str, Any]) -> bool:
    match event:
        case {"type": "block_done", "block": {"type": "text" | "thinking"}}:
            return True
        case {"type": "prompted" | "input_queued" | "artifact_made"}:
            return True
        case _:
            return False


def _cut(value: Any, limit: int, path: Path, cuts: list[Cut]) -> Any:
    if isinstance(value, str):
        return _cut_text(value, limit, path, cuts)
    if isinstance(value, list):
        return [_cut(item, limit, (*path, index), cuts) for index, item in enumerate(value)]
    if isinstance(value, dict):
        if value.get("type") == "image":
            return value  # a cut image would be invalid
        return {name: _cut(item, limit, (*path, name), cuts) for name, item in value.items()}
    return value


def _cut_text(text: str, limit: int, path: Path, cuts: list[Cut]) -> str:
    if len(text) <= limit:
        return text
    head = limit * 3 // 4
    tail = len(text) - (limit - head)
    # Prefer line ends: half a word or half a code fence would be misread.
    head = text.rfind("\n", head // 2, head) + 1 or head
    tail = text.find("\n", tail, (tail + len(text)) // 2) + 1 or tail
    cuts.append(Cut(path, text[tail:], tail - head, text.count("\n", head, tail)))
    return text[:head]
