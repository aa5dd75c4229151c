"""Converts `system` frames of an engine to events: retries, hooks, changes of model or mode."""

from typing import Any

from bobstay.model.event import Durable, HookRan, ModelChanged, Noted, Raw
from bobstay.model.live_events import Live, Requesting, Retrying
from bobstay.server.workers.process.untrusted_fields import count, text

NOISE = frozenset(
    {
        "session_state_changed",
        "thinking_tokens",
        "task_started",
        "task_progress",
        "task_updated",
        "background_tasks_changed",
        "hook_started",
    }
)
"""Known subtypes that other frames report better: they get no row."""


MOST_HOOK_OUTPUT = 4_000
"""Characters kept of the output of a failed hook; the output of a successful one is for the engine."""


def notice(frame: dict[str, Any], model: str) -> Durable | Live | None:
    """The event for a `system` frame; `Raw` for an unknown one, None for noise."""
    subtype = text(frame, "subtype")
    if subtype in NOISE:
        return None
    match subtype:
        case "status":
            return _status(frame, model)
        case "api_retry":
            return Retrying(
                count(frame, "attempt"),
                count(frame, "max_retries"),
                count(frame, "retry_delay_ms") / 1000,
                count(frame, "error_status") or None,
                text(frame, "error"),
            )
        case "model_fallback" if text(frame, "fallback_model"):
            return ModelChanged(text(frame, "fallback_model"), "fallback", text(frame, "original_model"))
        case "permission_denied":
            return Noted(text(frame, "message") or "A call was refused by a rule.", "warning")
        case "hook_response":
            outcome = text(frame, "outcome")
            output = "" if outcome == "success" else text(frame, "output") or text(frame, "stderr")
            return HookRan(text(frame, "hook_name"), text(frame, "hook_event"), outcome, output[:MOST_HOOK_OUTPUT])
        case "compact_boundary":
            return Noted("The engine compacted the conversation: the model now sees a summary of what came before.")
        case "task_notification":
            return _task(frame)
        case "informational" | "notification":
            message = text(frame, "content") or text(frame, "text")
            return Noted(message, "warning" if frame.get("level") in ("warning", "error") else "info")
        case _:
            return Raw(frame)


def error_notice(frame: dict[str, Any]) -> Noted:
    """The notice for an `error` frame."""
    error = frame.get("error")
    inner = text(error, "message") if isinstance(error, dict) else ""
    return Noted(inner or text(frame, "error") or text(frame, "message") or "The engine reported an error.", "error")


def rate_limit(frame: dict[str, Any]) -> Durable | None:
    info = frame.get("rate_limit_info")
    if isinstance(info, dict) and info.get("status") in ("allowed", None):
        return None
    return Raw(frame)


def _status(frame: dict[str, Any], model: str) -> Durable | Live | None:
    match frame.get("status"):
        case "requesting":
            return Requesting(model)
        case "compacting":
            return Noted("The engine compacts the conversation.")
        case _:
            return None


def _task(frame: dict[str, Any]) -> Durable | None:
    """The end of background work. Work that a call waited for is reported by the result of that call."""
    status = text(frame, "status")
    if status == "completed" and not text(frame, "output_file"):
        return None
    summary = text(frame, "summary") or text(frame, "task_id")
    return Noted(f"Background work {status or 'ended'}: {summary}", "info" if status == "completed" else "warning")
