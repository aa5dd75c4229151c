"""Speaks OpenAI's Responses API: input items out, typed stream events in."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec.structs import replace

from bobstay.model.event import Noted
from bobstay.model.message import Image, Message, ReplyPart, Text, Thinking, ToolCall, ToolReply
from bobstay.providers.base import Chunk, Request
from bobstay.providers.effort_levels import Efforts, is_refused_level
from bobstay.providers.http_client import HttpClient, Reply
from bobstay.providers.http_exchange import accept, agent, broken_off
from bobstay.providers.message_encoding import EncodedMessages, to_json
from bobstay.providers.responses_stream import ORIGIN, ResponsesStreamReader

_ERROR_LIMIT = 256 * 1024
_WITHOUT_REASONING = ("gpt-3", "gpt-4", "chatgpt")
"""How the names of models begin that refuse to be asked about reasoning."""
_OPAQUE = ("reasoning", "web_search_call")
"""Items that are sent back as they came: a reasoning item is refused without the one that followed it."""
_NO_SUMMARY = "OpenAI gives no summaries of this model's reasoning to your organization: they are left out."


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
        """`origin` is what its reasoning is known by: a server with a name of its own gets nobody else's."""
        self._http = http
        self._origin = origin
        self._url = base_url.rstrip("/") + "/responses"
        self._headers = {"content-type": "application/json", "accept": "text/event-stream", "user-agent": agent()}
        if api_key:
            self._headers["authorization"] = f"Bearer {api_key}"
        self._headers |= {name.lower(): value for name, value in (headers or {}).items()}
        self._items = EncodedMessages(lambda message: b",".join(map(to_json, items_of(message, origin=origin))))
        self._plain_items = EncodedMessages(
            lambda message: b",".join(map(to_json, items_of(message, reasons=False, origin=origin)))
        )
        self._efforts = Efforts()
        self._without_reasoning: set[str] = set()
        """Models that have refused to hear of reasoning."""
        self._without_history: set[str] = set()
        """Models that have refused to take back reasoning that is in the history."""
        self._without_summary: set[str] = set()

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        reply, notes = await self._ask(request)
        try:
            for note in notes:
                yield Noted(note, "warning")
            await accept(reply, self.name)
            reader = ResponsesStreamReader(request.model, reply.headers, self._origin)
            async for _, data in reply.events():
                for chunk in reader.feed(data):
                    yield chunk
                if reader.done:
                    reply.release()
                    return
            raise broken_off(self.name)
        finally:
            reply.close()

    async def close(self) -> None:
        await self._http.close()

    def body(self, request: Request) -> bytes:
        """The request as it is sent. What changes from step to step stands behind what does not."""
        model = request.model
        history = self._reasons(model) and model not in self._without_history
        items = (self._items if history else self._plain_items).all(request.messages, request.cache)
        asked = replace(request, effort=self._efforts.allowed(model, request.effort))
        summary = model not in self._without_summary
        settings = to_json(settings_of(asked, reasons=self._reasons(model), summary=summary))
        return b'%b,"input":[%b]}' % (settings[:-1], b",".join(filter(None, items)))

    async def _ask(self, request: Request) -> tuple[Reply, list[str]]:
        """Ask; where it is the reasoning that is refused, ask again with less of it, and remember."""
        notes: list[str] = []
        while True:
            reply = await self._http.post(self._url, self._headers, self.body(request), request.on_activity)
            if reply.status not in (400, 404) or not self._reasons(request.model):
                return reply, notes
            refusal = await reply.read(_ERROR_LIMIT)
            learnt = self._learn(request, refusal.decode("utf-8", "replace").lower())
            if learnt is None:
                from bobstay.providers.error_kinds import classify

                raise classify(reply.status, refusal, reply.headers, self.name)
            if learnt:
                notes.append(learnt)

    def _learn(self, request: Request, refusal: str) -> str | None:
        """Leave out the least that `refusal` complains of; return what to tell the person, None if nothing helps."""
        model = request.model
        effort = self._efforts.allowed(model, request.effort)
        if effort is not None and is_refused_level(refusal):
            return self._efforts.refuse(model, effort)
        if "summar" in refusal and model not in self._without_summary:
            self._without_summary.add(model)
            return _NO_SUMMARY
        of_history = any(words in refusal for words in ("encrypted", "following item", "not persisted"))
        if of_history and model not in self._without_history:
            self._without_history.add(model)
            return ""
        if "encrypted" in refusal or "reasoning" in refusal:
            self._without_reasoning.add(model)
            return ""
        return None

    def _reasons(self, model: str) -> bool:
        return model not in self._without_reasoning and not model.startswith(_WITHOUT_REASONING)


def settings_of(request: Request, *, reasons: bool = True, summary: bool = True) -> dict[str, Any]:
    """All of the request's body but its `input`."""
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
        reasoning = _reasoning(request, summary=summary)
        if reasoning:
            settings["reasoning"] = reasoning
    return settings


def _reasoning(request: Request, *, summary: bool) -> dict[str, str]:
    reasoning: dict[str, str] = {}
    if request.effort is not None:
        reasoning["effort"] = request.effort
    elif isinstance(request.thinking, int):
        reasoning["effort"] = "low" if request.thinking <= 4_096 else "medium" if request.thinking <= 16_384 else "high"
    if request.thinking != "off" and summary:
        reasoning["summary"] = "auto"
    return reasoning


def items_of(message: Message, *, reasons: bool = True, origin: str = ORIGIN) -> list[dict[str, Any]]:
    """A message as input items: what a person says in a row shares one, all else has its own."""
    items: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    for block in message.blocks:
        if isinstance(block, Text) and message.role == "assistant":
            items.append({"type": "message", "role": "assistant", "content": block.text})
        elif isinstance(block, Text):
            said.append({"type": "input_text", "text": block.text})
        elif isinstance(block, Image):
            said.append(_image(block))
        elif (item := _item(block, origin)) is not None and (reasons or item["type"] not in _OPAQUE):
            items.append(item)
    if said:
        # Behind the results of calls, which must follow their calls.
        items.append({"type": "message", "role": "user", "content": said})
    # Reasoning cut off before anything came of it is refused.
    while items and items[-1]["type"] in _OPAQUE:
        items.pop()
    return items


def _item(block: Thinking | ToolCall | ToolReply, origin: str) -> dict[str, Any] | None:
    match block:
        case Thinking():
            return _reasoning_item(block, origin)
        case ToolCall():
            arguments = block.malformed or to_json(block.input).decode()
            return {"type": "function_call", "call_id": block.id, "name": block.name, "arguments": arguments}
        case ToolReply():
            return {"type": "function_call_output", "call_id": block.call_id, "output": _output(block)}


def _reasoning_item(thinking: Thinking, origin: str) -> dict[str, Any] | None:
    """The item as it came, which is what `signature` keeps; thinking of other servers is not sent.

    Without its id: nothing is stored at the vendor, and an id that is looked up there is not found.
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


def _output(reply: ToolReply) -> str | list[dict[str, Any]]:
    if not any(isinstance(part, Image) for part in reply.content):
        return f"Error: {reply.text}" if reply.is_error else reply.text
    return [_output_part(part) for part in reply.content]


def _output_part(part: ReplyPart) -> dict[str, Any]:
    return {"type": "input_text", "text": part.text} if isinstance(part, Text) else _image(part)


def _image(image: Image) -> dict[str, Any]:
    return {"type": "input_image", "image_url": f"data:{image.media_type};base64,{image.data}", "detail": "auto"}
