"""Speaks the Gemini API: contents and parts out, pieces of an answer in."""

from collections.abc import AsyncIterator
from typing import Any

from bobstay.model.message import Image, Message, Text, Thinking, ToolCall, ToolReply
from bobstay.providers.base import Chunk, Request
from bobstay.providers.gemini_stream import ORIGIN, GeminiStreamReader
from bobstay.providers.http_client import HttpClient, Reply
from bobstay.providers.http_exchange import accept, agent, broken_off
from bobstay.providers.message_builder import MADE
from bobstay.providers.message_encoding import EncodedMessages, to_json
from bobstay.providers.thinking import effort_of

_ERROR_LIMIT = 256 * 1024
_UNSIGNED = "skip_thought_signature_validator"
"""What Google says to send in place of the proof for a call that its model did not make."""

_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
_BUDGETS = (("pro", (128, 32_768)), ("flash-lite", (512, 24_576)), ("", (1, 24_576)))
"""Tokens of thinking Gemini 2.5 takes, by a part of the model's name."""


class Gemini:
    name = ORIGIN

    def __init__(self, http: HttpClient, *, base_url: str, api_key: str, headers: dict[str, str] | None = None) -> None:
        self._http = http
        base = base_url.rstrip("/")
        self._base = base if base.endswith(("/v1beta", "/v1", "/v1alpha")) else base + "/v1beta"
        self._headers = {"content-type": "application/json", "user-agent": agent()}
        if api_key:
            self._headers["x-goog-api-key"] = api_key
        self._headers |= {name.lower(): value for name, value in (headers or {}).items()}
        self._names: dict[str, str] = {}
        """Which tool each call was of: a result must say so again."""
        self._contents = EncodedMessages(lambda message: self._content(message, signs=False))
        self._signed_contents = EncodedMessages(lambda message: self._content(message, signs=True))
        self._json_schema = True
        """Until a server says it knows only the older way to describe tools."""

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        reply = await self._ask(request)
        try:
            await accept(reply, self.name)
            reader = GeminiStreamReader(request, reply.headers)
            async for _, data in reply.events():
                for chunk in reader.feed(data):
                    yield chunk
            # No event says "this was the last": numbers may follow the reason why the model stopped.
            if not reader.finished:
                raise broken_off(self.name)
            for chunk in reader.end():
                yield chunk
        finally:
            reply.close()

    async def close(self) -> None:
        await self._http.close()

    async def _ask(self, request: Request) -> Reply:
        model = request.model.removeprefix("models/")
        url = f"{self._base}/models/{model}:streamGenerateContent?alt=sse"
        reply = await self._http.post(url, self._headers, self.body(request), request.on_activity)
        if reply.status != 400 or not self._json_schema or not request.tools:
            return reply
        refusal = await reply.read(_ERROR_LIMIT)
        if b"parametersJsonSchema" in refusal or b"parameters_json_schema" in refusal:
            self._json_schema = False
            return await self._http.post(url, self._headers, self.body(request), request.on_activity)
        from bobstay.providers.error_kinds import classify

        raise classify(reply.status, refusal, reply.headers, self.name)

    def body(self, request: Request) -> bytes:
        """The request as it is sent. What changes from step to step stands behind what does not."""
        settings = to_json(settings_of(request, json_schema=self._json_schema))
        signs = generation_of(request.model) >= (3, 0)
        contents = (self._signed_contents if signs else self._contents).all(request.messages, request.cache)
        return b'%b,"contents":[%b]}' % (settings[:-1], b",".join(filter(None, contents)))

    def _content(self, message: Message, *, signs: bool) -> bytes:
        for block in message.blocks:
            if isinstance(block, ToolCall):
                self._names[block.id] = block.name
        content = content_of(message, self._names, signs=signs)
        return to_json(content) if content is not None else b""


def settings_of(request: Request, *, json_schema: bool = True) -> dict[str, Any]:
    """All of the request's body but its `contents`."""
    settings: dict[str, Any] = {}
    parts = [{"text": section} for section in request.system if section]
    if parts:
        settings["systemInstruction"] = {"parts": parts}
    if request.tools:
        settings["tools"] = [{"functionDeclarations": _declarations(request, json_schema=json_schema)}]
        if request.forced_tool:
            forced = {"mode": "ANY", "allowedFunctionNames": [request.forced_tool]}
            settings["toolConfig"] = {"functionCallingConfig": forced}
    elif request.hosted_search:
        # Search of the vendor's own and functions of ours exclude each other.
        settings["tools"] = [{"googleSearch": {}}]
    generation: dict[str, Any] = {"maxOutputTokens": request.max_tokens}
    thinking = _thinking_config(request)
    if thinking:
        generation["thinkingConfig"] = thinking
    settings["generationConfig"] = generation
    return settings


def _declarations(request: Request, *, json_schema: bool) -> list[dict[str, Any]]:
    if json_schema:
        return [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.schema}
            for tool in request.tools
        ]
    from bobstay.providers.gemini_schema import older_schema

    return [
        {"name": tool.name, "description": tool.description, "parameters": older_schema(tool.schema)}
        for tool in request.tools
    ]


def generation_of(model: str) -> tuple[int, int]:
    """The numbers in a Gemini's name; a name without any (`gemini-flash-latest`) means one of the newest."""
    name = model.removeprefix("models/")
    if not name.startswith("gemini-"):
        return (0, 0)
    major, _, minor = name.removeprefix("gemini-").partition("-")[0].partition(".")
    if not major.isdecimal():
        return (99, 0)
    return int(major), int(minor) if minor.isdecimal() else 0


def _thinking_config(request: Request) -> dict[str, Any]:
    generation = generation_of(request.model)
    shown = {"includeThoughts": True} if request.thinking != "off" else {}
    if generation >= (3, 0):
        if request.thinking == "off":
            return {"thinkingLevel": "LOW"}  # the least that all of them take: they cannot stop thinking
        level = _level(request, generation)
        return {**shown, "thinkingLevel": level} if level else dict(shown)
    if generation != (2, 5):
        return {}
    lowest, highest = next(limits for part, limits in _BUDGETS if part in request.model)
    if request.thinking == "off":
        return {"thinkingBudget": 128 if "pro" in request.model else 0}
    if not isinstance(request.thinking, int):
        return {**shown, "thinkingBudget": -1}
    return {**shown, "thinkingBudget": max(lowest, min(request.thinking, highest))}


def _level(request: Request, generation: tuple[int, int]) -> str:
    effort = request.effort
    if effort is None:
        if not isinstance(request.thinking, int):
            return ""
        effort = effort_of(request.thinking)
    if effort == "medium" and generation == (3, 0) and "pro" in request.model:
        return "HIGH"  # the one that knows low and high only
    return {"low": "LOW", "medium": "MEDIUM"}.get(effort, "HIGH")


def content_of(message: Message, names: dict[str, str], *, signs: bool) -> dict[str, Any] | None:
    """A message in this format. `names` tells the tool of each call; `signs` is whether unsigned calls are refused."""
    parts: list[dict[str, Any]] = []
    pictures: list[dict[str, Any]] = []
    called = False
    for block in message.blocks:
        match block:
            case Text(text):
                if text:
                    parts.append({"text": text})
            case Image():
                parts.append(_image(block))
            case Thinking():
                parts += _thought(block)
            case ToolCall():
                part = _call(block)
                if signs and not called and "thoughtSignature" not in part:
                    part["thoughtSignature"] = _UNSIGNED
                called = True
                parts.append(part)
            case ToolReply():
                parts.append(_response(block, names))
                pictures += [_image(part) for part in block.content if isinstance(part, Image)]
    if pictures:
        # Results stand together, as the calls did; what they show follows them.
        last = max(place for place, part in enumerate(parts) if "functionResponse" in part)
        parts[last + 1 : last + 1] = pictures
    if not parts:
        return None
    return {"role": "user" if message.role == "user" else "model", "parts": parts}


def _thought(thinking: Thinking) -> list[dict[str, Any]]:
    if thinking.origin != ORIGIN or not thinking.signature:
        return []
    part: dict[str, Any] = {"text": thinking.text, "thoughtSignature": thinking.signature}
    if thinking.text:
        part["thought"] = True
    return [part]


def _call(call: ToolCall) -> dict[str, Any]:
    function: dict[str, Any] = {"name": _legal(call.name), "args": call.input}
    if not call.id.startswith(MADE):
        function["id"] = call.id
    part: dict[str, Any] = {"functionCall": function}
    # What begins like an object was kept for a broker of Gemini (see chat_reasoning.py) and is no signature.
    if call.signature and not call.signature.startswith("{"):
        part["thoughtSignature"] = call.signature
    return part


def _response(reply: ToolReply, names: dict[str, str]) -> dict[str, Any]:
    response: dict[str, Any] = {
        "name": _legal(names.get(reply.call_id, "unknown")),
        "response": {"error" if reply.is_error else "output": reply.text},
    }
    if not reply.call_id.startswith(MADE):
        response["id"] = reply.call_id
    return {"functionResponse": response}


def _image(image: Image) -> dict[str, Any]:
    if image.media_type not in _IMAGES:
        return {"text": f"[Image left out: Gemini does not take {image.media_type}.]"}
    return {"inlineData": {"mimeType": image.media_type, "data": image.data}}


def _legal(name: str) -> str:
    """A tool's name made up by another model may have characters this API refuses a whole request for."""
    cleaned = "".join(c if c.isascii() and (c.isalnum() or c in "_.:-") else "_" for c in name)[:128]
    return cleaned if cleaned[:1].isalpha() or cleaned[:1] == "_" else f"_{cleaned}"[:128]
