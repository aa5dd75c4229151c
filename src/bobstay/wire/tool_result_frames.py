"""Fields of a tool result frame: its display, and how the call was permitted."""

from bobstay.model.api_shape import reply_content
from bobstay.model.event import Decided, ToolDone
from bobstay.wire.wire_frames import Frame


def display(event: ToolDone) -> object:
    """Return what people and programs see of a result: the tool's own shape, or the error as text."""
    if event.reply.is_error:
        return _error_text(event.reply.text)
    return event.display if event.display is not None else reply_content(event.reply)


def _error_text(text: str) -> str:
    bare = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    return bare if bare.startswith(("Error: ", "InputValidationError: ")) else f"Error: {bare}"


def permission_meta(event: ToolDone) -> Frame:
    """Return why a call was permitted, or why it did not run."""
    meta: Frame = {"id": event.reply.call_id}
    if event.interrupted:
        meta["non_execution_kind"] = "user-rejected"
    elif event.denied:
        meta["non_execution_kind"] = "permission-rule"
    if event.decided is not None:
        decision = {"decision": event.decided.verdict, "source": _source(event.decided)}
        if event.decided.reason_type:
            decision["reason_type"] = event.decided.reason_type
        meta["permission_decision"] = decision
    return meta


def _source(decided: Decided) -> str:
    if decided.source.startswith("user_"):
        return decided.source if decided.verdict == "accept" else "user_reject"
    return "hook" if decided.source == "hook" or decided.reason_type == "hook" else "config"


def is_denied_by_policy(decided: Decided | None) -> bool:
    """Whether the rules or the mode denied a call, and not a person or a hook."""
    return decided is None or _source(decided) == "config"
