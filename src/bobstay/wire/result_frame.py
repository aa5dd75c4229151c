"""The result frame of a turn: a table with one row per ending, and the frame built from it."""

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

from bobstay.model.api_shape import usage_json
from bobstay.model.event import Ending, RunDone
from bobstay.model.ids import new_id
from bobstay.model.message import Usage
from bobstay.wire.wire_frames import Frame


class ModelTotalsLike(Protocol):
    """Usage of one model in a session."""

    @property
    def usage(self) -> Usage: ...
    @property
    def cost(self) -> float: ...
    @property
    def window(self) -> int: ...
    @property
    def max_output(self) -> int: ...


class TotalsLike(Protocol):
    """Totals of a session so far, including the time before it was resumed."""

    @property
    def cost_usd(self) -> float: ...
    @property
    def api_ms(self) -> int: ...
    @property
    def models(self) -> Mapping[str, ModelTotalsLike]: ...


class ResultRow(Struct, frozen=True):
    """One row of the table: how an ending is reported to hosts."""

    subtype: str
    is_error: bool
    reason: str | None
    """`terminal_reason`; None leaves the key out."""
    message: str = ""
    """Default text if the run gave none. Only for endings with `errors`."""
    synthetic: str = ""
    """`error` of the synthetic assistant message; "" for no such message."""

    @property
    def has_result(self) -> bool:
        """Whether the text is the `result`; otherwise it is the only entry of `errors`."""
        return self.subtype == "success"


RESULT_ROWS: dict[Ending, ResultRow] = {
    "completed": ResultRow("success", False, "completed"),
    "interrupted_streaming": ResultRow(
        "error_during_execution", True, "aborted_streaming", "Interrupted while the model was answering"
    ),
    "interrupted_tools": ResultRow(
        "error_during_execution", True, "aborted_tools", "Interrupted while a tool was at work"
    ),
    "max_turns": ResultRow("error_max_turns", True, "max_turns", "Reached maximum number of turns"),
    "max_cost": ResultRow("error_max_budget_usd", True, "budget_exhausted", "Reached maximum budget"),
    "max_tokens": ResultRow("error_max_tokens", True, "max_tokens", "Reached maximum number of tokens"),
    "max_time": ResultRow("error_max_time", True, "max_time", "Reached maximum time"),
    "max_output": ResultRow("success", True, "api_error", synthetic="max_output_tokens"),
    "max_structured_retries": ResultRow(
        "error_max_structured_output_retries",
        True,
        "max_structured_output_retries",
        "The model did not give output that matches the schema",
    ),
    "api_error": ResultRow("success", True, "api_error", synthetic="unknown"),
    "prompt_too_long": ResultRow("success", True, "prompt_too_long", synthetic="invalid_request"),
    "refused": ResultRow("success", True, "api_error", synthetic="invalid_request"),
    "repeating": ResultRow(
        "error_during_execution", True, "repeating", "Stopped: the same call was made over and over"
    ),
    "auto_denied": ResultRow(
        "error_during_execution", True, "auto_denied", "Stopped: auto mode refused several calls in a row"
    ),
    "hook_stopped": ResultRow("success", False, "hook_stopped"),
    "stop_hook_prevented": ResultRow("success", False, "stop_hook_prevented"),
    "prompt_blocked": ResultRow("success", False, None),
    "deferred": ResultRow("success", False, "tool_deferred"),
    "failed": ResultRow("error_during_execution", True, "failed", "The run failed"),
}

STATUS_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class Tally(Struct):
    """Counters of the current turn."""

    user_frames: int = 0
    usage: Usage = Usage()
    stop: str | None = None
    denials: list[Frame] = []
    prompts: list[str] = []
    """Ids the host gave to the prompts of this turn."""
    origins: set[str] = set()
    """Origins of the turn's input: `human`, or the `why` of other input."""


def error_type(done: RunDone) -> str:
    """The `error` of the synthetic message for an ending that has one."""
    return done.error or RESULT_ROWS[done.ending].synthetic


def failure_text(done: RunDone) -> str:
    """The text for a person about an ending without `result`."""
    return done.text or RESULT_ROWS[done.ending].message


def result_frame(session_id: str, done: RunDone, tally: Tally, totals: TotalsLike, index: int) -> Frame:
    row = RESULT_ROWS[done.ending]
    frame: Frame = {
        "type": "result",
        "subtype": row.subtype,
        "is_error": row.is_error,
        "duration_ms": done.duration_ms,
        "duration_api_ms": totals.api_ms,
        "num_turns": 0 if done.local or done.ending == "prompt_blocked" else 1 + tally.user_frames,
    }
    if row.has_result:
        frame["result"] = done.text
    else:
        frame["errors"] = [failure_text(done)]
    frame["stop_reason"] = _stop_reason(done, tally)
    if row.reason is not None:
        frame["terminal_reason"] = row.reason
    frame["session_id"] = session_id
    frame["total_cost_usd"] = totals.cost_usd
    frame["usage"] = {
        **usage_json(tally.usage),
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
    }
    frame["modelUsage"] = {name: _model_usage(model) for name, model in totals.models.items()}
    frame["permission_denials"] = tally.denials
    _add_details(frame, done, row, tally)
    frame["uuid"] = new_id()
    frame["result_index"] = index
    return frame


def refused_start(session_id: str, error: str) -> Frame:
    """The result of a session that could not be opened."""
    return {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "errors": [error],
        "stop_reason": None,
        "session_id": session_id,
        "total_cost_usd": 0,
        "usage": usage_json(Usage()),
        "modelUsage": {},
        "permission_denials": [],
        "uuid": new_id(),
        "result_index": 0,
    }


def _add_details(frame: Frame, done: RunDone, row: ResultRow, tally: Tally) -> None:
    if row.has_result and done.ending != "deferred":
        frame["api_error_status"] = done.status
    if row.synthetic and done.status in STATUS_ERROR_TYPES:
        frame["api_error_type"] = STATUS_ERROR_TYPES[done.status]
    if done.ending == "max_output":
        frame["api_error"] = "max_output_tokens"
    if done.local_command:
        frame["local_command"] = done.local_command
    if done.structured is not None:
        frame["structured_output"] = done.structured
    if done.deferred is not None:
        call = done.deferred
        frame["deferred_tool_use"] = {"id": call.id, "name": call.name, "input": call.input}
    if "background" in tally.origins and "human" not in tally.origins:
        frame["origin"] = {"kind": "task-notification", "producer": "session-task"}
    if tally.prompts:
        frame["user_message_uuid"] = tally.prompts[-1]
        frame["user_message_uuids"] = tally.prompts


def _stop_reason(done: RunDone, tally: Tally) -> str | None:
    if done.ending == "deferred":
        return "tool_deferred"
    if done.ending == "refused":
        return "refusal"
    if RESULT_ROWS[done.ending].synthetic:
        return "stop_sequence"
    return done.stop or tally.stop


def _model_usage(model: ModelTotalsLike) -> dict[str, Any]:
    return {
        "inputTokens": model.usage.input,
        "outputTokens": model.usage.output,
        "cacheReadInputTokens": model.usage.cache_read,
        "cacheCreationInputTokens": model.usage.cache_write,
        "webSearchRequests": 0,
        "costUSD": model.cost,
        "contextWindow": model.window,
        "maxOutputTokens": model.max_output,
    }
