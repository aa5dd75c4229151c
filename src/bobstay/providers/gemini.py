"""Adapter for the Gemini API."""

from collections.abc import AsyncIterator
from typing import Any

from bobstay.http.client import HttpClient
from bobstay.http.connection import Reply
from bobstay.http.sse_splitter import SseEvents
from bobstay.model.message import Image, Message, Text, Thinking, ToolCall, ToolReply
from bobstay.providers.base import Chunk, Request
from bobstay.providers.gemini_stream import ORIGIN, GeminiStreamReader
from bobstay.providers.http_exchange import check_reply, provider_errors, truncated_error, user_agent
from bobstay.providers.message_builder import GENERATED_PREFIX
from bobstay.providers.message_encoding import MessageEncoder, to_json
from bobstay.providers.thinking import effort_for_budget

_ERROR_LIMIT = 256 * 1024
_PLACEHOLDER_SIGNATURE = "skip_thought_signature_validator"
"""The value that Google accepts instead of a signature, for a call that another model made."""

_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
_BUDGETS = (("pro", (128, 32_768)), ("flash-lite", (512, 24_576)), ("", (1, 24_576)))
"""Minimum and maximum thinking tokens of Gemini 2.5, by a part of the model's name."""


class Gemini:
    name = ORIGIN

    def __init__(self, http: HttpClient, *, base_url: str, api_key: str, headers: dict[str, str] | None = None) -> None:
        self._http = http
        base = base_url.rstrip("/")
        self._base = base if base.endswith(("/v1beta", "/v1", "/v1alpha")) else base + "/v1beta"
        self._headers = {"content-type": "application/json", "user-agent": user_agent()}
        if api_key:
            self._headers["x-goog-api-key"] = api_key
        self._headers |= {name.lower(): value for name, value in (headers or {}).items()}
        self._names: dict[str, str] = {}
        """The tool of each call, by call id: a result must repeat the name."""
        self._contents = MessageEncoder(lambda message: self._content(message, signs=False))
        self._signed_contents = MessageEncoder(lambda message: self._content(message, signs=True))
        self._json_schema = True
        """False once the server refused JSON schemas, so that tools use the older schema format."""

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        with provider_errors():
            reply = await self._ask(request)
            try:
                await check_reply(reply, self.name)
                reader = GeminiStreamReader(request, reply.headers)
                async for _, data in SseEvents(reply):
                    for chunk in reader.feed(data):
                        yield chunk
                # No event marks the end: usage may follow the stop reason.
                if not reader.finished:
                    raise truncated_error(self.name)
                for chunk in reader.end():
                    yield chunk
            finally:
                reply.close()

    async def close(self) -> None:
        await self._http.close()

    async def _ask(self, request: Request) -> Reply:
        reply = await self._post(request)
        if reply.status != 400 or not self._json_schema or not request.tools:
            return reply
        refusal = await reply.read(_ERROR_LIMIT)
        if b"parametersJsonSchema" in refusal or b"parameters_json_schema" in refusal:
            self._json_schema = False
            return await self._post(request)
        from bobstay.providers.error_kinds import classify

        raise classify(reply.status, refusal, reply.headers, self.name)

    async def _post(self, request: Request) -> Reply:
        model = request.model.removeprefix("models/")
        url = f"{self._base}/models/{model}:streamGenerateContent?alt=sse"
        return await self._http.post(url, self._headers, self.body(request), request.on_activity)

    def body(self, request: Request) -> bytes:
        """Encode the request. Parts that change from step to step come last, for prompt caching."""
        settings = to_json(build_settings(request, json_schema=self._json_schema))
        signs = model_generation(request.model) >= (3, 0)
        contents = (self._signed_contents if signs else self._contents).encode_all(request.messages, request.cache)
        return b'%b,"contents":[%b]}' % (settings[:-1], b",".join(filter(None, contents)))

    def _content(self, message: Message, *, signs: bool) -> bytes:
        for block in message.blocks:
            if isinstance(block, ToolCall):
                self._names[block.id] = block.name
        content = encode_content(message, self._names, signs=signs)
        return to_json(content) if content is not None else b""


def build_settings(request: Request, *, json_schema: bool = True) -> dict[str, Any]:
    """Build the request body without `contents`."""
    settings: dict[str, Any] = {}
    parts = [{"text": section} for section in request.system if section]
    if parts:
        settings["systemInstruction"] = {"parts": parts}
    if request.tools:
        settings["tools"] = [{"functionDeclarations": _encode_declarations(request, json_schema=json_schema)}]
        if request.forced_tool:
            forced = {"mode": "ANY", "allowedFunctionNames": [request.forced_tool]}
            settings["toolConfig"] = {"functionCallingConfig": forced}
    elif request.hosted_search:
        # The vendor's own search and our functions exclude each other.
        settings["tools"] = [{"googleSearch": {}}]
    generation: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
    thinking = _thinking_config(request)
    if thinking:
        generation["thinkingConfig"] = thinking
    settings["generationConfig"] = generation
    return settings


def _encode_declarations(request: Request, *, json_schema: bool) -> list[dict[str, Any]]:
    if json_schema:
        return [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema}
            for tool in request.tools
        ]
    from bobstay.providers.gemini_schema import convert_schema

    return [
        {"name": tool.name, "description": tool.description, "parameters": convert_schema(tool.schema)}
        for tool in request.tools
    ]


def model_generation(model: str) -> tuple[int, int]:
    """Return the version in a Gemini model's name; a name without one (`gemini-flash-latest`) is a newest model."""
    name = model.removeprefix("models/")
    if not name.startswith("gemini-"):
        return (0, 0)
    major, _, minor = name.removeprefix("gemini-").partition("-")[0].partition(".")
    if not major.isdecimal():
        return (99, 0)
    return int(major), int(minor) if minor.isdecimal() else 0


def _thinking_config(request: Request) -> dict[str, Any]:
    generation = model_generation(request.model)
    shown = {"includeThoughts": True} if request.thinking != "off" else {}
    if generation >= (3, 0):
        if request.thinking == "off":
            return {"thinkingLevel": "LOW"}  # the lowest that all of them accept: thinking cannot be turned off
        level = _thinking_level(request, generation)
        return {**shown, "thinkingLevel": level} if level else dict(shown)
    if generation != (2, 5):
        return {}
    lowest, highest = next(limits for part, limits in _BUDGETS if part in request.model)
    if request.thinking == "off":
        return {"thinkingBudget": 128 if "pro" in request.model else 0}
    if not isinstance(request.thinking, int):
        return {**shown, "thinkingBudget": -1}
    return {**shown, "thinkingBudget": max(lowest, min(request.thinking, highest))}


def _thinking_level(request: Request, generation: tuple[int, int]) -> str:
    effort = request.effort
    if effort is None:
        if not isinstance(request.thinking, int):
            return ""
        effort = effort_for_budget(request.thinking)
    if effort == "medium" and generation == (3, 0) and "pro" in request.model:
        return "HIGH"  # this model supports low and high only
    return {"low": "LOW", "medium": "MEDIUM"}.get(effort, "HIGH")


def encode_content(message: Message, names: dict[str, str], *, signs: bool) -> dict[str, Any] | None:
    """Encode a message. `names` has the tool of each call; `signs` is whether the model refuses unsigned calls."""
    parts: list[dict[str, Any]] = []
    images: list[dict[str, Any]] = []
    called = False
    for block in message.blocks:
        match block:
            case Text(text):
                if text:
                    parts.append({"text": text})
            case Image():
                parts.append(_encode_image(block))
            case Thinking():
                parts += _encode_thinking(block)
            case ToolCall():
                part = _encode_call(block)
                if signs and not called and "thoughtSignature" not in part:
                    part["thoughtSignature"] = _PLACEHOLDER_SIGNATURE
                called = True
                parts.append(part)
            case ToolReply():
                parts.append(_encode_reply(block, names))
                images += [_encode_image(part) for part in block.content if isinstance(part, Image)]
    if images:
        # Results must be adjacent, as the calls were; their images follow them.
        last = max(index for index, part in enumerate(parts) if "functionResponse" in part)
        parts[last + 1 : last + 1] = images
    if not parts:
        return None
    return {"role": "user" if message.role == "user" else "model", "parts": parts}


def _encode_thinking(thinking: Thinking) -> list[dict[str, Any]]:
    if thinking.origin != ORIGIN or not thinking.signature:
        return []
    part: dict[str, Any] = {"text": thinking.text, "thoughtSignature": thinking.signature}
    if thinking.text:
        part["thought"] = True
    return [part]


def _encode_call(call: ToolCall) -> dict[str, Any]:
    function: dict[str, Any] = {"name": _sanitise_name(call.name), "args": call.input}
    if not call.id.startswith(GENERATED_PREFIX):
        function["id"] = call.id
    part: dict[str, Any] = {"functionCall": function}
    # A value that starts like an object belongs to a broker of Gemini (see chat_reasoning.py), not to this API.
    if call.signature and not call.signature.startswith("{"):
        part["thoughtSignature"] = call.signature
    return part


def _encode_reply(reply: ToolReply, names: dict[str, str]) -> dict[str, Any]:
    response: dict[str, Any] = {
        "name": _sanitise_name(names.get(reply.call_id, "unknown")),
        "response": {"error" if reply.is_error else "output": reply.text},
    }
    if not reply.call_id.startswith(GENERATED_PREFIX):
        response["id"] = reply.call_id
    return {"functionResponse": response}


def _encode_image(image: Image) -> dict[str, Any]:
    if image.media_type not in _IMAGES:
        return {"text": f"[Image left out: Gemini does not support {image.media_type}.]"}
    return {"inlineData": {"mimeType": image.media_type, "data": image.data}}


def _sanitise_name(name: str) -> str:
    """Replace characters for which this API refuses the whole request, as in names that another model made up."""
    cleaned = "".join(c if c.isascii() and (c.isalnum() or c in "_.:-") else "_" for c in name)[:128]
    return cleaned if cleaned[:1].isalpha() or cleaned[:1] == "_" else f"_{cleaned}"[:128]
