"""The lines of a Claude Code transcript, and which of them make up the talk as it stands."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from bobstay.model.ids import uuid_of

_KINDS = ("user", "assistant", "attachment", "system")
LONGEST_LINE = 64 * 1024 * 1024


class Line:
    """One line of the talk. Every field is what it should be, or empty."""

    __slots__ = ("data", "kind", "message", "parent", "uuid")

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.kind = _text(data, "type")
        self.uuid = _text(data, "uuid")
        self.parent = _text(data, "parentUuid")
        message = data.get("message")
        self.message: dict[str, Any] = message if isinstance(message, dict) else {}

    @property
    def message_id(self) -> str:
        return _text(self.message, "id") if self.kind == "assistant" else ""

    @property
    def model(self) -> str:
        model = _text(self.message, "model") if self.kind == "assistant" else ""
        return "" if model == "<synthetic>" else model

    @property
    def cwd(self) -> str:
        return _text(self.data, "cwd")

    @property
    def at(self) -> float:
        """Seconds since the epoch, or zero."""
        try:
            from datetime import datetime

            return datetime.fromisoformat(_text(self.data, "timestamp")).timestamp()
        except (ValueError, OverflowError):
            return 0.0

    def ids(self) -> Iterator[str]:
        """Yield an id for each thing the line holds: its own for the first."""
        yield self.uuid
        for number in count(1):
            yield derived_id(self.uuid, str(number))

    def replies_to(self) -> set[str]:
        """Return the ids of the calls this line answers."""
        content = self.message.get("content") if self.kind == "user" else None
        if not isinstance(content, list):
            return set()
        return {
            _text(block, "tool_use_id")
            for block in content
            if isinstance(block, dict) and block.get("type") == "tool_result"
        } - {""}

    def calls(self) -> set[str]:
        """Return the ids of the calls this line makes."""
        content = self.message.get("content") if self.kind == "assistant" else None
        if not isinstance(content, list):
            return set()
        return {
            _text(block, "id") for block in content if isinstance(block, dict) and block.get("type") == "tool_use"
        } - {""}


def read_lines(path: str | Path) -> list[Line]:
    """Return the lines of the main talk, without those that are bad, of another kind, or a sub-agent's."""
    lines: list[Line] = []
    seen: set[str] = set()
    try:
        with open(path, "rb") as file:
            while raw := file.readline(LONGEST_LINE):
                data = _object(raw)
                if data is None or data.get("type") not in _KINDS or data.get("isSidechain") is True:
                    continue
                line = Line(data)
                if line.uuid and line.uuid not in seen:
                    seen.add(line.uuid)
                    lines.append(line)
    except OSError:
        return lines
    return lines


def derived_id(uuid: str, what: str) -> str:
    """The id of something that follows from a line: the same whenever the transcript is read."""
    from hashlib import sha256

    return uuid_of(sha256(f"{uuid}\0{what}".encode("utf-8", "surrogatepass")).digest()[:16])


def chain(lines: list[Line]) -> list[Line]:
    """Return the branch that ends with the last line, in the order of the file.

    Calls made side by side fork the chain: each result follows its own call. So all lines of an answer on the
    branch belong to it, and all results of the calls in them.
    """
    wanted = _ancestors(lines)
    messages = {line.message_id for line in lines if line.uuid in wanted} - {""}
    wanted |= {line.uuid for line in lines if line.message_id in messages}
    open_calls: set[str] = set()
    for line in lines:
        if line.uuid in wanted:
            open_calls |= line.calls()
    for line in lines:
        if line.uuid in wanted:
            open_calls -= line.replies_to()
    for line in lines:
        if line.uuid not in wanted and (replies := line.replies_to() & open_calls):
            open_calls -= replies
            wanted.add(line.uuid)
    return [line for line in lines if line.uuid in wanted]


def _ancestors(lines: list[Line]) -> set[str]:
    by_uuid = {line.uuid: line for line in lines}
    wanted: set[str] = set()
    line = lines[-1] if lines else None
    while line is not None and line.uuid not in wanted:
        wanted.add(line.uuid)
        line = by_uuid.get(line.parent)
    return wanted


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    if b"\\u" not in raw:
        return None
    return _object_with_surrogates(raw)


def _object_with_surrogates(raw: bytes) -> dict[str, Any] | None:
    """Half a surrogate pair is legal where transcripts are written, and only the slow parser reads it."""
    import json

    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
