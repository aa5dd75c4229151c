"""Features that an Anthropic-compatible server accepts, as known in advance and as learned from its refusals."""

from typing import Any

from msgspec.structs import replace

from bobstay.model.message import Message, Text, Thinking, ToolCall, ToolReply
from bobstay.providers.base import ProviderError, Request
from bobstay.providers.effort_levels import EffortLimits
from bobstay.providers.thinking import EFFORTS, Effort, ThinkingSupport, fit_thinking

ORIGIN = "anthropic"
MIN_BUDGET = 1024
"""Minimum tokens of thinking; the API refuses less."""


class AcceptedFeatures:
    """What one server accepts. `adapt` learns from a refusal and returns the request to send instead."""

    def __init__(self, *, unsigned: bool, origin: str = ORIGIN) -> None:
        self.origin = origin
        """The origin of the thinking that is sent back; that of other servers is not."""
        self.unsigned = unsigned
        """Thinking without a signature is sent back."""
        self.eager = True
        """Tools may request that their input is streamed as it is generated."""
        self.references = True
        """Tools may be deferred, and results may refer to them."""
        self.display = True
        """Requests may say how much of the thinking is shown."""
        self._thinks: dict[str, ThinkingSupport] = {}
        """By model, where it differs from what was assumed."""
        self._efforts = EffortLimits()
        self._unforced: set[str] = set()
        """Models that refuse a forced tool."""
        self._refused: frozenset[str] = frozenset()
        """Signatures of thinking that the server refused."""

    def thinks(self, request: Request) -> ThinkingSupport:
        return self._thinks.get(request.model, request.thinks)

    def effort(self, request: Request, effort: Effort | None) -> Effort | None:
        return self._efforts.allowed(request.model, effort)

    def refuses_force(self, model: str, thinks: ThinkingSupport, thinking: dict[str, Any] | None) -> bool:
        """Whether the model refuses a forced tool: any model with a thinking budget, and the newest models always."""
        enabled = thinking is not None and thinking["type"] == "enabled"
        return enabled or thinks in ("always", "between_tools") or model in self._unforced

    def deferred_tools(self, request: Request) -> frozenset[str]:
        """Return the tools to send as deferred: those that a result in `request` loads by a reference.

        They are no part of the prefix that the server caches, so that loading one leaves that as it was. Claude 3 does
        not know them, and models of others may ignore them.
        """
        if not self.references or "claude" not in request.model or "claude-3" in request.model:
            return frozenset()
        loaded = {
            name
            for message in request.messages
            for block in message.blocks
            if isinstance(block, ToolReply)
            for name in block.loads
        }
        found = frozenset(tool.name for tool in request.tools if tool.is_deferred and tool.name in loaded)
        return found if len(found) < len(request.tools) else frozenset()

    def returned_thinking(self, message: Message) -> tuple[Thinking, ...]:
        """Return the thinking in `message` to send back: all or none, since the server refuses a part of it."""
        own = tuple(block for block in message.blocks if isinstance(block, Thinking) and block.origin == self.origin)
        return own if all(map(self._is_returned, own)) else ()

    def turn_begins_with_thinking(self, messages: tuple[Message, ...]) -> bool:
        """Whether the current turn begins with thinking, as it must if thinking has a budget."""
        start = len(messages)
        while start and (messages[start - 1].role == "assistant" or _has_reply(messages[start - 1])):
            start -= 1
        if start == len(messages) or messages[start].role != "assistant":
            return True
        thinking = self.returned_thinking(messages[start])
        sent = [
            block
            for block in messages[start].blocks
            if block in thinking or isinstance(block, ToolCall) or (isinstance(block, Text) and block.text.strip())
        ]
        return not sent or isinstance(sent[0], Thinking)

    def adapt(self, request: Request, error: ProviderError) -> Request | None:
        """Return the request to send instead of one that was refused; None if no change can help."""
        text = str(error)
        if error.kind != "invalid_request":
            return None
        if "Expected `thinking`" in text or "must start with a thinking block" in text:
            # The thinking of this turn is lost, so the turn can only continue without thinking.
            return replace(request, thinking="off") if request.thinking != "off" else None
        if "tool_choice" in text and request.forced_tool and request.model not in self._unforced:
            self._unforced.add(request.model)
            return request
        if "must be passed back" in text:
            # DeepSeek thinks by default, and accepts calls without their thinking only if thinking is off.
            known = self._thinks.get(request.model)
            self._thinks[request.model] = "adaptive_only"
            return replace(request, thinking="off") if known != "adaptive_only" else None
        if self._learn_thinking_support(request, text) or self._learn_field(text) or self._learn_effort(request, text):
            return request
        return request if self._drop_thinking(request, text) else None

    def _learn_thinking_support(self, request: Request, text: str) -> bool:
        before = self.thinks(request)
        now: ThinkingSupport | None = None
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
        if ("defer_loading" in text or "ool_reference" in text or "ool reference" in text) and self.references:
            self.references = False
            return True
        if "display" in text and "thinking" in text and self.display:
            self.display = False
            return True
        return False

    def _learn_effort(self, request: Request, text: str) -> bool:
        sent = self.effort(request, request.effort)
        if sent is None or "effort" not in text:
            return False
        self._efforts.lower(request.model, "low" if "does not support the effort" in text else sent)
        return True

    def _drop_thinking(self, request: Request, text: str) -> bool:
        """Stop sending all thinking in `request` if it is what was refused; return whether there was any.

        Thinking is bound to its model and to everything before it. After a compaction or a change of model the server
        refuses it, and would refuse every later request too.
        """
        if "thinking" not in text or ("signature" not in text and "cannot be modified" not in text):
            return False
        signatures = {block.signature for message in request.messages for block in self.returned_thinking(message)}
        self._refused |= signatures
        return bool(signatures)

    def _is_returned(self, thinking: Thinking) -> bool:
        if thinking.signature in self._refused:
            return False
        return bool(thinking.signature) or (self.unsigned and bool(thinking.text))


def build_settings(request: Request, accepted: AcceptedFeatures) -> dict[str, Any]:
    """Build the request body without tools, system prompt and messages."""
    settings: dict[str, Any] = {"max_tokens": request.max_tokens}
    thinks = accepted.thinks(request)
    wanted, effort = request.thinking, request.effort
    if thinks != request.thinks:
        wanted, effort = fit_thinking(wanted, effort, thinks, EFFORTS)
    thinking: dict[str, Any] | None = None
    if wanted == "adaptive":
        thinking = {"type": "adaptive"}
        if accepted.display:
            # Newer models show no thinking by default: minutes of silence, and no text between calls.
            thinking["display"] = request.thinking_display or "summarized"
    elif wanted == "off":
        thinking = _disabled_thinking(thinks)
    else:
        # Thinking counts as output, and some tokens must be left for the answer.
        budget = min(wanted, request.max_tokens - 1)
        if budget >= MIN_BUDGET and accepted.turn_begins_with_thinking(request.messages):
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


def _disabled_thinking(thinks: ThinkingSupport) -> dict[str, Any] | None:
    """Return the setting that disables thinking; None for models that need no setting or cannot disable it."""
    if thinks == "adaptive_only":
        return {"type": "disabled"}
    return {"type": "between_tools"} if thinks == "between_tools" else None


def _has_reply(message: Message) -> bool:
    return any(isinstance(block, ToolReply) for block in message.blocks)
