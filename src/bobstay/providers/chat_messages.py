"""Turns messages into those of Chat Completions, with the rules of order and identity that servers insist on."""

from typing import Any

from msgspec import Struct

from bobstay.model.message import Image, Message, Text, ToolCall, ToolReply
from bobstay.providers.chat_reasoning import Returned, family_of, fields_of, text_of
from bobstay.providers.message_encoding import to_json

_LONGEST_ID = 40
_MISTRAL_MODELS = ("mistral", "magistral", "devstral", "codestral", "ministral", "pixtral", "mixtral")
_BRIDGE = "OK."
"""What stands between results and the user's words where a server wants an answer there."""


class MessageRules(Struct, frozen=True):
    """What one model of one server demands of messages."""

    returned: Returned
    mistral: bool = False
    """Ids of nine letters and digits, and an answer between results and what the user says next."""


def rules_of(name: str, dialect: str, model: str) -> MessageRules:
    """What is known beforehand; the rest is learnt from refusals. `name` is the provider's."""
    lowered = model.lower()
    filler = {"deepseek": "", "moonshot": " "}.get(dialect)
    returned = Returned(
        origin=name,
        family=family_of(model),
        filler=filler,
        gemini=dialect == "openrouter" and lowered.startswith("google/gemini"),
        # The template of gpt-oss raises an error for both: ggml-org/llama.cpp#17040.
        alone="gpt-oss" in lowered,
    )
    return MessageRules(returned, dialect == "mistral" or any(word in lowered for word in _MISTRAL_MODELS))


def messages_of(message: Message, rules: MessageRules) -> list[dict[str, Any]]:
    """A message as this format has it: results are messages of their own, before what the person says."""
    if message.role == "assistant":
        return _assistant(message, rules)
    messages: list[dict[str, Any]] = []
    pictures: list[Image] = []
    said: list[Text | Image] = []
    for block in message.blocks:
        if isinstance(block, ToolReply):
            found = [part for part in block.content if isinstance(part, Image)]
            messages.append({"role": "tool", "tool_call_id": _id(block.call_id, rules), "content": _result(block)})
            pictures += found
        elif isinstance(block, Text | Image):
            said.append(block)
    if pictures:
        # A result can be text only, so what it shows is shown by the next message.
        said = [Text("These images belong to the tool results above."), *pictures, *said]
    if said:
        if messages and rules.mistral:
            messages.append({"role": "assistant", "content": _BRIDGE})
        messages.append({"role": "user", "content": _content(said)})
    return messages


def _assistant(message: Message, rules: MessageRules) -> list[dict[str, Any]]:
    text = text_of(message)
    calls = [
        {
            "id": _id(block.id, rules),
            "type": "function",
            "function": {
                "name": block.name,
                # Some servers parse this to fill their template, so what was malformed is not repeated.
                "arguments": to_json(block.input).decode(),
            },
        }
        for block in message.blocks
        if isinstance(block, ToolCall)
    ]
    if not text and not calls:
        return []
    sent: dict[str, Any] = {"role": "assistant", "content": text}
    sent |= fields_of(message, text, str(calls[0]["id"]) if calls else "", rules.returned)
    if calls:
        sent["tool_calls"] = calls
    return [sent]


def _result(reply: ToolReply) -> str:
    text = reply.text or ("(see the image below)" if reply.content else "")
    return f"Error: {text}" if reply.is_error else text


def _content(said: list[Text | Image]) -> str | list[dict[str, Any]]:
    """Plain text where it can be: small servers know nothing else."""
    texts = [block.text for block in said if isinstance(block, Text)]
    if len(texts) == len(said):
        return "\n\n".join(texts)
    return [
        {"type": "text", "text": block.text}
        if isinstance(block, Text)
        else {"type": "image_url", "image_url": {"url": f"data:{block.media_type};base64,{block.data}"}}
        for block in said
    ]


def _id(call_id: str, rules: MessageRules) -> str:
    """The id of a call as the server takes it; ids of other vendors may be too long, and Mistral wants nine letters."""
    if not rules.mistral and len(call_id) <= _LONGEST_ID:
        return call_id
    if rules.mistral and len(call_id) == 9 and call_id.isalnum() and call_id.isascii():
        return call_id
    from hashlib import sha256

    digest = sha256(call_id.encode()).hexdigest()
    return digest[:9] if rules.mistral else digest[:32]
