"""Adapter for Anthropic's Messages API and servers compatible with it."""

from collections.abc import AsyncIterator
from typing import Any

from bobstay.http.client import HttpClient
from bobstay.http.connection import Reply
from bobstay.http.sse_splitter import SseEvents
from bobstay.model.message import Block, Image, Message, Text, Thinking, ToolCall, ToolReply
from bobstay.providers.anthropic_accepted import ORIGIN, AcceptedFeatures, build_settings
from bobstay.providers.anthropic_schema import adapt_schema
from bobstay.providers.anthropic_stream import AnthropicMessageReader
from bobstay.providers.base import Chunk, ProviderError, Request, ToolSpec
from bobstay.providers.http_exchange import check_reply, provider_errors, truncated_error
from bobstay.providers.message_encoding import CachedEncoder, MessageEncoder, to_json
from bobstay.version import __version__

API_VERSION = "2023-06-01"
NAME = "anthropic"
SEARCH_TOOL = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
INTERLEAVED_BETA = "interleaved-thinking-2025-05-14"
MAX_ADAPTATIONS = 4
"""How often a refused request is adapted and sent again."""

_CACHE_CONTROL = b',"cache_control":{"type":"ephemeral"}'


class Anthropic:
    name = NAME

    def __init__(
        self,
        http: HttpClient,
        *,
        base_url: str,
        api_key: str = "",
        auth_token: str = "",
        headers: dict[str, str] | None = None,
        origin: str = ORIGIN,
    ) -> None:
        """`origin` identifies the server's thinking: a named server is sent only its own."""
        self._http = http
        self._url = base_url.rstrip("/") + "/v1/messages"
        self._headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "anthropic-version": API_VERSION,
            "user-agent": f"bobstay/{__version__}",
        }
        own = {name.lower(): value for name, value in (headers or {}).items()}
        # One credential only, as the API refuses both. One in the user's own headers takes precedence, then the token,
        # as in Claude Code.
        if not own.keys() & {"authorization", "x-api-key"}:
            if auth_token:
                self._headers["authorization"] = f"Bearer {auth_token}"
            elif api_key:
                self._headers["x-api-key"] = api_key
        self._headers.update(own)
        self._accepted = AcceptedFeatures(unsigned=not _is_vendor_host(base_url), origin=origin)
        self._encoders: dict[frozenset[str], MessageEncoder] = {}
        """By the deferred tools of a request, to which its results may refer."""
        self._tools = CachedEncoder(_encode_tools)
        self._system = CachedEncoder(_encode_system)

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        with provider_errors():
            reply = await self._ask(request)
            try:
                reader = AnthropicMessageReader(request.model, reply.headers, self._accepted.origin)
                async for _, data in self._events(reply):
                    chunks = reader.feed(data)
                    if reader.complete:
                        # Before the last event is yielded, since the consumer may not come back after it.
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

    def body(self, request: Request) -> bytes:
        """Encode the request. Parts that change from step to step come last, for prompt caching."""
        parts = [self._opening(request)]
        deferred = self._accepted.deferred_tools(request)
        tools = self._tools.encode((request.tools, request.hosted_search, self._accepted.eager, deferred))
        if tools:
            parts += (b',"tools":', tools)
        system = self._system.encode(request.system)
        if system:
            parts += (b',"system":', system)
        for name, value in self._settings(request).items():
            parts += (b',"', name.encode(), b'":', to_json(value))
        parts.append(b',"messages":[')
        encoded = self._encoder(deferred).encode_all(request.messages, request.cache)
        parts.append(b",".join(_add_cache_breakpoints(request.messages, encoded)))
        parts.append(b"]}")
        return b"".join(parts)

    async def _ask(self, request: Request) -> Reply:
        left = MAX_ADAPTATIONS
        while True:
            reply = await self._post(request)
            try:
                await self._check(reply)
            except ProviderError as error:
                adapted = self._adapt(request, error)
                if adapted is None or not left:
                    raise
                left -= 1
                request = adapted
                self._encoders.clear()
            else:
                return reply

    # Where Claude is offered by others, the following differ:

    def _opening(self, request: Request) -> bytes:
        """Return how the body begins."""
        return b'{"model":' + to_json(request.model)

    def _settings(self, request: Request) -> dict[str, Any]:
        return {**build_settings(request, self._accepted), "stream": True}

    async def _post(self, request: Request) -> Reply:
        return await self._http.post(self._url, self._headers_for(request), self.body(request), request.on_activity)

    async def _check(self, reply: Reply) -> None:
        await check_reply(reply, self.name)

    def _events(self, reply: Reply) -> AsyncIterator[tuple[str, bytes]]:
        return SseEvents(reply)

    def _adapt(self, request: Request, error: ProviderError) -> Request | None:
        """Return the request to send instead of one that was refused; None if no change can help."""
        return self._accepted.adapt(request, error)

    def _betas(self, request: Request) -> tuple[str, ...]:
        betas = request.betas
        if isinstance(request.thinking, int) and not self._accepted.unsigned and INTERLEAVED_BETA not in betas:
            # With a budget, thinking between calls must be requested; the API ignores it if unsupported.
            betas = (*betas, INTERLEAVED_BETA)
        return betas

    def _encoder(self, deferred: frozenset[str]) -> MessageEncoder:
        if deferred not in self._encoders:
            encoder = MessageEncoder(lambda message: _encode_message(message, self._accepted, deferred))
            self._encoders[deferred] = encoder
        return self._encoders[deferred]

    def _headers_for(self, request: Request) -> dict[str, str]:
        betas = self._betas(request)
        if not betas:
            return self._headers
        own = self._headers.get("anthropic-beta")
        return {**self._headers, "anthropic-beta": ",".join((*((own,) if own else ()), *betas))}


def _is_vendor_host(base_url: str) -> bool:
    """Whether the address is Anthropic's own. Compatible servers do not sign thinking, and some require it back."""
    host = base_url.partition("://")[2].partition("/")[0].partition(":")[0].lower()
    return host == "anthropic.com" or host.endswith(".anthropic.com")


def _encode_tools(value: tuple[tuple[ToolSpec, ...], bool, bool, frozenset[str]]) -> bytes:
    tools, hosted_search, eager, deferred = value
    # Without it the server buffers a parameter until it is complete: minutes of silence for a long file.
    streamed = {"eager_input_streaming": True} if eager else {}
    entries: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": adapt_schema(tool.schema), **streamed}
        for tool in sorted(tools, key=lambda tool: tool.name in deferred)
    ]
    later = [{**entry, "defer_loading": True} for entry in entries if entry["name"] in deferred]
    del entries[len(entries) - len(later) :]
    if hosted_search:
        entries.append(SEARCH_TOOL)
    if not entries:
        return b""
    # A deferred tool is no part of the cached prefix, and may not be marked.
    entries[-1] = {**entries[-1], "cache_control": {"type": "ephemeral"}}
    return to_json(entries + later)


def _encode_system(sections: tuple[str, ...]) -> bytes:
    entries: list[dict[str, Any]] = [{"type": "text", "text": section} for section in sections if section.strip()]
    if not entries:
        return b""
    entries[-1]["cache_control"] = {"type": "ephemeral"}
    return to_json(entries)


def _add_cache_breakpoints(messages: tuple[Message, ...], encoded: list[bytes]) -> list[bytes]:
    """Mark the last two user messages: one for this step to write, the other written by the previous step.

    With the last tool and the last system section that makes four breakpoints, the most that the API allows.
    """
    marked = 0
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].role == "user":
            # Every message ends with the brace of its last block: the mark is inserted before it, without re-encoding.
            encoded[position] = encoded[position][:-3] + _CACHE_CONTROL + b"}]}"
            marked += 1
            if marked == 2:
                break
    return encoded


def _encode_message(message: Message, accepted: AcceptedFeatures, deferred: frozenset[str]) -> bytes:
    thinking = accepted.returned_thinking(message)
    encoded = (_encode_block(block, thinking, deferred) for block in message.blocks)
    content = [block for block in encoded if block is not None]
    if not content:
        # The message had only another vendor's thinking, and cannot be dropped because roles must alternate.
        content = [{"type": "text", "text": "(nothing said)"}]
    return to_json({"role": message.role, "content": content})


def _encode_block(block: Block, thinking: tuple[Thinking, ...], deferred: frozenset[str]) -> dict[str, Any] | None:
    match block:
        case Text(text):
            return {"type": "text", "text": text} if text.strip() else None
        case Image():
            return _encode_image(block)
        case Thinking():
            return _encode_thinking(block) if block in thinking else None
        case ToolCall(identity, name, value):
            return {"type": "tool_use", "id": _sanitise_id(identity), "name": _sanitise_id(name), "input": value}
        case ToolReply():
            return _encode_tool_result(block, deferred)


def _encode_image(image: Image) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


def _encode_thinking(thinking: Thinking) -> dict[str, Any]:
    if thinking.redacted:
        return {"type": "redacted_thinking", "data": thinking.signature}
    return {"type": "thinking", "thinking": thinking.text, "signature": thinking.signature}


def _encode_tool_result(reply: ToolReply, deferred: frozenset[str]) -> dict[str, Any]:
    # A reference must lead to a tool of this request, and may not stand beside other content.
    content: list[dict[str, Any]] = [
        {"type": "tool_reference", "tool_name": name} for name in reply.loads if name in deferred
    ] or [
        {"type": "text", "text": part.text} if isinstance(part, Text) else _encode_image(part)
        for part in reply.content
        if not isinstance(part, Text) or part.text.strip()
    ]
    if not content:
        content = [{"type": "text", "text": "(no output)"}]
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": _sanitise_id(reply.call_id), "content": content}
    if reply.is_error:
        result["is_error"] = True
    return result


def _sanitise_id(identity: str) -> str:
    """Replace characters that this API refuses in ids and names of other vendors, or made up by the model."""
    if identity.isascii() and identity.replace("_", "").replace("-", "").isalnum():
        return identity
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in identity) or "_"
