"""Speaks Chat Completions, the format of OpenAI that Ollama, vLLM, llama.cpp, LM Studio and OpenRouter share."""

from collections.abc import AsyncGenerator
from typing import Any

from msgspec.structs import replace

from bobstay.model.event import Noted
from bobstay.providers.base import Chunk, ProviderError, Request, ToolSpec
from bobstay.providers.chat_messages import MessageRules, messages_of, rules_of
from bobstay.providers.chat_stream import ChatStreamReader
from bobstay.providers.effort_levels import Efforts, is_refused_level
from bobstay.providers.http_client import HttpClient, Reply
from bobstay.providers.http_exchange import accept, agent
from bobstay.providers.message_encoding import EncodedMessages, to_json
from bobstay.providers.thinking import Effort

LOCAL_SERVERS = frozenset({"ollama", "vllm", "lmstudio", "llamacpp"})
"""Servers of the user's own, whose parsers of tool calls miss some: a call that came as text is recovered there."""

_HOSTS = (
    ("openai.com", "openai"),
    ("azure.com", "openai"),
    ("mistral.ai", "mistral"),
    ("deepseek.com", "deepseek"),
    ("moonshot.ai", "moonshot"),
    ("moonshot.cn", "moonshot"),
    ("kimi.com", "moonshot"),
    ("z.ai", "zai"),
    ("bigmodel.cn", "zai"),
    ("openrouter.ai", "openrouter"),
)
_NAMES = {"openai-chat": "local", "kimi": "moonshot", "glm": "zai", "zhipu": "zai"}

_OPTIONAL = (
    "stream_options",
    "prompt_cache_key",
    "reasoning_effort",
    "max_completion_tokens",
    "max_tokens",
    "cache_control",
    "tool_choice",
    "thinking",
)
"""What we can do without, or say otherwise, when a server does not know it."""
_NOT_KNOWN = (
    "unsupported",
    "unrecognized",
    "unknown",
    "not support",
    "not permitted",
    "unexpected",
    "incompatible",
    "extra ",
)
_DEMANDED = ("missing", "must be passed", "must be provided", "is required")
_ERROR_LIMIT = 256 * 1024
_MOST_ATTEMPTS = 12
"""More than there are things to learn: a server that contradicts itself is not asked for ever."""


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
        self._efforts = Efforts()
        self._known: dict[str, _Known] = {}

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        reply, notes = await self._ask(request)
        try:
            for note in notes:
                yield Noted(note, "warning")
            await accept(reply, self.name)
            reader = ChatStreamReader(request, self.name, reply.headers, recovers_calls=self.name in LOCAL_SERVERS)
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

    async def _ask(self, request: Request) -> tuple[Reply, list[str]]:
        """Ask; where the server refuses something we can do without or otherwise, ask again so, and remember."""
        notes: list[str] = []
        attempts = 0
        while True:
            reply = await self._http.post(self._url, self._headers, self.body(request), request.on_activity)
            if reply.status not in (400, 422):
                return reply, notes
            refusal = await reply.read(_ERROR_LIMIT)
            attempts += 1
            learnt = self._learn(request, refusal.decode("utf-8", "replace").lower())
            if learnt is None or attempts == _MOST_ATTEMPTS:
                from bobstay.providers.error_kinds import classify

                raise classify(reply.status, refusal, reply.headers, self.name)
            if learnt:
                notes.append(learnt)

    def body(self, request: Request) -> bytes:
        """The request as it is sent. What changes from step to step stands behind what does not."""
        known = self._model(request.model)
        settings = to_json(self._settings(request, known))
        messages = [*map(to_json, system_of(request)), *known.messages.all(request.messages, request.cache)]
        return b'%b,"messages":[%b]}' % (settings[:-1], b",".join(filter(None, messages)))

    def _model(self, model: str) -> "_Known":
        if model not in self._known:
            self._known[model] = _Known(rules_of(self.name, self._dialect, model))
        return self._known[model]

    def _settings(self, request: Request, known: "_Known") -> dict[str, Any]:
        effort = self._efforts.allowed(request.model, request.effort)
        settings = settings_of(replace(request, effort=effort), self._dialect, known.left_out)
        return {**settings, "reasoning_effort": "none"} if known.unreasoning and request.tools else settings

    def _learn(self, request: Request, refusal: str) -> str | None:
        """Change what is sent so that `refusal` does not come again.

        Returns what to tell the person, which may be nothing, or None if there is nothing to change.
        """
        known = self._model(request.model)
        if "reasoning_effort" in refusal and "/v1/responses" in refusal and not known.unreasoning:
            known.unreasoning = True
            return (
                f"{request.model} does not reason where it has tools on Chat Completions, and is asked not to. "
                f"With the model openai/{request.model} the Responses API is used, where it does."
            )
        effort: Effort | None = self._efforts.allowed(request.model, request.effort)
        if effort is not None and is_refused_level(refusal):
            return self._efforts.refuse(request.model, effort)
        if known.learn_of_reasoning(refusal):
            return ""
        unknown = _unknown_setting(refusal, self._settings(request, known))
        if unknown is None or unknown in known.left_out:
            return None
        known.left_out |= {unknown}
        return ""


class _Known:
    """What is known of one model of the server: its rules, its refusals, and the bytes of its messages."""

    def __init__(self, rules: MessageRules) -> None:
        self.left_out: frozenset[str] = frozenset()
        """Settings the server has said it does not know."""
        self.unreasoning = False
        """It takes tools only if it is told not to reason, as OpenAI's models since GPT-5.4 in this format."""
        self._set(rules)

    def _set(self, rules: MessageRules) -> None:
        self.rules = rules
        self.messages = EncodedMessages(lambda message: b",".join(map(to_json, messages_of(message, rules))))

    def learn_of_reasoning(self, refusal: str) -> bool:
        """Take from a refusal how reasoning is to be sent back; whether that changed anything."""
        returned = self.rules.returned
        changed = returned
        if "thought signature" in refusal or "thought_signature" in refusal:
            changed = replace(returned, unsigned=returned.gemini)
        elif "reasoning_content" in refusal and any(word in refusal for word in _DEMANDED):
            changed = replace(returned, filler=" ", refused=False)
        elif _refuses_reasoning(refusal):
            changed = replace(returned, refused=True)
        if changed == returned:
            return False
        self._set(replace(self.rules, returned=changed))
        return True


def _refuses_reasoning(refusal: str) -> bool:
    if "remove the reasoning_content" in refusal:
        return True
    named = "reasoning_content" in refusal or "reasoning_details" in refusal
    return (named or ("assistant" in refusal and "reasoning" in refusal)) and any(
        word in refusal for word in _NOT_KNOWN
    )


def dialect_of(name: str, base_url: str) -> str:
    """Whose habits to follow: a server is known by its address, and else by the name it was given."""
    host = base_url.partition("://")[2].partition("/")[0].partition(":")[0].lower()
    for known, dialect in _HOSTS:
        if host == known or host.endswith("." + known):
            return dialect
    return _NAMES.get(name, name)


def settings_of(request: Request, dialect: str, left_out: frozenset[str] = frozenset()) -> dict[str, Any]:
    """All of the request's body but its `messages`."""
    limit = "max_completion_tokens" if dialect == "openai" else "max_tokens"
    if limit in left_out:
        limit = "max_tokens" if dialect == "openai" else "max_completion_tokens"
    settings: dict[str, Any] = {"model": request.model, "stream": True, limit: request.max_tokens}
    if dialect != "mistral":
        # Mistral refuses it, and tells the usage without being asked.
        settings["stream_options"] = {"include_usage": True}
    if request.tools:
        settings["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": schema_of(tool, dialect),
                },
            }
            for tool in request.tools
        ]
    if request.forced_tool:
        settings["tool_choice"] = {"type": "function", "function": {"name": request.forced_tool}}
    if request.effort is not None:
        if dialect == "openrouter":
            settings["reasoning"] = {"effort": request.effort}
        else:
            settings["reasoning_effort"] = request.effort
    if request.session_id and dialect == "openai":
        settings["prompt_cache_key"] = request.session_id
    if dialect == "openrouter" and request.model.lower().startswith("anthropic/"):
        # Claude caches nothing unless it is asked to; at the top it holds for the longest prefix there is.
        settings["cache_control"] = {"type": "ephemeral"}
    if dialect == "zai" and request.model.lower().startswith("glm-"):
        # Without it the model is not shown the reasoning of earlier turns that it is sent.
        settings["thinking"] = {"type": "enabled", "clear_thinking": False}
    return {key: value for key, value in settings.items() if key not in left_out}


def schema_of(tool: ToolSpec, dialect: str) -> dict[str, Any]:
    """A tool's schema as the server takes it: llama.cpp refuses one whose bounds make its grammar too large.

    The bounds are checked when the call is made, so that a server may do without them.
    """
    loosened: dict[str, Any] = (
        _unbounded(tool.schema) if dialect == "local" or dialect in LOCAL_SERVERS else tool.schema
    )
    return loosened


def _unbounded(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_unbounded(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _unbounded(each) for name, each in value.items()}
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict)
        else _unbounded(value)
        for key, value in schema.items()
        if key not in ("maxLength", "maxItems")
    }


def _unknown_setting(refusal: str, sent: dict[str, Any]) -> str | None:
    """Which of our optional settings an error complains of, if that is what it does."""
    if "does not support thinking" in refusal and "reasoning_effort" in sent:
        return "reasoning_effort"  # as Ollama says it
    named = [key for key in _OPTIONAL if key in sent and key in refusal]
    if named == ["stream_options"] or any(word in refusal for word in _NOT_KNOWN):
        return next(iter(named), None)
    return None


def system_of(request: Request) -> list[dict[str, Any]]:
    text = "\n\n".join(section for section in request.system if section)
    return [{"role": "system", "content": text}] if text else []
