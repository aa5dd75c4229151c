"""Reasoning on Chat Completions: collects it from an answer and encodes it for the model that it came from."""

from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.message import Message, Text, Thinking, ToolCall
from bobstay.providers.message_encoding import to_json

THINKING_CHUNKS = "thinking"
"""Our name for Mistral's format, in which reasoning is a part of the content."""

_STREAMED_FIELDS = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""Detail types that are streamed in pieces, and the field that the pieces extend."""
_PLACEHOLDER_SIGNATURE = "skip_thought_signature_validator"
"""The value that Google accepts instead of a signature, for a call that another model made."""


class ReasoningSignature(Struct, frozen=True, omit_defaults=True):
    """The content of a block's signature, from which its reasoning is sent back."""

    family: str
    field: str = ""
    """The message field that the text came in; it is sent back in the same field."""
    details: list[dict[str, Any]] = []
    """OpenRouter's `reasoning_details`, unchanged."""


_decoder = msgspec.json.Decoder(ReasoningSignature)


class ReasoningCollector:
    """Collects the reasoning of one streamed answer, block by block."""

    def __init__(self, family: str) -> None:
        self._family = family
        self._field = ""
        self._details: list[dict[str, Any]] = []

    def add_field(self, field: str) -> None:
        self._field = field

    def add_details(self, details: Any) -> None:
        for detail in details if isinstance(details, list) else ():
            if isinstance(detail, dict):
                self._add(detail)

    def take_signature(self, *, is_call: bool = False) -> str:
        """Return the signature of the block that is about to be complete, and reset. A call has details only."""
        if is_call and not self._details:
            return ""
        field = "" if is_call else self._field
        if not field and not self._details:
            return ""
        signature = to_json(ReasoningSignature(self._family, field, self._details)).decode()
        self._field, self._details = "", []
        return signature

    def _add(self, detail: dict[str, Any]) -> None:
        streamed = _STREAMED_FIELDS.get(str(detail.get("type")))
        last = self._details[-1] if self._details else None
        if streamed is None or last is None or _detail_key(last) != _detail_key(detail):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key == streamed and isinstance(value, str):
                last[key] = (last.get(key) or "") + value
            elif value is not None:
                last[key] = value


def _detail_key(detail: dict[str, Any]) -> tuple[Any, Any]:
    return detail.get("type"), detail.get("index")


def model_family(model: str) -> str:
    """Return the family of models that accept each other's reasoning: the vendor, or the name before its numbers."""
    name = model.lower()
    vendor, slash, _ = name.partition("/")
    if slash:
        return vendor
    end = next((index for index, character in enumerate(name) if not character.isalpha()), len(name))
    return name[:end]


class ReasoningRules(Struct, frozen=True):
    """How reasoning is sent back to one model of one provider."""

    origin: str
    family: str
    filler: str | None = None
    """The `reasoning_content` of messages without reasoning, for models that require it; None for other models."""
    refused: bool = False
    """The model refuses any reasoning."""
    gemini: bool = False
    """A Gemini model behind OpenRouter: it refuses a call without a signature."""
    unsigned: bool = False
    """It refused the signatures of this history, so none of them is sent."""
    alone: bool = False
    """Its template accepts either reasoning or text together with calls, but not both."""


def encode_reasoning(message: Message, text: str, call_id: str, rules: ReasoningRules) -> dict[str, Any]:
    """Return the fields of an assistant message that contain its reasoning; `call_id` is that of its first call.

    In Mistral's format this is the `content` itself.
    """
    if rules.refused or (rules.alone and text and call_id):
        return {}
    details, texts, field = _collect_reasoning(message, rules)
    if rules.gemini and call_id and (rules.unsigned or not _is_signed(details)):
        details = [detail for detail in details if detail.get("type") != "reasoning.encrypted"]
        details.append(_placeholder_detail(call_id))
    if details:
        return {"reasoning_details": details}
    reasoning = "\n\n".join(texts)
    if rules.filler is not None:
        return {"reasoning_content": reasoning or rules.filler}
    if not reasoning or not field:
        return {}
    if field == THINKING_CHUNKS:
        chunk = {"type": "thinking", "thinking": [{"type": "text", "text": reasoning}], "closed": True}
        return {"content": [chunk, *([{"type": "text", "text": text}] if text else [])]}
    return {field: reasoning}


def _collect_reasoning(message: Message, rules: ReasoningRules) -> tuple[list[dict[str, Any]], list[str], str]:
    """Collect the details, texts and field from the blocks of this origin."""
    details: list[dict[str, Any]] = []
    texts: list[str] = []
    field = ""
    for block in message.blocks:
        if not isinstance(block, Thinking | ToolCall):
            continue
        signature = _decode_signature(block.signature)
        own = signature is not None and signature.family == rules.family
        if signature is not None and own:
            details += signature.details
            field = signature.field or field
        # Plain text is not verified: if it is required, text without its signature is better than none.
        wanted = own or (rules.filler is not None and signature is None)
        if isinstance(block, Thinking) and block.origin == rules.origin and block.text and wanted:
            texts.append(block.text)
    return details, texts, field


def _decode_signature(signature: str) -> ReasoningSignature | None:
    if not signature.startswith("{"):
        return None
    try:
        return _decoder.decode(signature)
    except (msgspec.DecodeError, RecursionError):
        return None


def _is_signed(details: list[dict[str, Any]]) -> bool:
    return any(detail.get("type") == "reasoning.encrypted" or detail.get("signature") for detail in details)


def _placeholder_detail(call_id: str) -> dict[str, Any]:
    return {
        "type": "reasoning.encrypted",
        "data": _PLACEHOLDER_SIGNATURE,
        "format": "google-gemini-v1",
        "id": call_id,
        "index": 0,
    }


def join_text(message: Message) -> str:
    return "\n\n".join(block.text for block in message.blocks if isinstance(block, Text))
