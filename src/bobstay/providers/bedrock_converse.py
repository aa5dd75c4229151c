"""Adapter for the other models on Amazon Bedrock (Nova, Llama, Mistral and others), through its Converse API."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.http.client import HttpClient
from bobstay.http.connection import Reply
from bobstay.model.message import Block, Image, Message, Stop, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.providers.base import Chunk, ProviderError, Request
from bobstay.providers.bedrock_exchange import CONTENT_TYPE, NAME, BedrockEndpoint, BedrockEvents, check_bedrock_reply
from bobstay.providers.http_exchange import decode_event, provider_errors, truncated_error, user_agent
from bobstay.providers.message_builder import MessageBuilder
from bobstay.providers.message_encoding import MessageEncoder, to_json

_CACHE_POINT: dict[str, Any] = {"cachePoint": {"type": "default"}}
_STOPS: dict[str, Stop] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "stop_sequence": "stop_sequence",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
}


class Converse:
    name = NAME

    def __init__(self, http: HttpClient, endpoint: BedrockEndpoint) -> None:
        self._http = http
        self._endpoint = endpoint
        own = {name.lower(): value for name, value in endpoint.headers.items()}
        self._headers = {
            "content-type": "application/json",
            "accept": CONTENT_TYPE,
            "user-agent": user_agent(),
            **own,
        }
        self._messages = MessageEncoder(lambda message: to_json(_encode_message(message)))
        self._unforced: set[str] = set()
        """Models that refuse a forced tool."""

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        with provider_errors():
            reply = await self._ask(request)
            try:
                reader = ConverseReader(request.model, reply.headers.get("request-id", ""))
                async for kind, payload in BedrockEvents(reply):
                    chunks = reader.feed(kind, payload)
                    if reader.complete:
                        reply.release()
                    for chunk in chunks:
                        yield chunk
                    if reader.complete:
                        return
                raise truncated_error(self.name)
            finally:
                reply.close()

    async def close(self) -> None:
        await self._http.close()

    async def _ask(self, request: Request) -> Reply:
        while True:
            url = await self._endpoint.url(request.model, "converse-stream")
            body = self.body(request)
            headers = {**await self._endpoint.access.headers(url, body), **self._headers}
            reply = await self._http.post(url, headers, body, request.on_activity)
            try:
                await check_bedrock_reply(reply)
            except ProviderError as error:
                is_force = "toolchoice" in str(error).lower() and request.forced_tool
                if error.kind != "invalid_request" or not is_force or request.model in self._unforced:
                    raise
                self._unforced.add(request.model)
            else:
                return reply

    def body(self, request: Request) -> bytes:
        """Encode the request. Parts that change from step to step come last, for prompt caching."""
        caches = "amazon.nova" in request.model  # others refuse cache points, or cache without being asked
        settings: dict[str, Any] = {"inferenceConfig": {"maxTokens": request.max_tokens}}
        system: list[dict[str, Any]] = [{"text": section} for section in request.system if section.strip()]
        if system:
            settings["system"] = [*system, _CACHE_POINT] if caches else system
        if request.tools:
            settings["toolConfig"] = self._encode_tools(request)
        encoded = self._messages.encode_all(request.messages, request.cache)
        if caches and encoded:
            encoded[-1] = encoded[-1][:-2] + b"," + to_json(_CACHE_POINT) + b"]}"
        return b'%b,"messages":[%b]}' % (to_json(settings)[:-1], b",".join(encoded))

    def _encode_tools(self, request: Request) -> dict[str, Any]:
        tools = [
            {
                "toolSpec": {
                    "name": _sanitise(tool.name, "_-"),
                    "description": tool.description or tool.name,
                    "inputSchema": {"json": tool.schema},
                }
            }
            for tool in request.tools
        ]
        if not request.forced_tool or request.model in self._unforced:
            return {"tools": tools}
        return {"tools": tools, "toolChoice": {"tool": {"name": _sanitise(request.forced_tool, "_-")}}}


def _encode_message(message: Message) -> dict[str, Any]:
    content = [part for block in message.blocks for part in _encode_block(block)]
    return {"role": message.role, "content": content or [{"text": "(nothing said)"}]}


def _encode_block(block: Block) -> Iterator[dict[str, Any]]:
    match block:
        case Text(text):
            if text.strip():
                yield {"text": text}
        case Image():
            yield _encode_image(block)
        case Thinking():
            pass  # few of these models take their reasoning back, and none needs it
        case ToolCall(identity, name, value):
            call = {"toolUseId": _sanitise(identity, "_.:-"), "name": _sanitise(name, "_-"), "input": value}
            yield {"toolUse": call}
        case ToolReply():
            parts = [
                _encode_image(part) if isinstance(part, Image) else {"text": part.text}
                for part in block.content
                if not isinstance(part, Text) or part.text.strip()
            ]
            yield {
                "toolResult": {
                    "toolUseId": _sanitise(block.call_id, "_.:-"),
                    "content": parts or [{"text": "(no output)"}],
                    "status": "error" if block.is_error else "success",
                }
            }


def _encode_image(image: Image) -> dict[str, Any]:
    return {"image": {"format": image.media_type.partition("/")[2], "source": {"bytes": image.data}}}


def _sanitise(name: str, allowed: str) -> str:
    """Replace characters that this API refuses in names and ids of other vendors, or made up by the model."""
    return "".join(c if c.isascii() and (c.isalnum() or c in allowed) else "_" for c in name)[:64] or "_"


class _ToolUse(Struct, rename="camel"):
    tool_use_id: str = ""
    name: str = ""
    input: str = ""


class _Reasoning(Struct):
    text: str = ""
    signature: str = ""


class _Content(Struct, rename="camel"):
    text: str = ""
    tool_use: _ToolUse | None = None
    reasoning_content: _Reasoning | None = None


class _Counts(Struct, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_write_input_tokens: int = 0


class _ConverseEvent(Struct, rename="camel"):
    start: _Content | None = None
    delta: _Content | None = None
    stop_reason: str = ""
    usage: _Counts | None = None


_decoder = msgspec.json.Decoder(_ConverseEvent)


class ConverseReader:
    """Call `feed` with each event. `complete` is set with the last one, which has the usage."""

    def __init__(self, model: str, request_id: str) -> None:
        self.complete = False
        self._answer = MessageBuilder(model, f"{NAME}-converse")
        self._request_id = request_id
        self._stop: Stop | None = None

    def feed(self, kind: str, payload: bytes) -> list[Chunk]:
        if kind == "messageStart":
            return [self._answer.begin("")]
        if not self._answer.message_id:
            return []
        event = decode_event(payload, _decoder)
        match kind:
            case "contentBlockStart":
                tool = event.start.tool_use if event.start is not None else None
                return self._answer.open("tool_call", tool.tool_use_id, tool.name) if tool is not None else []
            case "contentBlockDelta":
                return self._add(event.delta or _Content())
            case "contentBlockStop":
                return self._answer.close()
            case "messageStop":
                self._stop = self._read_stop(event.stop_reason)
                return []
            case "metadata" if self._stop is not None:
                return self._end(event.usage or _Counts(), self._stop)
            case _:
                return []

    def _add(self, delta: _Content) -> list[Chunk]:
        if delta.tool_use is not None:
            return self._answer.add("tool_call", delta.tool_use.input) if self._answer.kind == "tool_call" else []
        if delta.reasoning_content is not None:
            return self._answer.add("thinking", delta.reasoning_content.text)
        return self._answer.add("text", delta.text)

    def _read_stop(self, reason: str) -> Stop:
        if reason.startswith("malformed"):
            raise ProviderError(f"The model's answer cannot be read ({reason}).", kind="protocol")
        return _STOPS.get(reason, "end_turn")

    def _end(self, counts: _Counts, stop: Stop) -> list[Chunk]:
        self.complete = True
        self._answer.usage = Usage(
            input=counts.input_tokens,
            output=counts.output_tokens,
            cache_read=counts.cache_read_input_tokens,
            cache_write=counts.cache_write_input_tokens,
        )
        return self._answer.end(stop, self._request_id)
