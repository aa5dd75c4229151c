"""Generates the JSON schema of a tool from the type of its input."""

from typing import Any

import msgspec

from bobstay.tools.base import Args

_ORDER = ("type", "description", "enum", "const", "anyOf", "items", "properties", "required", "additionalProperties")


HOST_ONLY = msgspec.Meta(extra_json_schema={"hostOnly": True})
"""Marks a field that only the host fills in: it is left out of the schema the model sees."""


class RawArgs(Args, frozen=True):
    """Input without fixed fields: `value` holds the whole object the model sent."""

    value: dict[str, Any] = {}


def check_answer_schema(schema: dict[str, Any]) -> None:
    """Check that the schema for the final answer is valid, before a model is asked for one.

    Raises:
        ValueError: it is not a JSON Schema; the text says what is wrong.
    """
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        location = "/".join(str(step) for step in error.path) or "its top"
        raise ValueError(
            f"The schema for the answer (--json-schema) is not a JSON Schema: {error.message[:300]} (at {location})."
        ) from None


def build_schema(args: type[Args]) -> dict[str, Any]:
    """Build one plain object schema from `args`: no references, no titles, keys in a fixed order.

    Raises:
        TypeError: the type refers to itself, so it cannot be inlined.
    """
    if issubclass(args, RawArgs):
        return {"type": "object"}
    raw = msgspec.json.schema(args)
    plain = _inline(raw, raw.get("$defs", {}), ())
    plain.pop("description", None)  # the class docstring is for programmers
    plain.setdefault("properties", {})
    return _order_keys(plain)


def _inline(node: dict[str, Any], definitions: dict[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
    """`node` with references inlined and programmer-only keys removed."""
    node = {key: value for key, value in node.items() if key not in ("$defs", "title")}
    if "$ref" in node:
        name = str(node.pop("$ref")).rpartition("/")[2]
        if name in within:
            raise TypeError(f"the input type {name} refers to itself; tools need inputs of bounded depth")
        definition = _inline(definitions[name], definitions, (*within, name))
        if "properties" in definition:
            definition.pop("description", None)
            definition["additionalProperties"] = False
        return _order_keys(definition | node)
    if "properties" in node:
        node["properties"] = {
            key: _inline(value, definitions, within)
            for key, value in node["properties"].items()
            if not value.get("hostOnly")
        }
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            node[key] = _inline(node[key], definitions, within)
    if "anyOf" in node:
        node = _drop_null(node, [_inline(choice, definitions, within) for choice in node["anyOf"]])
    if node.get("default", ...) in (None, "", [], {}):
        del node["default"]  # an absent default means the same and takes fewer tokens
    if "type" not in node and "enum" in node and all(isinstance(value, str) for value in node["enum"]):
        node["type"] = "string"
    return _order_keys(node)


def _drop_null(node: dict[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    """Drop null from the choices of an optional field: the model can omit the field instead."""
    if "default" in node:
        choices = [choice for choice in choices if choice != {"type": "null"}]
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    if len(choices) == 1:
        return choices[0] | rest
    return {**rest, "anyOf": choices}


def _order_keys(node: dict[str, Any]) -> dict[str, Any]:
    first = {key: node[key] for key in _ORDER if key in node}
    return first | {key: node[key] for key in sorted(node) if key not in first}
