"""Adapter for Chat Completions, OpenAI's format that Ollama, vLLM, llama.cpp, LM Studio and OpenRouter share."""

from collections.abc import AsyncGenerator
from typing import Any

from msgspec.structs import replace

from bobstay.http.client import HttpClient
from bobstay.http.connection import Reply
from bobstay.http.http_error import HttpError
from bobstay.http.sse_splitter import SseEvents
from bobstay.model.event import Noted
from bobstay.providers.base import Chunk, ProviderError, Request, ToolSpec
from bobstay.providers.chat_messages import MessageRules, encode_message, initial_rules
from bobstay.providers.chat_stream import ChatStreamReader
from bobstay.providers.effort_levels import EffortLimits, is_refused_level
from bobstay.providers.http_exchange import check_reply, provider_errors, user_agent
from bobstay.providers.message_encoding import MessageEncoder, to_json
from bobstay.providers.thinking import Effort

LOCAL_SERVERS = frozenset({"ollama", "vllm", "lmstudio", "llamacpp"})
"""Servers on the user's machine. Their parsers miss some tool calls, so calls that arrive as text are recovered."""

_DIALECTS_BY_HOST = (
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
_DIALECTS_BY_NAME = {"openai-chat": "local", "kimi": "moonshot", "glm": "zai", "zhipu": "zai"}

_OPTIONAL_SETTINGS = (
    "stream_options",
    "prompt_cache_key",
    "reasoning_effort",
    "max_completion_tokens",
    "max_tokens",
    "cache_control",
    "tool_choice",
    "thinking",
)
"""Settings that can be omitted or expressed differently if a server does not support them."""
_UNSUPPORTED_PHRASES = (
    "unsupported",
    "unrecognized",
    "unknown",
    "not support",
    "not permitted",
    "unexpected",
    "incompatible",
    "extra ",
)
_REQUIRED_PHRASES = ("missing", "must be passed", "must be provided", "is required")
_ERROR_LIMIT = 256 * 1024
_MAX_ATTEMPTS = 12
"""More than there is to learn; it stops an endless loop with a server that contradicts itself."""


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
        self._headers = {"content-type": "application/json", "accept": "text/event-stream", "user-agent": user_agent()}
        if api_key:
            self._headers["authorization"] = f"Bearer {api_key}"
        self._headers |= {key.lower(): value for key, value in (headers or {}).items()}
        self._dialect = detect_dialect(name, base_url)
        self._efforts = EffortLimits()
        self._known: dict[str, _ModelState] = {}

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        with provider_errors():
            reply, notes = await self._ask(request)
            try:
                for note in notes:
                    yield Noted(note, "warning")
                await check_reply(reply, self.name)
                reader = ChatStreamReader(request, self.name, reply.headers, recovers_calls=self.name in LOCAL_SERVERS)
                try:
                    async for _, data in SseEvents(reply):
                        for chunk in reader.feed(data):
                            yield chunk
                        if reader.done:
                            break
                except (HttpError, ProviderError):
                    # Once the model has finished, a lost connection only loses the token counts.
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
        """Send the request. If the server refuses something optional, adapt, remember that and send again."""
        notes: list[str] = []
        attempts = 0
        while True:
            reply = await self._http.post(self._url, self._headers, self.body(request), request.on_activity)
            if reply.status not in (400, 422):
                return reply, notes
            refusal = await reply.read(_ERROR_LIMIT)
            attempts += 1
            note = self._learn(request, refusal.decode("utf-8", "replace").lower())
            if note is None or attempts == _MAX_ATTEMPTS:
                from bobstay.providers.error_kinds import classify

                raise classify(reply.status, refusal, reply.headers, self.name)
            if note:
                notes.append(note)

    def body(self, request: Request) -> bytes:
        """Encode the request. Parts that change from step to step come last, for prompt caching."""
        known = self._model(request.model)
        settings = to_json(self._settings(request, known))
        messages = [*map(to_json, encode_system(request)), *known.messages.encode_all(request.messages, request.cache)]
        return b'%b,"messages":[%b]}' % (settings[:-1], b",".join(filter(None, messages)))

    def _model(self, model: str) -> "_ModelState":
        if model not in self._known:
            self._known[model] = _ModelState(initial_rules(self.name, self._dialect, model))
        return self._known[model]

    def _settings(self, request: Request, known: "_ModelState") -> dict[str, Any]:
        effort = self._efforts.allowed(request.model, request.effort)
        settings = build_settings(replace(request, effort=effort), self._dialect, known.unsupported)
        return {**settings, "reasoning_effort": "none"} if known.no_reasoning_with_tools and request.tools else settings

    def _learn(self, request: Request, refusal: str) -> str | None:
        """Change what is sent so that `refusal` does not happen again.

        Returns a note for the person, which may be empty, or None if nothing can be changed.
        """
        known = self._model(request.model)
        if "reasoning_effort" in refusal and "/v1/responses" in refusal and not known.no_reasoning_with_tools:
            known.no_reasoning_with_tools = True
            return (
                f"{request.model} does not support reasoning with tools on Chat Completions, so it runs without. "
                f"Use the model openai/{request.model} for the Responses API, where it does."
            )
        effort: Effort | None = self._efforts.allowed(request.model, request.effort)
        if effort is not None and is_refused_level(refusal):
            return self._efforts.lower(request.model, effort)
        if known.learn_reasoning(refusal):
            return ""
        unknown = _find_unknown_setting(refusal, self._settings(request, known))
        if unknown is None or unknown in known.unsupported:
            return None
        known.unsupported |= {unknown}
        return ""


class _ModelState:
    """What is known about one model of the server: its rules, its refusals and its encoded messages."""

    def __init__(self, rules: MessageRules) -> None:
        self.unsupported: frozenset[str] = frozenset()
        """Settings that the server does not support."""
        self.no_reasoning_with_tools = False
        """It accepts tools only with reasoning off, as OpenAI's models since GPT-5.4 in this format."""
        self._set(rules)

    def _set(self, rules: MessageRules) -> None:
        self.rules = rules
        self.messages = MessageEncoder(lambda message: b",".join(map(to_json, encode_message(message, rules))))

    def learn_reasoning(self, refusal: str) -> bool:
        """Learn from a refusal how to send reasoning back; return whether anything changed."""
        reasoning = self.rules.reasoning
        changed = reasoning
        if "thought signature" in refusal or "thought_signature" in refusal:
            changed = replace(reasoning, unsigned=reasoning.gemini)
        elif "reasoning_content" in refusal and any(phrase in refusal for phrase in _REQUIRED_PHRASES):
            changed = replace(reasoning, filler=" ", refused=False)
        elif _refuses_reasoning(refusal):
            changed = replace(reasoning, refused=True)
        if changed == reasoning:
            return False
        self._set(replace(self.rules, reasoning=changed))
        return True


def _refuses_reasoning(refusal: str) -> bool:
    if "remove the reasoning_content" in refusal:
        return True
    named = "reasoning_content" in refusal or "reasoning_details" in refusal
    return (named or ("assistant" in refusal and "reasoning" in refusal)) and any(
        phrase in refusal for phrase in _UNSUPPORTED_PHRASES
    )


def detect_dialect(name: str, base_url: str) -> str:
    """Return the dialect of a server, by its address or else by its provider name."""
    host = base_url.partition("://")[2].partition("/")[0].partition(":")[0].lower()
    for known, dialect in _DIALECTS_BY_HOST:
        if host == known or host.endswith("." + known):
            return dialect
    return _DIALECTS_BY_NAME.get(name, name)


def build_settings(request: Request, dialect: str, unsupported: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Build the request body without `messages`."""
    limit = "max_completion_tokens" if dialect == "openai" else "max_tokens"
    if limit in unsupported:
        limit = "max_tokens" if dialect == "openai" else "max_completion_tokens"
    settings: dict[str, Any] = {"model": request.model, "stream": True, limit: request.max_tokens}
    if dialect != "mistral":
        # Mistral refuses it, and reports the usage anyway.
        settings["stream_options"] = {"include_usage": True}
    if request.tools:
        settings["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": adapt_schema(tool, dialect),
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
        # Claude caches nothing by default; at the top level this applies to the longest prefix.
        settings["cache_control"] = {"type": "ephemeral"}
    if dialect == "zai" and request.model.lower().startswith("glm-"):
        # Without it the server drops the reasoning of earlier turns.
        settings["thinking"] = {"type": "enabled", "clear_thinking": False}
    return {key: value for key, value in settings.items() if key not in unsupported}


def adapt_schema(tool: ToolSpec, dialect: str) -> dict[str, Any]:
    """Return the schema of a tool for the server: llama.cpp refuses one whose bounds make its grammar too large.

    The tool itself checks the bounds, so the server does not need them.
    """
    loosened: dict[str, Any] = (
        _remove_bounds(tool.schema) if dialect == "local" or dialect in LOCAL_SERVERS else tool.schema
    )
    return loosened


def _remove_bounds(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_remove_bounds(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _remove_bounds(each) for name, each in value.items()}
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict)
        else _remove_bounds(value)
        for key, value in schema.items()
        if key not in ("maxLength", "maxItems")
    }


def _find_unknown_setting(refusal: str, sent: dict[str, Any]) -> str | None:
    """Return the optional setting that an error complains about, if any."""
    if "does not support thinking" in refusal and "reasoning_effort" in sent:
        return "reasoning_effort"  # Ollama's wording
    named = [key for key in _OPTIONAL_SETTINGS if key in sent and key in refusal]
    if named == ["stream_options"] or any(phrase in refusal for phrase in _UNSUPPORTED_PHRASES):
        return next(iter(named), None)
    return None


def encode_system(request: Request) -> list[dict[str, Any]]:
    text = "\n\n".join(section for section in request.system if section)
    return [{"role": "system", "content": text}] if text else []
