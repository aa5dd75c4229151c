"""Reads the lines of a Claude Code transcript and selects those of the current branch."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from bobstay.model.ids import uuid_of

_KINDS = ("user", "assistant", "attachment", "system")
MAX_LINE_LENGTH = 64 * 1024 * 1024


class TranscriptLine:
    """One line of the conversation. Every field has the right type, or is empty."""

    __slots__ = ("data", "kind", "message", "parent", "uuid")

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.kind = _get_string(data, "type")
        self.uuid = _get_string(data, "uuid")
        self.parent = _get_string(data, "parentUuid")
        message = data.get("message")
        self.message: dict[str, Any] = message if isinstance(message, dict) else {}

    @property
    def message_id(self) -> str:
        return _get_string(self.message, "id") if self.kind == "assistant" else ""

    @property
    def model(self) -> str:
        model = _get_string(self.message, "model") if self.kind == "assistant" else ""
        return "" if model == "<synthetic>" else model

    @property
    def cwd(self) -> str:
        return _get_string(self.data, "cwd")

    @property
    def at(self) -> float:
        """Seconds since the epoch, or zero."""
        try:
            from datetime import datetime

            return datetime.fromisoformat(_get_string(self.data, "timestamp")).timestamp()
        except (ValueError, OverflowError):
            return 0.0

    def ids(self) -> Iterator[str]:
        """Yield an id for each entry made from the line: the line's own for the first."""
        yield self.uuid
        for number in count(1):
            yield derive_id(self.uuid, str(number))

    def replies_to(self) -> set[str]:
        """Return the ids of the calls this line answers."""
        content = self.message.get("content") if self.kind == "user" else None
        if not isinstance(content, list):
            return set()
        return {
            _get_string(block, "tool_use_id")
            for block in content
            if isinstance(block, dict) and block.get("type") == "tool_result"
        } - {""}

    def calls(self) -> set[str]:
        """Return the ids of the calls this line makes."""
        content = self.message.get("content") if self.kind == "assistant" else None
        if not isinstance(content, list):
            return set()
        return {
            _get_string(block, "id") for block in content if isinstance(block, dict) and block.get("type") == "tool_use"
        } - {""}


def read_lines(path: str | Path) -> list[TranscriptLine]:
    """Return the lines of the main conversation, without bad lines, other kinds and those of sub-agents."""
    lines: list[TranscriptLine] = []
    seen: set[str] = set()
    try:
        with open(path, "rb") as file:
            while raw := file.readline(MAX_LINE_LENGTH):
                data = _decode_object(raw)
                if data is None or data.get("type") not in _KINDS or data.get("isSidechain") is True:
                    continue
                line = TranscriptLine(data)
                if line.uuid and line.uuid not in seen:
                    seen.add(line.uuid)
                    lines.append(line)
    except OSError:
        return lines
    return lines


def derive_id(uuid: str, what: str) -> str:
    """Return the id of an event derived from a line: the same whenever the transcript is read."""
    from hashlib import sha256

    return uuid_of(sha256(f"{uuid}\0{what}".encode("utf-8", "surrogatepass")).digest()[:16])


def select_branch(lines: list[TranscriptLine]) -> list[TranscriptLine]:
    """Return the branch that ends with the last line, in the order of the file.

    Parallel calls fork the chain, since each result follows its own call. So the branch includes all lines of its
    answers, and all results of their calls.
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


def _ancestors(lines: list[TranscriptLine]) -> set[str]:
    by_uuid = {line.uuid: line for line in lines}
    wanted: set[str] = set()
    line = lines[-1] if lines else None
    while line is not None and line.uuid not in wanted:
        wanted.add(line.uuid)
        line = by_uuid.get(line.parent)
    return wanted


def _decode_object(raw: bytes) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    if b"\\u" not in raw:
        return None
    return _decode_with_surrogates(raw)


def _decode_with_surrogates(raw: bytes) -> dict[str, Any] | None:
    """Decode with the slow parser, which accepts lone surrogates; programs that write transcripts produce them."""
    import json

    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _get_string(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""
