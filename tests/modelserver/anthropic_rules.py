"""Refusals of the Anthropic Messages API, with its messages.

Looked up on 2026-11-17 in platform.claude.com/docs: api/errors; build-with-claude/thinking, thinking-troubleshooting,
extended-thinking, preserved-thinking, prompt-caching, vision and effort; models/opus-5-5/whats-new-opus-5-5 and
models/sonnet-5-5/whats-new-sonnet-5-5; agents-and-tools/tool-use/define-tools, handle-tool-calls and tool-search-tool
(what it says of references and deferred tools: `anthropic_deferred.py`). Further messages are quoted in public issues
of anthropics/claude-code, anomalyco/opencode and vercel/ai: see `docs/providers.md`.
A Claude of an unknown version accepts every kind of thinking. Models of other vendors stand for compatible servers,
which check no signatures but (DeepSeek, Kimi) require the thinking of a turn with calls.
"""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from tests.modelserver.anthropic_deferred import deferral_complaints

FIELDS = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "stream",
        "thinking",
        "metadata",
        "temperature",
    }
    | {"top_p", "top_k", "stop_sequences", "output_config", "service_tier", "cache_control", "context_management"}
    | {"container", "mcp_servers", "fallbacks", "inference_geo", "speed"}
)
TOOL_FIELDS = frozenset(
    {"name", "description", "input_schema", "cache_control", "eager_input_streaming", "strict", "type", "defer_loading"}
    | {"input_examples", "allowed_callers"}
)
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
IMAGE_LIMIT = 10 * 1024 * 1024
REQUEST_LIMIT = 32 * 1024 * 1024
COMPATIBLE = ("deepseek", "kimi", "glm")
LEVELS = ("low", "medium", "high", "xhigh", "max")
_IDENTITY = re.compile(r"^[a-zA-Z0-9_-]+$")
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_PROPERTY = re.compile(r"^[a-zA-Z0-9_.-]{1,64}$")
_MODEL = re.compile(
    r"claude-(?:(3)-(5|7)-(sonnet|haiku)|(fable|mythos|opus|sonnet|haiku)-(\d)(?:-(\d))?)(?:-\d{8}|-latest)?$"
)


class Model(Struct, frozen=True):
    """What one model accepts."""

    family: str
    version: tuple[int, int]

    @property
    def always(self) -> bool:
        """Thinking cannot be turned off."""
        return self.family in ("fable", "mythos") or (self.family == "opus" and self.version >= (5, 5))

    @property
    def adaptive(self) -> bool:
        return self.version >= (4, 6)

    @property
    def budget(self) -> bool:
        return (3, 7) <= self.version <= (4, 6)

    @property
    def between_tools(self) -> bool:
        return self.family == "sonnet" and self.version >= (5, 5)

    @property
    def forced(self) -> bool:
        """Accepts a forced tool."""
        bound_from = (5, 1) if self.family in ("fable", "mythos") else (5, 5)
        return self.version < bound_from or self.family == "haiku"

    @property
    def bound(self) -> bool:
        """Its thinking is valid in one conversation only ("preserved thinking")."""
        return self.version >= ((5, 1) if self.family in ("fable", "mythos") else (5, 5))

    @property
    def efforts(self) -> tuple[str, ...]:
        if self.version >= (4, 7):
            return LEVELS
        if self.version == (4, 6):
            return ("low", "medium", "high", "max")
        return ("low", "medium", "high") if self.family == "opus" and self.version == (4, 5) else ()

    @property
    def output(self) -> int:
        if self.version >= (4, 6):
            return 128_000
        if self.version < (3, 7):
            return 8_192
        return 32_000 if self.family == "opus" and self.version < (4, 5) else 64_000


def model_named(name: str) -> Model | None:
    found = _MODEL.fullmatch(name)
    if found is None:
        return None
    if found[1]:
        return Model(found[3], (3, int(found[2])))
    return Model(found[4], (int(found[5]), int(found[6] or 0)))


def complaints(body: dict[str, Any]) -> Iterator[str]:
    """Yield everything wrong with a request, in the order in which the API would find it."""
    name = str(body.get("model", ""))
    model = model_named(name)
    compatible = name.startswith(COMPATIBLE)
    for name in body:
        if name not in FIELDS:
            yield f"{name}: Extra inputs are not permitted"
    yield from _tools(body)
    yield from deferral_complaints(body, known=compatible or model is None or model.version >= (4, 0))
    yield from _messages(body)
    yield from _without_thinking(body) if compatible else _signatures(body)
    yield from _marks(body)
    if not compatible and (model is None or model.version >= (4, 6)):
        yield from _prefill(body)
    yield from _thinking(body, model)
    if model is not None:
        yield from _settings(body, model)
    yield from _turn(body)


def _settings(body: dict[str, Any], model: Model) -> Iterator[str]:
    limit = body.get("max_tokens", 0)
    if limit > model.output:
        yield (
            f"max_tokens: {limit} > {model.output}, which is the maximum allowed number of output tokens "
            f"for {body['model']}"
        )
    effort = (body.get("output_config") or {}).get("effort")
    if effort is not None and not model.efforts:
        yield "This model does not support the effort parameter."
    elif effort is not None and effort not in model.efforts:
        yield f"output_config.effort: '{effort}' is not supported for this model. Supported: {', '.join(model.efforts)}"
    if model.version >= (4, 7) and any(name in body for name in ("temperature", "top_p", "top_k")):
        yield "`temperature`, `top_p` and `top_k` are not supported for this model."
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    if forced and not model.forced:
        yield 'tool_choice: type "tool" and "any" are not supported for this model.'


def _prefill(body: dict[str, Any]) -> Iterator[str]:
    """Claude 4.6 and later refuse a partial answer to continue (also anthropics/claude-code#28478, 2026-02)."""
    messages = body.get("messages") or [{}]
    if messages[-1].get("role") == "assistant":
        yield "This model does not support assistant message prefill. The conversation must end with a user message."


def _thinking(body: dict[str, Any], model: Model | None) -> Iterator[str]:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type")
    if kind not in ("enabled", "adaptive", "disabled", "between_tools"):
        yield f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags"
    if kind == "disabled" and "display" in thinking:
        yield "thinking.disabled.display: Extra inputs are not permitted"
    if kind == "enabled":
        yield from _budget(body, thinking)
    if kind in ("enabled", "adaptive") and body.get("temperature", 1) != 1:
        yield "`temperature` may only be set to 1 when thinking is enabled."
    if kind == "enabled" and (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        yield "Thinking may not be enabled when tool_choice forces tool use."
    if model is not None:
        yield from _kind(kind, (body.get("output_config") or {}).get("effort"), model)


def _budget(body: dict[str, Any], thinking: dict[str, Any]) -> Iterator[str]:
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int):
        yield "thinking.enabled.budget_tokens: Field required"
    elif budget < 1024:
        yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
    elif budget >= body.get("max_tokens", 0):
        yield "`max_tokens` must be greater than `thinking.budget_tokens`."


def _kind(kind: str | None, effort: str | None, model: Model) -> Iterator[str]:
    advice = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
    if kind == "enabled" and not model.budget:
        yield f'"thinking.type.enabled" is not supported for this model. {advice}'
    if kind == "adaptive" and not model.adaptive:
        yield "adaptive thinking is not supported on this model"
    if kind == "disabled" and model.always:
        yield f'"thinking.type.disabled" is not supported for this model. {advice}'
    if kind == "disabled" and model.between_tools:
        yield '"thinking.type.disabled" is not supported for this model. Use "thinking.type.between_tools" instead.'
    if kind == "between_tools" and not model.between_tools:
        yield '"thinking.type.between_tools" is not supported for this model.'
    if kind in ("disabled", "between_tools") and model.version >= (5, 0) and effort in ("xhigh", "max"):
        yield f'"thinking.type.{kind}" is not supported with effort "{effort}".'


def _tools(body: dict[str, Any]) -> Iterator[str]:
    names = [tool.get("name") for tool in body.get("tools", [])]
    if len(names) != len(set(names)):
        yield "tools: Tool names must be unique."
    for place, tool in enumerate(body.get("tools", [])):
        if tool.get("type", "custom") != "custom":
            continue
        where = f"tools.{place}.custom"
        for name in tool:
            if name not in TOOL_FIELDS:
                yield f"{where}.{name}: Extra inputs are not permitted"
        if not _NAME.match(tool.get("name", "")):
            yield f"{where}.name: String should match pattern '{_NAME.pattern}'"
        schema = tool.get("input_schema") or {}
        if schema.get("type") != "object":
            yield f"{where}.input_schema.type: Input should be 'object'"
        if any(name in schema for name in ("oneOf", "allOf", "anyOf")):
            yield f"{where}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
        if not all(_PROPERTY.match(key) for key in schema.get("properties") or {}):
            yield f"{where}.input_schema.properties: Property keys should match pattern '{_PROPERTY.pattern}'"


def _messages(body: dict[str, Any]) -> Iterator[str]:
    messages = body.get("messages") or []
    if not messages:
        yield "messages: at least one message is required"
        return
    if messages[0]["role"] != "user":
        yield 'messages: first message must use the "user" role'
    seen: set[str] = set()
    asked: list[str] = []
    for place, message in enumerate(messages):
        content = _blocks(message)
        if not content:
            yield f"messages.{place}: all messages must have non-empty content"
        for index, block in enumerate(content):
            yield from _block(block, f"messages.{place}.content.{index}")
        yield from _answers(content, asked, place)
        asked = [block["id"] for block in content if block["type"] == "tool_use"]
        if seen & set(asked) or len(asked) != len(set(asked)):
            yield "messages: `tool_use` ids must be unique"
        seen.update(asked)
    if asked:
        yield _unanswered(len(messages) - 1, asked)
    last = messages[-1]
    text = _blocks(last)[-1].get("text", "") if last["role"] == "assistant" and _blocks(last) else ""
    if text != text.rstrip():
        yield "messages: final assistant content cannot end with trailing whitespace"


def _answers(content: list[dict[str, Any]], asked: list[str], place: int) -> Iterator[str]:
    first = [block["type"] == "tool_result" for block in content]
    given = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
    missing = [identity for identity in asked if identity not in given]
    if missing or (given and not all(first[: len(given)])):
        # Results after a text do not count: they must come first.
        yield _unanswered(place - 1, missing or asked)
    unknown = [identity for identity in given if identity not in asked]
    if unknown:
        yield (
            f"messages.{place}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {unknown[0]}. Each "
            "`tool_result` block must have a corresponding `tool_use` block in the previous message."
        )
    if len(given) != len(set(given)):
        yield f"messages.{place}: each tool_use must have a single result. Found multiple `tool_result` blocks"


def _unanswered(place: int, missing: list[str]) -> str:
    return (
        f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: {', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message."
    )


def _block(block: dict[str, Any], where: str) -> Iterator[str]:
    match block["type"]:
        case "text":
            if not block.get("text"):
                yield "messages: text content blocks must be non-empty"
            elif not block["text"].strip():
                yield "messages: text content blocks must contain non-whitespace text"
        case "image":
            yield from _image(block, where)
        case "tool_use":
            if not _IDENTITY.match(block["id"]):
                yield f"{where}.tool_use.id: String should match pattern '{_IDENTITY.pattern}'"
            if not _NAME.match(block["name"]):
                yield f"{where}.tool_use.name: String should match pattern '{_NAME.pattern}'"
            if not isinstance(block["input"], dict):
                yield f"{where}.tool_use.input: Input should be a valid dictionary"
        case "tool_result":
            inner = block.get("content")
            for index, part in enumerate(inner if isinstance(inner, list) else []):
                yield from _block(part, f"{where}.tool_result.content.{index}")


def _signatures(body: dict[str, Any]) -> Iterator[str]:
    for place, message in enumerate(body.get("messages") or []):
        for index, block in enumerate(_blocks(message)):
            where = f"messages.{place}.content.{index}"
            if block["type"] == "thinking" and "signature" not in block:
                yield f"{where}.thinking.signature: Field required"
            elif block["type"] == "thinking" and not block["signature"]:
                yield f"{where}: Invalid `signature` in `thinking` block"


def _without_thinking(body: dict[str, Any]) -> Iterator[str]:
    """DeepSeek's message, which thinks by default (SuperJJ007/CSSwitch#73, sdcb/chats#136; 2026-11-17)."""
    if (body.get("thinking") or {}).get("type") == "disabled":
        return
    for message in body.get("messages") or []:
        kinds = [block["type"] for block in _blocks(message)]
        if "tool_use" in kinds and "thinking" not in kinds:
            yield "The `content[].thinking` in the thinking mode must be passed back to the API."


def _image(block: dict[str, Any], where: str) -> Iterator[str]:
    source = block["source"]
    if source["media_type"] not in IMAGES:
        yield f"{where}.image.source.base64.media_type: Input should be {', '.join(map(repr, IMAGES))}"
    if len(source["data"]) > IMAGE_LIMIT:
        size = len(source["data"])
        yield f"{where}.image.source.base64: image exceeds 10 MB maximum: {size} bytes > {IMAGE_LIMIT} bytes"


def _marks(body: dict[str, Any]) -> Iterator[str]:
    system = body.get("system") if isinstance(body.get("system"), list) else []
    blocks = [*body.get("tools", []), *(system or [])]
    blocks += [block for message in body.get("messages") or [] for block in _blocks(message)]
    marked = [block for block in blocks if "cache_control" in block]
    if len(marked) > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
    for block in marked:
        if block.get("type") in ("thinking", "redacted_thinking"):
            yield f"cache_control cannot be set on {block['type']} blocks"
        if block.get("type") == "text" and not block["text"].strip():
            yield "cache_control cannot be set for empty text blocks"
    for place, section in enumerate(system or []):
        if not section["text"].strip():
            yield f"system.{place}: text content blocks must be non-empty"


def _turn(body: dict[str, Any]) -> Iterator[str]:
    """With a budget, the current turn must begin with its thinking."""
    messages = body.get("messages") or []
    if (body.get("thinking") or {}).get("type") != "enabled" or not messages:
        return
    place = len(messages)
    while place > 0 and (messages[place - 1]["role"] == "assistant" or _is_result(messages[place - 1])):
        place -= 1
    if place == len(messages) or messages[place]["role"] != "assistant":
        return
    found = _blocks(messages[place])[0]["type"]
    if found not in ("thinking", "redacted_thinking"):
        yield (
            f"messages.{place}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the "
            "lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from "
            "previous turns. To avoid this requirement, disable `thinking`."
        )


def _is_result(message: dict[str, Any]) -> bool:
    return any(block["type"] == "tool_result" for block in _blocks(message))


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content or []
