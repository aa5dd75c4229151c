"""Adapts a tool's schema to what the Anthropic API accepts."""

import re
from typing import Any

_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_CHOICE_KEYWORDS = ("oneOf", "anyOf", "allOf")


def adapt_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` if the API accepts it, else one without the parts for which it refuses the whole request.

    The type must be object, the top level must not be a choice, and property names are limited. The tool still
    validates its input, so the schema may demand less than the tool does.
    """
    properties = schema.get("properties")
    named = properties if isinstance(properties, dict) else {}
    choices = [choice for key in _CHOICE_KEYWORDS for choice in _list(schema.get(key)) if isinstance(choice, dict)]
    legal_names = all(_KEY.fullmatch(key) for key in named)
    if schema.get("type") == "object" and legal_names and not any(key in schema for key in _CHOICE_KEYWORDS):
        return schema
    merged = {key: value for choice in choices for key, value in _mapping(choice.get("properties")).items()}
    kept = {key: value for key, value in {**merged, **named}.items() if _KEY.fullmatch(key)}
    rest = {key: value for key, value in schema.items() if key not in _CHOICE_KEYWORDS}
    required = [key for key in _list(schema.get("required")) if key in kept]
    return {**rest, "type": "object", "properties": kept, **({"required": required} if required else {})}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
