"""The JSON schema a model is given for a tool, made from the type of the tool's input."""

from typing import Any

import msgspec

from bobstay.tools.base import Args

_ORDER = ("type", "description", "enum", "const", "anyOf", "items", "properties", "required", "additionalProperties")


HOST_ONLY = msgspec.Meta(extra_json_schema={"hostOnly": True})
"""Marks a field that only the program around the session fills in: the model is not told of it."""


class RawArgs(Args, frozen=True):
    """Input that is not a fixed set of fields: whatever object the model sent, whole, in `value`."""

    value: dict[str, Any] = {}


def check_answer_schema(schema: dict[str, Any]) -> None:
    """Refuse a schema that no answer could fit, before a model is asked for one.

    Raises:
        ValueError: it is no JSON Schema; the text says what is wrong.
    """
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        place = "/".join(str(step) for step in error.path) or "its top"
        raise ValueError(
            f"The schema for the answer (--json-schema) is not a JSON Schema: {error.message[:300]} (at {place})."
        ) from None


def schema_of(args: type[Args]) -> dict[str, Any]:
    """Describe `args` as one plain object schema: no references, no titles, keys always in the same order.

    Raises:
        TypeError: the type refers to itself, so it cannot be written out in full.
    """
    if issubclass(args, RawArgs):
        return {"type": "object"}
    raw = msgspec.json.schema(args)
    plain = _plain(raw, raw.get("$defs", {}), ())
    plain.pop("description", None)  # the class docstring speaks to programmers
    plain.setdefault("properties", {})
    return _ordered(plain)


def _plain(node: dict[str, Any], definitions: dict[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
    """`node` with its references written out and what only programmers care about left out."""
    node = {key: value for key, value in node.items() if key not in ("$defs", "title")}
    if "$ref" in node:
        name = str(node.pop("$ref")).rpartition("/")[2]
        if name in within:
            raise TypeError(f"the input type {name} refers to itself; tools need inputs of bounded depth")
        meant = _plain(definitions[name], definitions, (*within, name))
        if "properties" in meant:
            meant.pop("description", None)
            meant["additionalProperties"] = False
        return _ordered(meant | node)
    if "properties" in node:
        node["properties"] = {
            key: _plain(value, definitions, within)
            for key, value in node["properties"].items()
            if not value.get("hostOnly")
        }
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            node[key] = _plain(node[key], definitions, within)
    if "anyOf" in node:
        node = _without_null(node, [_plain(choice, definitions, within) for choice in node["anyOf"]])
    if node.get("default", ...) in (None, "", [], {}):
        del node["default"]  # "absent" says the same with fewer words
    if "type" not in node and "enum" in node and all(isinstance(value, str) for value in node["enum"]):
        node["type"] = "string"
    return _ordered(node)


def _without_null(node: dict[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    """An optional field is simply left out, so the model need not hear that it may also be null."""
    if "default" in node:
        choices = [choice for choice in choices if choice != {"type": "null"}]
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    if len(choices) == 1:
        return choices[0] | rest
    return {**rest, "anyOf": choices}


def _ordered(node: dict[str, Any]) -> dict[str, Any]:
    first = {key: node[key] for key in _ORDER if key in node}
    return first | {key: node[key] for key in sorted(node) if key not in first}
