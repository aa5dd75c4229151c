"""Output that comes in one piece, as text or as one JSON object, told as an engine that streams would tell it."""

from typing import Any, Literal

import msgspec

from bobstay.model.ids import new_id
from bobstay.server.workers.process.line_splitter import LONGEST, TooLong, frame_of
from bobstay.server.workers.process.turn_results import is_failure
from bobstay.server.workers.process.untrusted_fields import text
from bobstay.sessions.log_codec import to_json


class WholeOutput:
    """Takes the place of `Lines`, but gives out nothing before the process has ended."""

    def __init__(self, form: Literal["json", "text"], longest: int = LONGEST) -> None:
        self.talk = ""
        """The engine's id of the talk, as it was told to it: plain text does not say it."""
        self._form = form
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        if self._size <= self._longest:
            self._pieces.append(data)
        self._size += len(data)
        return []

    def rest(self, code: int = 0) -> list[bytes | TooLong]:
        """The frames of an answer and of its end; `code` is how the process ended."""
        data, size = b"".join(self._pieces).strip(), self._size
        self._pieces, self._size = [], 0
        if size > self._longest:
            return [TooLong(size, data[:200])]
        if not data:
            return []
        if self._form == "json" and (frames := _list(data)):
            return [to_json(frame) for frame in frames]
        result = frame_of(data) if self._form == "json" else _result(data, code, self.talk)
        return [data] if result is None else [to_json(frame) for frame in (*_answer(result), result)]


def _list(data: bytes) -> list[dict[str, Any]]:
    """All frames of an engine that is set to be verbose: it writes them as a list. Else nothing."""
    try:
        return msgspec.json.decode(data, type=list[dict[str, Any]]) if data.startswith(b"[") else []
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []


def _result(words: bytes, code: int, talk: str) -> dict[str, Any]:
    said = words.decode("utf-8", "replace")
    if code:  # nobody knows whether the talk was begun
        return {"type": "result", "subtype": "error_during_execution", "is_error": True, "result": said}
    return {"type": "result", "subtype": "success", "is_error": False, "result": said, "session_id": talk}


def _answer(result: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """A stream has the words of an answer before its result repeats them."""
    words = text(result, "result")
    if not words or is_failure(result):
        return ()
    content = [{"type": "text", "text": words}]
    message = {"id": new_id(), "role": "assistant", "content": content, "usage": result.get("usage")}
    return ({"type": "assistant", "message": message, "session_id": text(result, "session_id")},)
