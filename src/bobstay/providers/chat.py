"""Speaks Chat Completions, the format of OpenAI that Ollama, vLLM, llama.cpp, LM Studio and OpenRouter share."""

from collections.abc import AsyncIterator
from typing import Any

from bobstay.model.message import Image, Message, Text, ToolCall, ToolReply
from bobstay.providers.base import Chunk, ProviderError, Request
from bobstay.providers.chat_stream import Reader
from bobstay.providers.encoding import EncodedMessages, to_json
from bobstay.providers.exchange import accept, agent
from bobstay.providers.http import HttpClient, Reply

LOCAL_SERVERS = frozenset({"ollama", "vllm", "lmstudio", "llamacpp"})
"""Servers of the user's own, whose parsers of tool calls miss some: a call that came as text is recovered there."""

_LONGEST_ID = 40
_OPTIONAL = ("stream_options", "prompt_cache_key", "reasoning_effort", "max_completion_tokens", "max_tokens")
"""What we can do without, or say otherwise, when a server does not know it."""
_NOT_KNOWN = ("unsupported", "unrecognized", "unknown", "not supported", "not permitted", "unexpected", "extra ")
_ERROR_LIMIT = 256 * 1024


class Chat:
    def __init__(
        self,
        http: HttpClient,
        *,
        base_url: str,
        api_key: str = "",
        headers: dict[str, str] | None = None,
        name: str = "openai-chat",
    ) -> None:
        self.name = name
        self._http = http
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._headers = {"content-type": "application/json", "accept": "text/event-stream", "user-agent": agent()}
        if api_key:
            self._headers["authorization"] = f"Bearer {api_key}"
        self._headers |= {key.lower(): value for key, value in (headers or {}).items()}
        self._dialect = dialect_of(name, base_url)
        self._messages = EncodedMessages(lambda message: b",".join(map(to_json, messages_of(message, self._dialect))))
        self._left_out: frozenset[str] = frozenset()
        """Settings the server has said it does not know."""

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        reply = await self._ask(request)
        try:
            await accept(reply, self.name)
            reader = Reader(request, self.name, reply.headers, recovers_calls=self.name in LOCAL_SERVERS)
            try:
                async for _, data in reply.events():
                    for chunk in reader.feed(data):
                        yield chunk
                    if reader.done:
                        break
            except ProviderError:
                # Once the model has finished, a lost connection costs us nothing but the token counts.
                if not reader.finished:
                    raise
            if not reader.done:
                for chunk in reader.end():
                    yield chunk
            reply.release()
        finally:
            reply.close()

    async def close(self) -> None:
        await self._http.close()

    async def _ask(self, request: Request) -> Reply:
        """Ask; where the server complains of a setting it does not know, ask again without, and remember."""
        while True:
            reply = await self._http.post(self._url, self._headers, self.body(request), request.on_activity)
            if reply.status not in (400, 422):
                return reply
            refusal = await reply.read(_ERROR_LIMIT)
            unknown = _unknown_setting(refusal, settings_of(request, self._dialect, self._left_out))
            if unknown is None or unknown in self._left_out:
                from bobstay.providers.errors import classify

                raise classify(reply.status, refusal, reply.headers, self.name)
            self._left_out |= {unknown}

    def body(self, request: Request) -> bytes:
        """The request as it is sent. What changes from step to step stands behind what does not."""
        settings = to_json(settings_of(request, self._dialect, self._left_out))
        messages = [*map(to_json, system_of(request)), *self._messages.all(request.messages)]
        return b'%b,"messages":[%b]}' % (settings[:-1], b",".join(filter(None, messages)))


def dialect_of(name: str, base_url: str) -> str:
    """Whose habits to follow: a server is known by its address, and else by the name it was given."""
    if ".openai.com" in base_url or ".azure.com" in base_url:
        return "openai"
    if ".mistral.ai" in base_url:
        return "mistral"
    return "local" if name == "openai-chat" else name


def settings_of(request: Request, dialect: str, left_out: frozenset[str] = frozenset()) -> dict[str, Any]:
    """All of the request's body but its `messages`."""
    limit = "max_completion_tokens" if dialect == "openai" else "max_tokens"
    if limit in left_out:
        limit = "max_tokens" if dialect == "openai" else "max_completion_tokens"
    settings: dict[str, Any] = {
        "model": request.model,
        "stream": True,
        "stream_options": {"include_usage": True},
        limit: request.max_tokens,
    }
    if request.tools:
        settings["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool in request.tools
        ]
    if request.effort is not None:
        if dialect == "openrouter":
            settings["reasoning"] = {"effort": request.effort}
        else:
            settings["reasoning_effort"] = request.effort
    if request.session_id and dialect == "openai":
        settings["prompt_cache_key"] = request.session_id
    return {key: value for key, value in settings.items() if key not in left_out}


def _unknown_setting(refusal: bytes, sent: dict[str, Any]) -> str | None:
    """Which of our optional settings an error complains of, if that is what it does."""
    text = refusal.decode("utf-8", "replace").lower()
    named = [key for key in _OPTIONAL if key in sent and key in text]
    if named == ["stream_options"] or any(word in text for word in _NOT_KNOWN):
        return next(iter(named), None)
    return None


def system_of(request: Request) -> list[dict[str, Any]]:
    text = "\n\n".join(section for section in request.system if section)
    return [{"role": "system", "content": text}] if text else []


def messages_of(message: Message, dialect: str = "") -> list[dict[str, Any]]:
    """A message as this format has it: results are messages of their own, before what the person says."""
    if message.role == "assistant":
        return _assistant(message, dialect)
    messages: list[dict[str, Any]] = []
    pictures: list[Image] = []
    said: list[Text | Image] = []
    for block in message.blocks:
        if isinstance(block, ToolReply):
            found = [part for part in block.content if isinstance(part, Image)]
            messages.append({"role": "tool", "tool_call_id": _id(block.call_id, dialect), "content": _result(block)})
            pictures += found
        elif isinstance(block, Text | Image):
            said.append(block)
    if pictures:
        # A result can be text only, so what it shows is shown by the next message.
        said = [Text("These images belong to the tool results above."), *pictures, *said]
    if said:
        messages.append({"role": "user", "content": _content(said)})
    return messages


def _assistant(message: Message, dialect: str) -> list[dict[str, Any]]:
    text = "\n\n".join(block.text for block in message.blocks if isinstance(block, Text))
    calls = [
        {
            "id": _id(block.id, dialect),
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


def _id(call_id: str, dialect: str) -> str:
    """The id of a call as the server takes it; ids of other vendors may be too long, and Mistral wants nine letters."""
    if dialect != "mistral" and len(call_id) <= _LONGEST_ID:
        return call_id
    if dialect == "mistral" and len(call_id) == 9 and call_id.isalnum():
        return call_id
    from hashlib import sha256

    digest = sha256(call_id.encode()).hexdigest()
    return digest[:9] if dialect == "mistral" else digest[:32]
