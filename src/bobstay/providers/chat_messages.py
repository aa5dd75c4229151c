"""Encodes messages for Chat Completions, with the order and ids that servers require."""

from typing import Any

from msgspec import Struct

from bobstay.model.message import Image, Message, Text, ToolCall, ToolReply
from bobstay.providers.chat_reasoning import ReasoningRules, encode_reasoning, join_text, model_family
from bobstay.providers.message_encoding import to_json

_MAX_ID_LENGTH = 40
_MISTRAL_MODELS = ("mistral", "magistral", "devstral", "codestral", "ministral", "pixtral", "mixtral")
_BRIDGE = "OK."
"""The assistant text between tool results and a user message, for servers that require one there."""


class MessageRules(Struct, frozen=True):
    """Requirements of one model of one server on messages."""

    reasoning: ReasoningRules
    mistral: bool = False
    """Ids of nine letters and digits, and an assistant message between tool results and the next user message."""


def initial_rules(name: str, dialect: str, model: str) -> MessageRules:
    """Return the rules known in advance; the rest is learned from refusals. `name` is the provider's."""
    lowered = model.lower()
    filler = {"deepseek": "", "moonshot": " "}.get(dialect)
    reasoning = ReasoningRules(
        origin=name,
        family=model_family(model),
        filler=filler,
        gemini=dialect == "openrouter" and lowered.startswith("google/gemini"),
        # The template of gpt-oss raises an error for both: ggml-org/llama.cpp#17040.
        alone="gpt-oss" in lowered,
    )
    return MessageRules(reasoning, dialect == "mistral" or any(name in lowered for name in _MISTRAL_MODELS))


def encode_message(message: Message, rules: MessageRules) -> list[dict[str, Any]]:
    """Encode a message. Tool results become separate messages, before the user's text."""
    if message.role == "assistant":
        return _encode_assistant(message, rules)
    messages: list[dict[str, Any]] = []
    images: list[Image] = []
    user_blocks: list[Text | Image] = []
    for block in message.blocks:
        if isinstance(block, ToolReply):
            messages.append(
                {"role": "tool", "tool_call_id": _adapt_call_id(block.call_id, rules), "content": _result_text(block)}
            )
            images += [part for part in block.content if isinstance(part, Image)]
        elif isinstance(block, Text | Image):
            user_blocks.append(block)
    if images:
        # Results can contain only text, so their images go into the next message.
        user_blocks = [Text("These images belong to the tool results above."), *images, *user_blocks]
    if user_blocks:
        if messages and rules.mistral:
            messages.append({"role": "assistant", "content": _BRIDGE})
        messages.append({"role": "user", "content": _encode_content(user_blocks)})
    return messages


def _encode_assistant(message: Message, rules: MessageRules) -> list[dict[str, Any]]:
    text = join_text(message)
    calls = [
        {
            "id": _adapt_call_id(block.id, rules),
            "type": "function",
            "function": {
                "name": block.name,
                # Some servers parse this to fill their template, so malformed input is not sent back.
                "arguments": to_json(block.input).decode(),
            },
        }
        for block in message.blocks
        if isinstance(block, ToolCall)
    ]
    if not text and not calls:
        return []
    sent: dict[str, Any] = {"role": "assistant", "content": text}
    sent |= encode_reasoning(message, text, str(calls[0]["id"]) if calls else "", rules.reasoning)
    if calls:
        sent["tool_calls"] = calls
    return [sent]


def _result_text(reply: ToolReply) -> str:
    text = reply.text or ("(see the image below)" if reply.content else "")
    return f"Error: {text}" if reply.is_error else text


def _encode_content(blocks: list[Text | Image]) -> str | list[dict[str, Any]]:
    """Encode as plain text if possible: small servers support nothing else."""
    texts = [block.text for block in blocks if isinstance(block, Text)]
    if len(texts) == len(blocks):
        return "\n\n".join(texts)
    return [
        {"type": "text", "text": block.text}
        if isinstance(block, Text)
        else {"type": "image_url", "image_url": {"url": f"data:{block.media_type};base64,{block.data}"}}
        for block in blocks
    ]


def _adapt_call_id(call_id: str, rules: MessageRules) -> str:
    """Return a call id that the server accepts: ids of other vendors may be too long; Mistral wants nine letters."""
    if not rules.mistral and len(call_id) <= _MAX_ID_LENGTH:
        return call_id
    if rules.mistral and len(call_id) == 9 and call_id.isalnum() and call_id.isascii():
        return call_id
    from hashlib import sha256

    digest = sha256(call_id.encode()).hexdigest()
    return digest[:9] if rules.mistral else digest[:32]
