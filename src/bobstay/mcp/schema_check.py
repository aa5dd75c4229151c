"""Checks the input schemas of MCP tools: one that a model API would refuse would fail every request."""

from typing import Any

import msgspec

from bobstay.mcp.clean_text import clean_text

OPEN_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
MAX_SIZE = 100_000
"""Characters of one schema as JSON."""
_MAX_DEPTH = 32
_MAX_TEXT = 4_000
_MAX_PROBLEM = 200


class BadSchema(ValueError):  # noqa: N818 - it says what the schema is
    """The schema cannot be sent to a model. The text says why."""


def check_schema(schema: Any) -> dict[str, Any]:
    """Return a schema that can be sent: the given one, with its texts cleaned.

    Raises:
        BadSchema: model APIs would refuse it.
    """
    if not isinstance(schema, dict):
        raise BadSchema("its input schema is not an object")
    if schema.get("type", "object") != "object":
        raise BadSchema("its input schema is not of the type object")
    cleaned = _clean(schema, 0)
    assert isinstance(cleaned, dict)
    cleaned.pop("$schema", None)  # some APIs know no dialect but their own
    cleaned = {"type": "object", **cleaned}
    try:
        size = len(msgspec.json.encode(cleaned))
    except (TypeError, ValueError, OverflowError) as error:
        raise BadSchema(f"its input schema is not JSON ({error})") from None
    if size > MAX_SIZE:
        raise BadSchema(f"its input schema has more than {MAX_SIZE:,} characters")
    cleaned.setdefault("properties", {})
    _check_references(cleaned)
    _check_dialect(cleaned)
    return cleaned


def _clean(value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise BadSchema("its input schema is nested too deeply")
    if isinstance(value, str):
        return clean_text(value, _MAX_TEXT)
    if isinstance(value, dict):
        return {clean_text(str(key), 200): _clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item, depth + 1) for item in value]
    return value


def _check_references(schema: dict[str, Any]) -> None:
    """Every reference must lead to a part of the schema itself."""
    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            for key in ("$ref", "$dynamicRef"):
                target = node.get(key)
                if isinstance(target, str) and not _leads_somewhere(schema, target):
                    raise BadSchema(f"its input schema refers to {target[:80]!r}, which is not in it")
            waiting.extend(node.values())


def _leads_somewhere(schema: dict[str, Any], target: str) -> bool:
    if not target.startswith("#"):
        return False
    if not target.startswith("#/"):
        return True  # the schema itself, or an anchor in it
    node: Any = schema
    for step in target[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or name not in node:
            return False
        node = node[name]
    return True


def _check_dialect(schema: dict[str, Any]) -> None:
    if _is_plain(schema):
        return
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = "/".join(str(step) for step in error.path) or "its top"
        raise BadSchema(
            f"its input schema is not a JSON Schema: {error.message[:_MAX_PROBLEM]} (at {where[:80]})"
        ) from None
    except RecursionError:
        raise BadSchema("its input schema is nested too deeply") from None


_TYPES = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_TEXTS = frozenset({"description", "title", "format", "$ref", "$comment"})
_ANYTHING = frozenset({"default", "const"})
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})


def _is_plain(schema: Any) -> bool:
    """Whether a schema has only the usual keywords, used as they must be. That is cheap; a whole check is not."""
    if not isinstance(schema, dict):
        return isinstance(schema, bool)
    return all(_is_plain_keyword(key, value) for key, value in schema.items())


def _is_plain_keyword(key: str, value: Any) -> bool:
    if key in _TEXTS:
        return isinstance(value, str)
    if key in _ANYTHING:
        return True
    if key in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if key in _COUNTS:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if key == "type":
        return value in _TYPES if isinstance(value, str) else False
    if key in ("properties", "$defs"):
        return isinstance(value, dict) and all(_is_plain(item) for item in value.values())
    if key in ("items", "additionalProperties"):
        return _is_plain(value)
    if key in ("anyOf", "oneOf", "allOf"):
        return isinstance(value, list) and bool(value) and all(_is_plain(item) for item in value)
    if key in ("required", "enum"):
        texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return texts and len(set(value)) == len(value)
    return False
