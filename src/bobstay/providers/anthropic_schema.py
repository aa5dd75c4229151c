"""Makes a tool's schema one that the Anthropic API accepts."""

import re
from typing import Any

_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_CHOICES = ("oneOf", "anyOf", "allOf")


def legal_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` if it is legal, else one without what the API refuses a whole request for.

    It must be of type object, may not be a choice at its top level, and the names of its properties are limited. The
    tool itself still checks what it is called with, so a schema may say less than the tool demands.
    """
    properties = schema.get("properties")
    named = properties if isinstance(properties, dict) else {}
    choices = [choice for word in _CHOICES for choice in _list(schema.get(word)) if isinstance(choice, dict)]
    legal_names = all(_KEY.fullmatch(key) for key in named)
    if schema.get("type") == "object" and legal_names and not any(word in schema for word in _CHOICES):
        return schema
    merged = {key: value for choice in choices for key, value in _mapping(choice.get("properties")).items()}
    kept = {key: value for key, value in {**merged, **named}.items() if _KEY.fullmatch(key)}
    rest = {key: value for key, value in schema.items() if key not in _CHOICES}
    required = [key for key in _list(schema.get("required")) if key in kept]
    return {**rest, "type": "object", "properties": kept, **({"required": required} if required else {})}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
