"""Talks to Anthropic's Messages API and to whatever else speaks it."""

from collections.abc import AsyncIterator
from typing import Any

from bobstay.model.message import Block, Image, Message, Text, Thinking, ToolCall, ToolReply
from bobstay.providers.anthropic_accepted import ORIGIN, AcceptedFeatures, settings_of
from bobstay.providers.anthropic_schema import legal_schema
from bobstay.providers.anthropic_stream import AnthropicMessageReader
from bobstay.providers.base import Chunk, ProviderError, Request, ToolSpec
from bobstay.providers.http_client import HttpClient, Reply
from bobstay.providers.http_exchange import accept, broken_off
from bobstay.providers.message_encoding import EncodedMessages, EncodedOnce, to_json
from bobstay.version import __version__

API_VERSION = "2023-06-01"
NAME = "anthropic"
SEARCH_TOOL = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
INTERLEAVED = "interleaved-thinking-2025-05-14"
ADAPTATIONS = 4
"""How often a refused request is sent again in another way."""

_CACHED = b',"cache_control":{"type":"ephemeral"}'


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
        """`origin` is what its thinking is known by: a server with a name of its own gets nobody else's."""
        self._http = http
        self._url = base_url.rstrip("/") + "/v1/messages"
        self._headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "anthropic-version": API_VERSION,
            "user-agent": f"bobstay/{__version__}",
        }
        own = {name.lower(): value for name, value in (headers or {}).items()}
        # One credential only: the API refuses a request with both. One among the headers of the user's own goes
        # before, then the token, as in Claude Code.
        if not own.keys() & {"authorization", "x-api-key"}:
            if auth_token:
                self._headers["authorization"] = f"Bearer {auth_token}"
            elif api_key:
                self._headers["x-api-key"] = api_key
        self._headers.update(own)
        self._accepted = AcceptedFeatures(unsigned=not _is_vendors(base_url), origin=origin)
        self._messages = self._encoder()
        self._tools = EncodedOnce(_tools)
        self._system = EncodedOnce(_system)

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        reply = await self._ask(request)
        try:
            answer = AnthropicMessageReader(request.model, reply.headers, self._accepted.origin)
            async for _, data in reply.events():
                chunks = answer.take(data)
                if answer.complete:
                    # Before the last event is out: whoever has it may not come back for more.
                    reply.release()
                for chunk in chunks:
                    yield chunk
                if answer.complete:
                    return
            raise broken_off(self.name)
        finally:
            reply.close()

    async def close(self) -> None:
        await self._http.close()

    def body(self, request: Request) -> bytes:
        """The request as it is sent. What changes from step to step stands behind what does not."""
        parts = [b'{"model":', to_json(request.model)]
        tools = self._tools.of((request.tools, request.hosted_search, self._accepted.eager))
        if tools:
            parts += (b',"tools":', tools)
        system = self._system.of(request.system)
        if system:
            parts += (b',"system":', system)
        for name, value in settings_of(request, self._accepted).items():
            parts += (b',"', name.encode(), b'":', to_json(value))
        parts.append(b',"stream":true,"messages":[')
        encoded = self._messages.all(request.messages, request.cache)
        parts.append(b",".join(_with_breakpoints(request.messages, encoded)))
        parts.append(b"]}")
        return b"".join(parts)

    async def _ask(self, request: Request) -> Reply:
        headers = self._headers_for(request)
        left = ADAPTATIONS
        while True:
            reply = await self._http.post(self._url, headers, self.body(request), request.on_activity)
            try:
                await accept(reply, self.name)
            except ProviderError as error:
                other = self._accepted.adapted(request, error)
                if other is None or not left:
                    raise
                left -= 1
                request = other
                self._messages = self._encoder()
            else:
                return reply

    def _encoder(self) -> EncodedMessages:
        return EncodedMessages(lambda message: _message(message, self._accepted))

    def _headers_for(self, request: Request) -> dict[str, str]:
        betas = request.betas
        if isinstance(request.thinking, int) and not self._accepted.unsigned and INTERLEAVED not in betas:
            # With a budget, thinking between calls must be asked for; the API ignores it where it cannot be had.
            betas = (*betas, INTERLEAVED)
        if not betas:
            return self._headers
        own = self._headers.get("anthropic-beta")
        return {**self._headers, "anthropic-beta": ",".join((*((own,) if own else ()), *betas))}


def _is_vendors(base_url: str) -> bool:
    """Whether the address is Anthropic's own. Others that speak its API sign no thinking, and some want it back."""
    host = base_url.partition("://")[2].partition("/")[0].partition(":")[0].lower()
    return host == "anthropic.com" or host.endswith(".anthropic.com")


def _tools(value: tuple[tuple[ToolSpec, ...], bool, bool]) -> bytes:
    tools, hosted_search, eager = value
    # Without it the server keeps a parameter back until it is whole: minutes of silence for a long file.
    streamed = {"eager_input_streaming": True} if eager else {}
    entries: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": legal_schema(tool.schema), **streamed}
        for tool in tools
    ]
    if hosted_search:
        entries.append(SEARCH_TOOL)
    if not entries:
        return b""
    entries[-1] = {**entries[-1], "cache_control": {"type": "ephemeral"}}
    return to_json(entries)


def _system(sections: tuple[str, ...]) -> bytes:
    entries: list[dict[str, Any]] = [{"type": "text", "text": section} for section in sections if section.strip()]
    if not entries:
        return b""
    entries[-1]["cache_control"] = {"type": "ephemeral"}
    return to_json(entries)


def _with_breakpoints(messages: tuple[Message, ...], encoded: list[bytes]) -> list[bytes]:
    """Mark the last two of the user: the one is what this step writes, the other what the last step wrote.

    With the last tool and the last system section that makes four, which is all the API allows.
    """
    marked = 0
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].role == "user":
            # Every message ends with the brace of its last block: the mark goes before it, nothing is encoded anew.
            encoded[position] = encoded[position][:-3] + _CACHED + b"}]}"
            marked += 1
            if marked == 2:
                break
    return encoded


def _message(message: Message, accepted: AcceptedFeatures) -> bytes:
    thinking = accepted.thinking_of(message)
    content = [encoded for block in message.blocks if (encoded := _block(block, thinking)) is not None]
    if not content:
        # An answer of nothing but another vendor's thinking: the place must be kept, for roles alternate.
        content = [{"type": "text", "text": "(nothing said)"}]
    return to_json({"role": message.role, "content": content})


def _block(block: Block, thinking: tuple[Thinking, ...]) -> dict[str, Any] | None:
    match block:
        case Text(text):
            return {"type": "text", "text": text} if text.strip() else None
        case Image():
            return _image(block)
        case Thinking():
            return _thinking(block) if block in thinking else None
        case ToolCall(identity, name, value):
            return {"type": "tool_use", "id": _legal(identity), "name": _legal(name), "input": value}
        case ToolReply():
            return _tool_result(block)


def _image(image: Image) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


def _thinking(thinking: Thinking) -> dict[str, Any]:
    if thinking.redacted:
        return {"type": "redacted_thinking", "data": thinking.signature}
    return {"type": "thinking", "thinking": thinking.text, "signature": thinking.signature}


def _tool_result(reply: ToolReply) -> dict[str, Any]:
    content = [
        {"type": "text", "text": part.text} if isinstance(part, Text) else _image(part)
        for part in reply.content
        if not isinstance(part, Text) or part.text.strip()
    ]
    if not content:
        content = [{"type": "text", "text": "(no output)"}]
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": _legal(reply.call_id), "content": content}
    if reply.is_error:
        result["is_error"] = True
    return result


def _legal(identity: str) -> str:
    """Ids and names made by another vendor, or made up by the model, may have characters this one refuses."""
    if identity.isascii() and identity.replace("_", "").replace("-", "").isalnum():
        return identity
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in identity) or "_"
