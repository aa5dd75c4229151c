"""What an Anthropic-speaking server accepts, as known before and as learned from its refusals."""

from typing import Any

from msgspec.structs import replace

from bobstay.model.message import Message, Text, Thinking, ToolCall, ToolReply
from bobstay.providers.base import ProviderError, Request
from bobstay.providers.effort_levels import Efforts
from bobstay.providers.thinking import EFFORTS, Effort, Thinks, fitted

ORIGIN = "anthropic"
SMALLEST_BUDGET = 1024
"""Tokens of thinking; the API refuses less."""


class AcceptedFeatures:
    """One server's ways. Whoever asks it tells of each refusal and is told what to ask instead."""

    def __init__(self, *, unsigned: bool, origin: str = ORIGIN) -> None:
        self.origin = origin
        """Whose thinking is sent back: no other server's."""
        self.unsigned = unsigned
        """Thinking without a signature is sent back."""
        self.eager = True
        """Tools may say that their input shall be streamed as it is made."""
        self.display = True
        """Thinking may say how much of it shall be shown."""
        self._thinks: dict[str, Thinks] = {}
        """By model, where it is not as was thought."""
        self._efforts = Efforts()
        self._unforced: set[str] = set()
        """Models that refuse to be told which tool to call."""
        self._refused: frozenset[str] = frozenset()
        """Signatures of thinking the server does not want back."""

    def thinks(self, request: Request) -> Thinks:
        return self._thinks.get(request.model, request.thinks)

    def effort(self, request: Request, effort: Effort | None) -> Effort | None:
        return self._efforts.allowed(request.model, effort)

    def refuses_force(self, model: str, thinks: Thinks, thinking: dict[str, Any] | None) -> bool:
        """Whether the model may not be told which tool to call: not with a budget, and the newest not at all."""
        enabled = thinking is not None and thinking["type"] == "enabled"
        return enabled or thinks in ("always", "between_tools") or model in self._unforced

    def thinking_of(self, message: Message) -> tuple[Thinking, ...]:
        """The thinking in `message` that goes back: all of it or none, for a part of it is refused."""
        own = tuple(block for block in message.blocks if isinstance(block, Thinking) and block.origin == self.origin)
        return own if all(map(self._returns, own)) else ()

    def begins_turn(self, messages: tuple[Message, ...]) -> bool:
        """Whether the turn that is under way begins with thinking, as it must where thinking has a budget."""
        place = len(messages)
        while place and (messages[place - 1].role == "assistant" or _has_reply(messages[place - 1])):
            place -= 1
        if place == len(messages) or messages[place].role != "assistant":
            return True
        thinking = self.thinking_of(messages[place])
        said = [
            block
            for block in messages[place].blocks
            if block in thinking or isinstance(block, ToolCall) or (isinstance(block, Text) and block.text.strip())
        ]
        return not said or isinstance(said[0], Thinking)

    def adapted(self, request: Request, error: ProviderError) -> Request | None:
        """The request to send instead of one that was refused; None if nothing can be done about it."""
        text = str(error)
        if error.kind != "invalid_request":
            return None
        if "Expected `thinking`" in text or "must start with a thinking block" in text:
            # Thinking was lost on the way, and without it this turn can only go on without any.
            return replace(request, thinking="off") if request.thinking != "off" else None
        if "tool_choice" in text and request.forced_tool and request.model not in self._unforced:
            self._unforced.add(request.model)
            return request
        if "must be passed back" in text:
            # DeepSeek thinks unless told not to, and calls whose thinking is gone cannot be sent to it otherwise.
            known = self._thinks.get(request.model)
            self._thinks[request.model] = "adaptive_only"
            return replace(request, thinking="off") if known != "adaptive_only" else None
        if self._learn_kind(request, text) or self._learn_field(text) or self._learn_effort(request, text):
            return request
        return request if self._drop_thinking(request, text) else None

    def _learn_kind(self, request: Request, text: str) -> bool:
        before = self.thinks(request)
        now: Thinks | None = None
        if "thinking.type.enabled" in text and "is not supported" in text and "disabled" not in text:
            now = "adaptive_only"
        elif "adaptive thinking is not supported" in text:
            now = "budget"
        elif "thinking.type.disabled" in text:
            now = "between_tools" if "between_tools" in text else "always"
        if now is None or now == before:
            return False
        self._thinks[request.model] = now
        return True

    def _learn_field(self, text: str) -> bool:
        if "eager_input_streaming" in text and self.eager:
            self.eager = False
            return True
        if "display" in text and "thinking" in text and self.display:
            self.display = False
            return True
        return False

    def _learn_effort(self, request: Request, text: str) -> bool:
        sent = self.effort(request, request.effort)
        if sent is None or "effort" not in text:
            return False
        self._efforts.refuse(request.model, "low" if "does not support the effort" in text else sent)
        return True

    def _drop_thinking(self, request: Request, text: str) -> bool:
        """Leave out from now on all thinking in `request`, if it is what was refused; tell whether that is new.

        Thinking is bound to its model and to all that stood before it. After a compaction or a change of model
        the server refuses it, and would refuse every later request too.
        """
        if "thinking" not in text or ("signature" not in text and "cannot be modified" not in text):
            return False
        signatures = {block.signature for message in request.messages for block in self.thinking_of(message)}
        self._refused |= signatures
        return bool(signatures)

    def _returns(self, thinking: Thinking) -> bool:
        if thinking.signature in self._refused:
            return False
        return bool(thinking.signature) or (self.unsigned and bool(thinking.text))


def settings_of(request: Request, accepted: AcceptedFeatures) -> dict[str, Any]:
    """The request's body but for its tools, system prompt and messages."""
    settings: dict[str, Any] = {"max_tokens": request.max_tokens}
    thinks = accepted.thinks(request)
    wanted, effort = request.thinking, request.effort
    if thinks != request.thinks:
        wanted, effort = fitted(wanted, effort, thinks, EFFORTS)
    thinking: dict[str, Any] | None = None
    if wanted == "adaptive":
        thinking = {"type": "adaptive"}
        if accepted.display:
            # Newer models show nothing of their thinking unless asked: minutes of silence, and no word between calls.
            thinking["display"] = request.thinking_display or "summarized"
    elif wanted == "off":
        thinking = _off(thinks)
    else:
        # Thinking counts as output, and some room must be left for the answer.
        budget = min(wanted, request.max_tokens - 1)
        if budget >= SMALLEST_BUDGET and accepted.begins_turn(request.messages):
            thinking = {"type": "enabled", "budget_tokens": budget}
            if request.thinking_display and accepted.display:
                thinking["display"] = request.thinking_display
    if thinking is not None:
        settings["thinking"] = thinking
    if request.forced_tool and not accepted.refuses_force(request.model, thinks, thinking):
        settings["tool_choice"] = {"type": "tool", "name": request.forced_tool}
    effort = accepted.effort(request, effort)
    if effort:
        settings["output_config"] = {"effort": effort}
    if request.session_id:
        settings["metadata"] = {"user_id": request.session_id}
    return settings


def _off(thinks: Thinks) -> dict[str, Any] | None:
    """How a model is told not to think; older ones do not unless asked, and some cannot be told."""
    if thinks == "adaptive_only":
        return {"type": "disabled"}
    return {"type": "between_tools"} if thinks == "between_tools" else None


def _has_reply(message: Message) -> bool:
    return any(isinstance(block, ToolReply) for block in message.blocks)
