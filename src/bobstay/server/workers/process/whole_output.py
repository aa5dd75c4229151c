"""Converts output that comes in one piece, text or one JSON object, to the frames of a streaming engine."""

from typing import Any, Literal

import msgspec

from bobstay.model.ids import new_id
from bobstay.server.workers.process.line_splitter import LONGEST, TooLong, parse_frame
from bobstay.server.workers.process.turn_results import is_failure
from bobstay.server.workers.process.untrusted_fields import text
from bobstay.sessions.log_codec import to_json


class WholeOutput:
    """Replaces `LineSplitter`, but returns nothing before the process has ended."""

    def __init__(self, form: Literal["json", "text"], longest: int = LONGEST) -> None:
        self.conversation = ""
        """The engine's id of the conversation, as given to it: plain text does not contain it."""
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
        """The frames of an answer and its result; `code` is the exit code of the process."""
        data, size = b"".join(self._pieces).strip(), self._size
        self._pieces, self._size = [], 0
        if size > self._longest:
            return [TooLong(size, data[:200])]
        if not data:
            return []
        if self._form == "json" and (frames := _list(data)):
            return [to_json(frame) for frame in frames]
        result = parse_frame(data) if self._form == "json" else _result(data, code, self.conversation)
        return [data] if result is None else [to_json(frame) for frame in (*_answer(result), result)]


def _list(data: bytes) -> list[dict[str, Any]]:
    """The frames of an engine in verbose mode, which writes them as a list; else nothing."""
    try:
        return msgspec.json.decode(data, type=list[dict[str, Any]]) if data.startswith(b"[") else []
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return []


def _result(output: bytes, code: int, conversation: str) -> dict[str, Any]:
    answer = output.decode("utf-8", "replace")
    if code:  # it is unknown whether the conversation was created
        return {"type": "result", "subtype": "error_during_execution", "is_error": True, "result": answer}
    return {"type": "result", "subtype": "success", "is_error": False, "result": answer, "session_id": conversation}


def _answer(result: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """The frame of the answer, which a stream has before its result."""
    answer = text(result, "result")
    if not answer or is_failure(result):
        return ()
    content = [{"type": "text", "text": answer}]
    message = {"id": new_id(), "role": "assistant", "content": content, "usage": result.get("usage")}
    return ({"type": "assistant", "message": message, "session_id": text(result, "session_id")},)
