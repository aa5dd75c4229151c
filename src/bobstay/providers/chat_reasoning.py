"""Reasoning on Chat Completions: what is kept of it with an answer, and how it goes back to the model it came from."""

from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.message import Message, Text, Thinking, ToolCall
from bobstay.providers.message_encoding import to_json

THINKING_CHUNKS = "thinking"
"""The name here for Mistral's form: reasoning as parts of the content."""

_JOINED = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""Details that are streamed in pieces, and the field that grows."""
_GEMINI_UNSIGNED = "skip_thought_signature_validator"
"""What Google takes in place of a signature for a call that another model made."""


class Kept(Struct, frozen=True, omit_defaults=True):
    """What a block's signature holds, so that its reasoning can be sent back."""

    family: str
    field: str = ""
    """The field of the message the text came in; it goes back in the same."""
    details: list[dict[str, Any]] = []
    """OpenRouter's `reasoning_details`, as they came."""


_decoder = msgspec.json.Decoder(Kept)


class Collector:
    """Gathers the reasoning of one streamed answer, block by block."""

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

    def take(self, *, is_call: bool = False) -> str:
        """The signature for the block that is about to be complete. A call carries details only."""
        if is_call and not self._details:
            return ""
        field = "" if is_call else self._field
        if not field and not self._details:
            return ""
        signature = to_json(Kept(self._family, field, self._details)).decode()
        self._field, self._details = "", []
        return signature

    def _add(self, detail: dict[str, Any]) -> None:
        grown = _JOINED.get(str(detail.get("type")))
        last = self._details[-1] if self._details else None
        if grown is None or last is None or _place(last) != _place(detail):
            self._details.append(dict(detail))
            return
        for key, value in detail.items():
            if key == grown and isinstance(value, str):
                last[key] = (last.get(key) or "") + value
            elif value is not None:
                last[key] = value


def _place(detail: dict[str, Any]) -> tuple[Any, Any]:
    return detail.get("type"), detail.get("index")


def family_of(model: str) -> str:
    """Models that understand each other's reasoning: those of one maker, or of one name before its numbers."""
    name = model.lower()
    maker, slash, _ = name.partition("/")
    if slash:
        return maker
    end = next((place for place, character in enumerate(name) if not character.isalpha()), len(name))
    return name[:end]


class Returned(Struct, frozen=True):
    """How reasoning goes back to one model of one provider."""

    origin: str
    family: str
    filler: str | None = None
    """What `reasoning_content` says where there is none, for a model that refuses a message without; None if not."""
    refused: bool = False
    """The model has refused to be sent reasoning at all."""
    gemini: bool = False
    """A Gemini model behind OpenRouter: it refuses a call without a signature."""
    unsigned: bool = False
    """It has refused the signatures of this history, so that none of them is sent."""
    alone: bool = False
    """Its template takes reasoning or text beside calls, but not both."""


def fields_of(message: Message, text: str, call_id: str, returned: Returned) -> dict[str, Any]:
    """The fields of an assistant message that carry its reasoning; `call_id` is that of its first call, if any.

    For Mistral's form this is the `content` itself.
    """
    if returned.refused or (returned.alone and text and call_id):
        return {}
    details, texts, field = _gathered(message, returned)
    if returned.gemini and call_id and (returned.unsigned or not _is_signed(details)):
        details = [detail for detail in details if detail.get("type") != "reasoning.encrypted"]
        details.append(_unsigned(call_id))
    if details:
        return {"reasoning_details": details}
    words = "\n\n".join(texts)
    if returned.filler is not None:
        return {"reasoning_content": words or returned.filler}
    if not words or not field:
        return {}
    if field == THINKING_CHUNKS:
        chunk = {"type": "thinking", "thinking": [{"type": "text", "text": words}], "closed": True}
        return {"content": [chunk, *([{"type": "text", "text": text}] if text else [])]}
    return {field: words}


def _gathered(message: Message, returned: Returned) -> tuple[list[dict[str, Any]], list[str], str]:
    """The details, texts and field among the blocks of this origin."""
    details: list[dict[str, Any]] = []
    texts: list[str] = []
    field = ""
    for block in message.blocks:
        if not isinstance(block, Thinking | ToolCall):
            continue
        kept = _kept(block.signature)
        own = kept is not None and kept.family == returned.family
        if kept is not None and own:
            details += kept.details
            field = kept.field or field
        # Plain text is not signed: where it is demanded, text whose proof was lost is better than none.
        wanted = own or (returned.filler is not None and kept is None)
        if isinstance(block, Thinking) and block.origin == returned.origin and block.text and wanted:
            texts.append(block.text)
    return details, texts, field


def _kept(signature: str) -> Kept | None:
    if not signature.startswith("{"):
        return None
    try:
        return _decoder.decode(signature)
    except (msgspec.DecodeError, RecursionError):
        return None


def _is_signed(details: list[dict[str, Any]]) -> bool:
    return any(detail.get("type") == "reasoning.encrypted" or detail.get("signature") for detail in details)


def _unsigned(call_id: str) -> dict[str, Any]:
    return {
        "type": "reasoning.encrypted",
        "data": _GEMINI_UNSIGNED,
        "format": "google-gemini-v1",
        "id": call_id,
        "index": 0,
    }


def text_of(message: Message) -> str:
    return "\n\n".join(block.text for block in message.blocks if isinstance(block, Text))
