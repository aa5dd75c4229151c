"""The host program at the other end of the wire as the one who is asked for permission."""

from collections.abc import Callable
from typing import Any

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InteractionOpened
from bobstay.wire.control_channel import ControlChannel, ControlError
from bobstay.wire.line_limit import LINE_LIMIT, encode_line, shrunk
from bobstay.wire.wire_frames import Frame

_ENVELOPE = 200
"""Characters the envelope of a control request takes at most."""


class HostApprover:
    """Puts each question to the host as `can_use_tool`. A question that is dropped is withdrawn there too."""

    can_ask = True

    def __init__(self, channel: ControlChannel, state: Callable[[str], None]) -> None:
        self._channel = channel
        self._state = state
        self._open = 0

    async def ask(self, opened: InteractionOpened) -> Answer:
        body = question(opened)
        shown = body
        if len(encode_line(body, limit=LINE_LIMIT * 64)) > LINE_LIMIT - _ENVELOPE:
            shown = shrunk(body, LINE_LIMIT - _ENVELOPE)
        self._open += 1
        self._state("requires_action")
        try:
            said = await self._channel.request(shown)
        except ControlError as error:
            return Answer(allow=False, message=f"Tool permission request failed: {error}")
        finally:
            self._open -= 1
            if not self._open:
                self._state("running")
        return answer(said, asked=opened.call.input, shown=shown["input"])


def question(opened: InteractionOpened) -> Frame:
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
    if opened.kind != "permission":
        body["requires_user_interaction"] = True
    return body


def answer(said: dict[str, Any], *, asked: dict[str, Any], shown: object) -> Answer:
    """What a host's answer means. Anything that is not a clear yes is a no."""
    message = said.get("message")
    match said.get("behavior"):
        case "allow":
            return _allowed(said, asked, shown)
        case "deny":
            text = message if isinstance(message, str) and message else "The host did not allow this call."
            return Answer(allow=False, message=text, interrupt=said.get("interrupt") is True)
        case other:
            return Answer(allow=False, message=f"Tool permission request failed: unknown behavior {other!r}")


def _allowed(said: dict[str, Any], asked: dict[str, Any], shown: object) -> Answer:
    updates = said.get("updatedPermissions")
    permissions = tuple(entry for entry in updates if isinstance(entry, dict)) if isinstance(updates, list) else ()
    changed = said.get("updatedInput")
    if not isinstance(changed, dict) or changed in (asked, shown):
        # Hosts send the input back unchanged: what runs is then what the model sent, even if it was shown cut.
        return Answer(allow=True, updates=permissions)
    if shown != asked:
        text = "The input was too long to be shown whole, so a changed version of it cannot be run."
        return Answer(allow=False, message=text)
    return Answer(allow=True, input=changed, updates=permissions)
