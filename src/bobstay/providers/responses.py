"""Adapter for OpenAI's Responses API."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec.structs import replace

from bobstay.http.client import HttpClient
from bobstay.http.connection import Reply
from bobstay.http.sse_splitter import SseEvents
from bobstay.model.event import Noted
from bobstay.model.message import Image, Message, ReplyPart, Text, Thinking, ToolCall, ToolReply
from bobstay.providers.base import Chunk, Request
from bobstay.providers.effort_levels import EffortLimits, is_refused_level
from bobstay.providers.http_exchange import check_reply, provider_errors, truncated_error, user_agent
from bobstay.providers.message_encoding import MessageEncoder, to_json
from bobstay.providers.responses_stream import ORIGIN, ResponsesStreamReader

_ERROR_LIMIT = 256 * 1024
_NO_REASONING_PREFIXES = ("gpt-3", "gpt-4", "chatgpt")
"""Name prefixes of models that refuse reasoning settings."""
_OPAQUE = ("reasoning", "web_search_call")
"""Items that are sent back unchanged: a reasoning item is refused without the item that followed it."""
_NO_SUMMARY = "OpenAI does not give your organization summaries of this model's reasoning: they are not shown."


class Responses:
    name = ORIGIN

    def __init__(
        self,
        http: HttpClient,
        *,
        base_url: str,
        api_key: str,
        headers: dict[str, str] | None = None,
        origin: str = ORIGIN,
    ) -> None:
        """`origin` identifies the server's reasoning: a named server is sent only its own."""
        self._http = http
        self._origin = origin
        self._url = base_url.rstrip("/") + "/responses"
        self._headers = {"content-type": "application/json", "accept": "text/event-stream", "user-agent": user_agent()}
        if api_key:
            self._headers["authorization"] = f"Bearer {api_key}"
        self._headers |= {name.lower(): value for name, value in (headers or {}).items()}
        self._items = MessageEncoder(lambda message: b",".join(map(to_json, encode_items(message, origin=origin))))
        self._plain_items = MessageEncoder(
            lambda message: b",".join(map(to_json, encode_items(message, reasons=False, origin=origin)))
        )
        self._efforts = EffortLimits()
        self._without_reasoning: set[str] = set()
        """Models that refused reasoning settings."""
        self._without_history: set[str] = set()
        """Models that refused the reasoning in the history."""
        self._without_summary: set[str] = set()

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        with provider_errors():
            reply, notes = await self._ask(request)
            try:
                for note in notes:
                    yield Noted(note, "warning")
                await check_reply(reply, self.name)
                reader = ResponsesStreamReader(request.model, reply.headers, self._origin)
                async for _, data in SseEvents(reply):
                    for chunk in reader.feed(data):
                        yield chunk
                    if reader.done:
                        reply.release()
                        return
                raise truncated_error(self.name)
            finally:
                reply.close()

    async def close(self) -> None:
        await self._http.close()

    def body(self, request: Request) -> bytes:
        """Encode the request. Parts that change from step to step come last, for prompt caching."""
        model = request.model
        history = self._can_reason(model) and model not in self._without_history
        items = (self._items if history else self._plain_items).encode_all(request.messages, request.cache)
        limited = replace(request, effort=self._efforts.allowed(model, request.effort))
        summary = model not in self._without_summary
        settings = to_json(build_settings(limited, reasons=self._can_reason(model), summary=summary))
        return b'%b,"input":[%b]}' % (settings[:-1], b",".join(filter(None, items)))

    async def _ask(self, request: Request) -> tuple[Reply, list[str]]:
        """Send the request. If the server refuses the reasoning, send it again with less, and remember that."""
        notes: list[str] = []
        while True:
            reply = await self._http.post(self._url, self._headers, self.body(request), request.on_activity)
            if reply.status not in (400, 404) or not self._can_reason(request.model):
                return reply, notes
            refusal = await reply.read(_ERROR_LIMIT)
            note = self._learn(request, refusal.decode("utf-8", "replace").lower())
            if note is None:
                from bobstay.providers.error_kinds import classify

                raise classify(reply.status, refusal, reply.headers, self.name)
            if note:
                notes.append(note)

    def _learn(self, request: Request, refusal: str) -> str | None:
        """Stop sending the least that `refusal` refuses; return a note for the person, None if nothing helps."""
        model = request.model
        effort = self._efforts.allowed(model, request.effort)
        if effort is not None and is_refused_level(refusal):
            return self._efforts.lower(model, effort)
        if "summar" in refusal and model not in self._without_summary:
            self._without_summary.add(model)
            return _NO_SUMMARY
        refuses_history = any(phrase in refusal for phrase in ("encrypted", "following item", "not persisted"))
        if refuses_history and model not in self._without_history:
            self._without_history.add(model)
            return ""
        if "encrypted" in refusal or "reasoning" in refusal:
            self._without_reasoning.add(model)
            return ""
        return None

    def _can_reason(self, model: str) -> bool:
        return model not in self._without_reasoning and not model.startswith(_NO_REASONING_PREFIXES)


def build_settings(request: Request, *, reasons: bool = True, summary: bool = True) -> dict[str, Any]:
    """Build the request body without `input`."""
    settings: dict[str, Any] = {
        "model": request.model,
        "stream": True,
        "store": False,
        "instructions": "\n\n".join(section for section in request.system if section),
        "max_output_tokens": request.max_tokens,
    }
    if request.session_id:
        settings["prompt_cache_key"] = request.session_id
    tools: list[dict[str, Any]] = [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.schema,
            "strict": False,
        }
        for tool in request.tools
    ]
    if request.hosted_search:
        tools.append({"type": "web_search"})
    if tools:
        settings["tools"] = tools
        settings["parallel_tool_calls"] = True
    if request.forced_tool:
        settings["tool_choice"] = {"type": "function", "name": request.forced_tool}
    if reasons:
        settings["include"] = ["reasoning.encrypted_content"]
        reasoning = _reasoning_settings(request, summary=summary)
        if reasoning:
            settings["reasoning"] = reasoning
    return settings


def _reasoning_settings(request: Request, *, summary: bool) -> dict[str, str]:
    reasoning: dict[str, str] = {}
    if request.effort is not None:
        reasoning["effort"] = request.effort
    elif isinstance(request.thinking, int):
        reasoning["effort"] = "low" if request.thinking <= 4_096 else "medium" if request.thinking <= 16_384 else "high"
    if request.thinking != "off" and summary:
        reasoning["summary"] = "auto"
    return reasoning


def encode_items(message: Message, *, reasons: bool = True, origin: str = ORIGIN) -> list[dict[str, Any]]:
    """Encode a message as input items: the user's text and images share one, every other block has its own."""
    items: list[dict[str, Any]] = []
    content: list[dict[str, Any]] = []
    for block in message.blocks:
        if isinstance(block, Text) and message.role == "assistant":
            items.append({"type": "message", "role": "assistant", "content": block.text})
        elif isinstance(block, Text):
            content.append({"type": "input_text", "text": block.text})
        elif isinstance(block, Image):
            content.append(_encode_image(block))
        elif (item := _encode_item(block, origin)) is not None and (reasons or item["type"] not in _OPAQUE):
            items.append(item)
    if content:
        # After the results, which must directly follow their calls.
        items.append({"type": "message", "role": "user", "content": content})
    # Reasoning without a following item is refused.
    while items and items[-1]["type"] in _OPAQUE:
        items.pop()
    return items


def _encode_item(block: Thinking | ToolCall | ToolReply, origin: str) -> dict[str, Any] | None:
    match block:
        case Thinking():
            return _encode_reasoning(block, origin)
        case ToolCall():
            arguments = block.malformed or to_json(block.input).decode()
            return {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": arguments}
        case ToolReply():
            return {"type": "function_call_output", "call_id": block.call_id, "output": _encode_output(block)}


def _encode_reasoning(thinking: Thinking, origin: str) -> dict[str, Any] | None:
    """Return the original item, which `signature` contains; thinking of other servers is not sent.

    Its id is removed: nothing is stored at the vendor, so that a lookup by id would fail.
    """
    if thinking.origin != origin or not thinking.signature:
        return None
    try:
        item: dict[str, Any] = msgspec.json.decode(thinking.signature, type=dict)
    except msgspec.DecodeError:
        return None
    item.pop("id", None)
    item.setdefault("type", "reasoning")
    return item if item["type"] in _OPAQUE else None


def _encode_output(reply: ToolReply) -> str | list[dict[str, Any]]:
    if not any(isinstance(part, Image) for part in reply.content):
        return f"Error: {reply.text}" if reply.is_error else reply.text
    return [_encode_output_part(part) for part in reply.content]


def _encode_output_part(part: ReplyPart) -> dict[str, Any]:
    return {"type": "input_text", "text": part.text} if isinstance(part, Text) else _encode_image(part)


def _encode_image(image: Image) -> dict[str, Any]:
    return {"type": "input_image", "image_url": f"data:{image.media_type};base64,{image.data}", "detail": "auto"}
