"""Refusals of the Gemini API, with its messages.

Looked up on 2026-11-17: ai.google.dev/gemini-api/docs (thought-signatures, thinking, function-calling,
image-understanding, generate-content/whats-new-gemini-3.6), docs.cloud.google.com/gemini-enterprise-agent-platform
(models/thinking, gemini/3-6-flash, start/get-started-with-gemini-4), and messages quoted in public issues of
google-gemini/gemini-cli (#3814, #18509) and vercel/ai (#17649). `docs/providers.md` has the list with its sources.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

FIELDS = frozenset(
    {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent"}
    | {"labels", "model", "store"}
)
OLDER_KEYWORDS = frozenset(
    {"type", "format", "title", "description", "nullable", "enum", "required", "minItems", "maxItems", "minimum"}
    | {"maximum", "minLength", "maxLength", "pattern", "properties", "items", "anyOf", "propertyOrdering", "default"}
    | {"example", "minProperties", "maxProperties"}
)
IMAGES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$")
_MODEL = re.compile(r"gemini-(\d+)(?:\.(\d+))?-?(.*)")


def complaints(model: str, body: dict[str, Any]) -> Iterator[str]:
    """Yield everything wrong with a request for `model`."""
    found = _MODEL.match(model)
    generation = (int(found[1]), int(found[2] or 0)) if found else (99, 0)
    for name in body:
        if name not in FIELDS:
            yield f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
    contents = body.get("contents") or []
    if not contents:
        yield "* GenerateContentRequest.contents: contents is not specified"
    for place, content in enumerate(contents):
        yield from _content(content, place)
    yield from _order(contents)
    if generation >= (3, 6) and contents and contents[-1].get("role") == "model":
        yield "Requests whose last turn has the role `model` are not supported by this model."
    if generation >= (3, 0):
        yield from _signatures(contents)
    yield from _tools(body, generation)
    yield from _thinking((body.get("generationConfig") or {}).get("thinkingConfig"), model, generation)
    if (body.get("generationConfig") or {}).get("maxOutputTokens", 0) > 65536:
        yield "maxOutputTokens: the supported range is from 1 (inclusive) to 65537 (exclusive)."


def _content(content: dict[str, Any], place: int) -> Iterator[str]:
    if content.get("role") not in ("user", "model"):
        yield "Please use a valid role: user, model."
    parts = content.get("parts") or []
    if not parts:
        yield f"* GenerateContentRequest.contents[{place}].parts: contents.parts must not be empty."
    for index, part in enumerate(parts):
        where = f"contents[{place}].parts[{index}]"
        if not set(part) & {"text", "inlineData", "functionCall", "functionResponse", "fileData"}:
            yield f"* GenerateContentRequest.{where}.data: required oneof field 'data' must have one initialized field"
        if part.get("text") == "" and "thoughtSignature" not in part:
            yield "Unable to submit request because it has an empty text parameter."
        if part.get("inlineData", {}).get("mimeType", IMAGES[0]) not in IMAGES:
            yield f"Unsupported MIME type: {part['inlineData']['mimeType']}"
        for kind in ("functionCall", "functionResponse"):
            if kind in part and not _NAME.match(part[kind].get("name", "")):
                yield f"* GenerateContentRequest.{where}.{kind}.name: Name cannot be empty or malformed."
        if "thoughtSignature" in part and not _is_base64(part["thoughtSignature"]):
            yield f"Invalid value at '{where}.thought_signature' (TYPE_BYTES), Base64 decoding failed"


def _order(contents: list[dict[str, Any]]) -> Iterator[str]:
    calls = 0
    for place, content in enumerate(contents):
        answers = _count(content, "functionResponse")
        if answers and not calls:
            yield "Please ensure that function response turn comes immediately after a function call turn."
        elif answers != calls:
            yield (
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
        calls = _count(content, "functionCall")
        before = contents[place - 1].get("role") if place else None
        if calls and before != "user":
            yield (
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
    if calls:
        yield "Please ensure that the function call turn is followed by a function response turn."


def _signatures(contents: list[dict[str, Any]]) -> Iterator[str]:
    """In the current turn, the first call of each step must have its signature."""
    start = max(
        (
            place
            for place, content in enumerate(contents)
            if content.get("role") == "user" and not _count(content, "functionResponse")
        ),
        default=0,
    )
    for content in contents[start:]:
        calls = [(place, part) for place, part in enumerate(content.get("parts") or []) if "functionCall" in part]
        if calls and not calls[0][1].get("thoughtSignature"):
            place, part = calls[0]
            yield (
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, function call `default_api:{part['functionCall'].get('name')}` , position {place}."
            )


def _tools(body: dict[str, Any], generation: tuple[int, int]) -> Iterator[str]:
    declared = [each for tool in body.get("tools") or [] for each in tool.get("functionDeclarations") or []]
    searches = any("googleSearch" in tool for tool in body.get("tools") or [])
    if declared and searches and generation < (3, 0):
        yield "Tool use with function calling is unsupported"
    names = [each.get("name", "") for each in declared]
    if len(names) != len(set(names)):
        yield "Duplicate function declaration found."
    for place, each in enumerate(declared):
        where = f"tools[0].function_declarations[{place}]"
        if not _NAME.match(each.get("name", "")):
            yield f"* GenerateContentRequest.{where}.name: Invalid function name."
        if "parameters" in each and "parametersJsonSchema" in each:
            yield f"{where}: parameters and parameters_json_schema are mutually exclusive."
        yield from _older(each.get("parameters"), f"{where}.parameters")


def _older(schema: Any, where: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    for word in schema:
        if word not in OLDER_KEYWORDS:
            yield f"Invalid JSON payload received. Unknown name \"{word}\" at '{where}': Cannot find field."
    for name, inner in (schema.get("properties") or {}).items():
        yield from _older(inner, f"{where}.properties[{name}]")
    yield from _older(schema.get("items"), f"{where}.items")


def _thinking(config: dict[str, Any] | None, model: str, generation: tuple[int, int]) -> Iterator[str]:
    if not config:
        return
    level, budget = config.get("thinkingLevel"), config.get("thinkingBudget")
    if level is not None and budget is not None:
        yield "You can only set only one of thinking budget and thinking level."
    if generation < (2, 5):
        yield "Unable to submit request because thinking is not supported by this model."
    elif generation < (3, 0):
        yield from _budget(level, budget, model)
    else:
        if budget is not None and generation >= (4, 0):
            yield "Thinking budget is not supported for this model."
        if level is not None and level not in _levels(model, generation):
            yield f"Thinking level {level} is not supported for this model. Please retry with other thinking level."


def _budget(level: str | None, budget: int | None, model: str) -> Iterator[str]:
    if level is not None:
        yield "Thinking level is not supported for this model."
    if budget is None or budget == -1:
        return
    if budget == 0 and "pro" in model:
        yield "Budget 0 is invalid. This model only works in thinking mode."
    lowest, highest = (128, 32768) if "pro" in model else (512 if "lite" in model else 1, 24576)
    if budget and not lowest <= budget <= highest:
        yield f"The thinking budget {budget} is invalid. Please choose a value between {lowest} and {highest}."


def _levels(model: str, generation: tuple[int, int]) -> tuple[str, ...]:
    if "pro" in model:
        return ("LOW", "HIGH") if generation == (3, 0) else ("LOW", "MEDIUM", "HIGH")
    return ("LOW", "MEDIUM", "HIGH") if generation >= (3, 7) else ("MINIMAL", "LOW", "MEDIUM", "HIGH")


def _count(content: dict[str, Any], kind: str) -> int:
    return sum(kind in part for part in content.get("parts") or [])


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return False
    return True
