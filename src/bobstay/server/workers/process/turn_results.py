"""Parses the `result` frame of an engine into the end of a turn."""

from typing import Any

from bobstay.model.event import Ending, RunDone
from bobstay.model.message import ToolCall
from bobstay.server.workers.process.untrusted_fields import count, text
from bobstay.wire.result_frame import RESULT_ROWS

_BY_REASON: dict[str, Ending] = {
    row.reason: ending
    for ending, row in RESULT_ROWS.items()
    if row.is_error and row.reason not in (None, "api_error", "failed")
}
_BY_SUBTYPE: dict[str, Ending] = {
    row.subtype: ending for ending, row in RESULT_ROWS.items() if row.subtype.startswith("error_max_")
}


def parse_result(frame: dict[str, Any], *, interrupting: bool = False) -> RunDone:
    """The end of the turn for a `result` frame of any shape."""
    ending = find_ending(frame, interrupting=interrupting)
    deferred = frame.get("deferred_tool_use")
    return RunDone(
        ending,
        _result_text(frame),
        text(frame, "stop_reason"),
        status=count(frame, "api_error_status") or None,
        error=text(frame, "api_error_type") or text(frame, "api_error"),
        structured=frame.get("structured_output"),
        deferred=_call(deferred) if ending == "deferred" else None,
        turns=count(frame, "num_turns"),
        duration_ms=count(frame, "duration_ms"),
    )


def find_ending(frame: dict[str, Any], *, interrupting: bool = False) -> Ending:
    reason, subtype = text(frame, "terminal_reason"), text(frame, "subtype")
    if not is_failure(frame):
        if reason == "hook_stopped":
            return "hook_stopped"
        if reason == "stop_hook_prevented":
            return "stop_hook_prevented"
        return "deferred" if reason == "tool_deferred" else "completed"
    if reason in _BY_REASON:
        return _BY_REASON[reason]
    if subtype in _BY_SUBTYPE:
        return _BY_SUBTYPE[subtype]
    if interrupting and subtype == "error_during_execution":
        return "interrupted_streaming"
    if frame.get("api_error") == "max_output_tokens":
        return "max_output"
    if text(frame, "stop_reason") == "refusal":
        return "refused"
    return "api_error" if reason == "api_error" or count(frame, "api_error_status") else "failed"


def is_failure(frame: dict[str, Any]) -> bool:
    return frame.get("is_error") is True or text(frame, "subtype").startswith("error")


def _result_text(frame: dict[str, Any]) -> str:
    """The answer or the error: each generation of engines puts it elsewhere."""
    if result := text(frame, "result"):
        return result
    errors = frame.get("errors")
    if isinstance(errors, list):
        return "\n".join(entry for entry in errors if isinstance(entry, str))
    return text(frame, "error")


def _call(data: Any) -> ToolCall | None:
    if not isinstance(data, dict):
        return None
    input = data.get("input")
    return ToolCall(text(data, "id"), text(data, "name"), input if isinstance(input, dict) else {})
