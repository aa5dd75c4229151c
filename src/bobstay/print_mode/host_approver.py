"""Approver that forwards approval requests to the host."""

from collections.abc import Callable
from typing import Any

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InteractionOpened
from bobstay.wire.control_channel import ControlChannel, ControlError
from bobstay.wire.line_limit import LINE_LIMIT, encode_line, shrink
from bobstay.wire.wire_frames import Frame

_ENVELOPE = 200
"""Maximum size of the envelope of a control request."""


class HostApprover:
    """Sends each approval request to the host as `can_use_tool`; a cancelled request is withdrawn there too."""

    can_ask = True

    def __init__(self, channel: ControlChannel, state: Callable[[str], None]) -> None:
        self._channel = channel
        self._state = state
        self._open = 0

    async def ask(self, opened: InteractionOpened) -> Answer:
        body = build_request(opened)
        shown = body
        if len(encode_line(body, limit=LINE_LIMIT * 64)) > LINE_LIMIT - _ENVELOPE:
            shown = shrink(body, LINE_LIMIT - _ENVELOPE)
        self._open += 1
        self._state("requires_action")
        try:
            response = await self._channel.request(shown)
        except ControlError as error:
            return Answer(allow=False, message=f"Tool permission request failed: {error}")
        finally:
            self._open -= 1
            if not self._open:
                self._state("running")
        return parse_answer(response, original=opened.call.input, shown=shown["input"])


def build_request(opened: InteractionOpened) -> Frame:
    body: Frame = {
        "subtype": "can_use_tool",
        "tool_name": opened.call.name,
        "display_name": opened.call.name,
        "input": opened.call.input,
    }
    if opened.description:
        body["description"] = opened.description
    if opened.suggestions:
        body["permission_suggestions"] = list(opened.suggestions)
    if opened.blocked_path:
        body["blocked_path"] = opened.blocked_path
    if opened.reason:
        body["decision_reason"] = opened.reason
    if opened.reason_type:
        body["decision_reason_type"] = opened.reason_type
    body["tool_use_id"] = opened.call.id
    if opened.agent:
        body["agent_id"] = opened.agent
    if opened.mcp_server:
        body["mcp_server"] = opened.mcp_server
    if opened.kind != "permission":
        body["requires_user_interaction"] = True
    return body


def parse_answer(response: dict[str, Any], *, original: dict[str, Any], shown: object) -> Answer:
    """Interpret the host's response. Anything but a clear approval is a denial."""
    message = response.get("message")
    match response.get("behavior"):
        case "allow":
            return _parse_allowed(response, original, shown)
        case "deny":
            text = message if isinstance(message, str) and message else "The host did not allow this call."
            return Answer(allow=False, message=text, interrupt=response.get("interrupt") is True)
        case other:
            return Answer(allow=False, message=f"Tool permission request failed: unknown behavior {other!r}")


def _parse_allowed(response: dict[str, Any], original: dict[str, Any], shown: object) -> Answer:
    updates = response.get("updatedPermissions")
    permissions = tuple(entry for entry in updates if isinstance(entry, dict)) if isinstance(updates, list) else ()
    changed = response.get("updatedInput")
    if not isinstance(changed, dict) or changed in (original, shown):
        # Hosts return the input unchanged: run what the model sent, even if it was shown truncated.
        return Answer(allow=True, updates=permissions)
    if shown != original:
        text = "The input was too long to be shown whole, so a changed version of it cannot be run."
        return Answer(allow=False, message=text)
    return Answer(allow=True, input=changed, updates=permissions)
