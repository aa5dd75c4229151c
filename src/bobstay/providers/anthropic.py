"""Talks to Anthropic's Messages API and to whatever else speaks it."""

from collections.abc import AsyncIterator
from typing import Any

from bobstay.model.message import Block, Image, Message, Text, Thinking, ToolCall, ToolReply
from bobstay.providers.anthropic_stream import Answer
from bobstay.providers.base import Chunk, ProviderError, Request, ToolSpec
from bobstay.providers.encoding import EncodedMessages, EncodedOnce, to_json
from bobstay.providers.exchange import accept, broken_off
from bobstay.providers.http import HttpClient, Reply
from bobstay.version import __version__

API_VERSION = "2023-06-01"
NAME = "anthropic"
SEARCH_TOOL = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
SMALLEST_BUDGET = 1024
"""Tokens of thinking; the API refuses less."""

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
    ) -> None:
        self._http = http
        self._url = base_url.rstrip("/") + "/v1/messages"
        self._headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            "anthropic-version": API_VERSION,
            "user-agent": f"bobstay/{__version__}",
        }
        if api_key:
            self._headers["x-api-key"] = api_key
        if auth_token:
            self._headers["authorization"] = f"Bearer {auth_token}"
        self._headers.update({name.lower(): value for name, value in (headers or {}).items()})
        self._refused: frozenset[str] = frozenset()
        """Signatures of thinking the server does not want back."""
        self._messages = self._encoder()
        self._tools = EncodedOnce(_tools)
        self._system = EncodedOnce(_system)

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        reply = await self._ask(request)
        try:
            answer = Answer(request.model, reply.headers)
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
        tools = self._tools.of((request.tools, request.hosted_search))
        if tools:
            parts += (b',"tools":', tools)
        system = self._system.of(request.system)
        if system:
            parts += (b',"system":', system)
        for name, value in _settings(request).items():
            parts += (b',"', name.encode(), b'":', to_json(value))
        parts.append(b',"stream":true,"messages":[')
        parts.append(b",".join(_with_breakpoints(request.messages, self._messages.all(request.messages))))
        parts.append(b"]}")
        return b"".join(parts)

    async def _ask(self, request: Request) -> Reply:
        headers = self._headers_for(request)
        reply = await self._http.post(self._url, headers, self.body(request), request.on_activity)
        try:
            await accept(reply, self.name)
        except ProviderError as error:
            if not self._drop_thinking(request, error):
                raise
            reply = await self._http.post(self._url, headers, self.body(request), request.on_activity)
            await accept(reply, self.name)
        return reply

    def _drop_thinking(self, request: Request, error: ProviderError) -> bool:
        """Leave out from now on all thinking in `request`, if it is what was refused; tell whether that is new.

        Thinking is bound to its model and to all that stood before it. After a compaction or a change of model
        the server refuses it, and would refuse every later request too.
        """
        text = str(error)
        if error.kind != "invalid_request" or "thinking" not in text:
            return False
        if "signature" not in text and "cannot be modified" not in text:
            return False
        signatures = {
            block.signature
            for message in request.messages
            for block in message.blocks
            if isinstance(block, Thinking) and _thinking(block, self._refused)
        }
        self._refused |= signatures
        self._messages = self._encoder()
        return bool(signatures)

    def _encoder(self) -> EncodedMessages:
        refused = self._refused
        return EncodedMessages(lambda message: _message(message, refused))

    def _headers_for(self, request: Request) -> dict[str, str]:
        if not request.betas:
            return self._headers
        own = self._headers.get("anthropic-beta")
        return {**self._headers, "anthropic-beta": ",".join((*((own,) if own else ()), *request.betas))}


def _settings(request: Request) -> dict[str, Any]:
    settings: dict[str, Any] = {"max_tokens": request.max_tokens}
    if request.thinking == "adaptive":
        settings["thinking"] = {"type": "adaptive"}
        if request.thinking_display:
            settings["thinking"]["display"] = request.thinking_display
    elif isinstance(request.thinking, int):
        # Thinking counts as output, and some room must be left for the answer.
        budget = min(request.thinking, request.max_tokens - 1)
        if budget >= SMALLEST_BUDGET:
            settings["thinking"] = {"type": "enabled", "budget_tokens": budget}
    if request.forced_tool and "thinking" not in settings:
        # The API refuses to force a call while the model thinks.
        settings["tool_choice"] = {"type": "tool", "name": request.forced_tool}
    if request.effort:
        settings["output_config"] = {"effort": request.effort}
    if request.session_id:
        settings["metadata"] = {"user_id": request.session_id}
    return settings


def _tools(value: tuple[tuple[ToolSpec, ...], bool]) -> bytes:
    tools, hosted_search = value
    entries: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema} for tool in tools
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


def _message(message: Message, refused: frozenset[str]) -> bytes:
    content = [encoded for block in message.blocks if (encoded := _block(block, refused)) is not None]
    if not content:
        # An answer of nothing but another vendor's thinking: the place must be kept, for roles alternate.
        content = [{"type": "text", "text": "(nothing said)"}]
    return to_json({"role": message.role, "content": content})


def _block(block: Block, refused: frozenset[str]) -> dict[str, Any] | None:
    match block:
        case Text(text):
            return {"type": "text", "text": text} if text.strip() else None
        case Image():
            return _image(block)
        case Thinking():
            return _thinking(block, refused)
        case ToolCall(identity, name, value):
            return {"type": "tool_use", "id": _legal(identity), "name": _legal(name), "input": value}
        case ToolReply():
            return _tool_result(block)


def _image(image: Image) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}


def _thinking(thinking: Thinking, refused: frozenset[str]) -> dict[str, Any] | None:
    if thinking.origin != NAME or not thinking.signature or thinking.signature in refused:
        return None
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
