"""Converts a JSON schema to the older, smaller schema format that some Gemini servers require."""

from typing import Any

_KEPT_KEYWORDS = frozenset(
    {"type", "format", "title", "description", "nullable", "enum", "required", "minItems", "maxItems", "minimum"}
    | {"maximum", "minLength", "maxLength", "pattern"}
)
_MAX_DEPTH = 16
"""Recursive schemas are cut at this depth: the older format does not support them."""


def convert_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return `schema` without references and unsupported keywords; what cannot be expressed is left open."""
    definitions = {**_mapping(schema.get("definitions")), **_mapping(schema.get("$defs"))}
    return _rewrite(schema, definitions, 0)


def _rewrite(schema: Any, definitions: dict[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return {}
    reference = schema.get("$ref")
    if isinstance(reference, str):
        named = definitions.get(reference.rpartition("/")[2])
        schema = {**_mapping(named), **{key: value for key, value in schema.items() if key != "$ref"}}
        if "$ref" in schema and depth == _MAX_DEPTH:
            return {}
    kept = {key: value for key, value in schema.items() if key in _KEPT_KEYWORDS}
    if "const" in schema:
        kept["enum"] = [schema["const"]]
    _set_type(kept, schema)
    if isinstance(properties := schema.get("properties"), dict):
        kept["properties"] = {name: _rewrite(value, definitions, depth + 1) for name, value in properties.items()}
    if "items" in schema or kept.get("type") == "array":
        kept["items"] = _rewrite(schema.get("items"), definitions, depth + 1) or {"type": "string"}
    _set_choice(kept, schema, definitions, depth)
    if "enum" in kept:
        kept["enum"] = [value if isinstance(value, str) else str(value) for value in kept["enum"] if value is not None]
        kept["type"] = "string"
    return kept


def _set_type(kept: dict[str, Any], schema: dict[str, Any]) -> None:
    types = schema.get("type")
    if isinstance(types, list):
        real = [name for name in types if name != "null"]
        kept["type"] = real[0] if real else "string"
        if "null" in types:
            kept["nullable"] = True
    elif types is None and "properties" in schema:
        kept["type"] = "object"


def _set_choice(kept: dict[str, Any], schema: dict[str, Any], definitions: dict[str, Any], depth: int) -> None:
    choices = schema.get("anyOf") or schema.get("oneOf")
    if not isinstance(choices, list):
        return
    real = [choice for choice in choices if not (isinstance(choice, dict) and choice.get("type") == "null")]
    if len(real) < len(choices):
        kept["nullable"] = True
    rewritten = [_rewrite(choice, definitions, depth + 1) for choice in real]
    if len(rewritten) == 1:
        kept.update({**rewritten[0], **kept})
    elif rewritten:
        kept["anyOf"] = rewritten


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
