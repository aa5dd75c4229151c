"""Converts a model's tool input to its type, or reports all of its problems at once."""

import operator
import reprlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec

from bobstay.tools.base import Args
from bobstay.tools.schema import RawArgs

A = TypeVar("A", bound=Args)

_MAX_PROBLEMS = 12
"""Problems listed; beyond that the signature helps more than the list."""
_MAX_LENGTH = 6_000
_TYPE_NAMES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_RANGE: tuple[tuple[str, Callable[[float, float], bool], str], ...] = (
    ("minimum", operator.lt, "at least"),
    ("maximum", operator.gt, "at most"),
    ("exclusiveMinimum", operator.le, "more than"),
    ("exclusiveMaximum", operator.ge, "less than"),
)


class InvalidInputError(ValueError):
    """The input of a call does not match the tool's schema. The text is for the model."""


def parse_input(args_type: type[A], input: dict[str, Any], schema: dict[str, Any], *, from_model: bool = False) -> A:
    """Convert `input` to `args_type`, accepting "5" for 5, "true" for true and JSON text for objects and lists.

    Input that comes `from_model` may not set fields outside its schema, such as the answers of a person.

    Raises:
        InvalidInputError: lists all problems and the expected form.
    """
    if not isinstance(input, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - it comes from a model
        raise InvalidInputError(f"The input must be an object, not {_describe(input)}.\n{signature(schema)}")
    if issubclass(args_type, RawArgs):
        return args_type(value=input)
    repaired: Any = input
    try:
        repaired = _repair(input, schema)
        if from_model:
            _require_known_fields(repaired, schema)
        return msgspec.convert(repaired, args_type, strict=False)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the latter: a lone surrogate in a text
        problems = _first(_find_problems(repaired, schema, ""), _MAX_PROBLEMS + 1)
        raise InvalidInputError(_report(problems or [_clip(str(error), 300)], schema)) from None
    except (RecursionError, OverflowError):
        raise InvalidInputError(
            _report(["the input is nested too deeply or contains a number too large"], schema)
        ) from None


def signature(schema: dict[str, Any]) -> str:
    """One line that shows how to call a tool with this schema."""
    return _clip(f"Call it with: {_shape(schema)}   (* = required)", _MAX_LENGTH // 2)


def _require_known_fields(given: dict[str, Any], schema: dict[str, Any]) -> None:
    if schema.get("additionalProperties") is False and given.keys() - schema["properties"].keys():
        raise msgspec.ValidationError("a field that is not in the schema")


def _report(faults: list[str], schema: dict[str, Any]) -> str:
    more = len(faults) > _MAX_PROBLEMS
    shown = faults[:_MAX_PROBLEMS] + (["and more"] if more else [])
    head = "The input has a problem:" if len(faults) == 1 else "The input has problems:"
    listed = _clip("\n".join([head, *(f"- {fault}" for fault in shown)]), _MAX_LENGTH // 2)
    return listed.encode("utf-8", "backslashreplace").decode() + "\n" + signature(schema)


def _repair(value: Any, schema: dict[str, Any]) -> Any:
    """`value` with harmless mistakes repaired: JSON text in place of an object or list, null for an omitted field."""
    kind = schema.get("type")
    if isinstance(value, str) and kind in ("object", "array"):
        value = _decode_json(value, dict if kind == "object" else list)
    if isinstance(value, dict) and "properties" in schema:
        properties, required = schema["properties"], schema.get("required", ())
        return {
            key: _repair(item, properties.get(key, {}))
            for key, item in value.items()
            if item is not None or key in required or key not in properties
        }
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_repair(item, schema["items"]) for item in value]
    return value


def _decode_json(text: str, expected: type) -> Any:
    try:
        decoded = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text
    return decoded if isinstance(decoded, expected) else text


def _find_problems(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    if "anyOf" in schema:
        if all(next(_find_problems(value, choice, path), None) for choice in schema["anyOf"]):
            wanted = " or ".join(_TYPE_NAMES.get(choice.get("type", ""), "another form") for choice in schema["anyOf"])
            yield f"{_at(path)}must be {wanted}, not {_describe(value)}"
        return
    if "enum" in schema and not any(value == choice for choice in schema["enum"]):
        choices = ", ".join(msgspec.json.encode(choice).decode() for choice in schema["enum"])
        yield f"{_at(path)}must be one of {choices}, not {_describe(value)}"
        return
    kind = schema.get("type", "")
    if kind and not _fits(value, kind):
        yield f"{_at(path)}must be {_TYPE_NAMES.get(kind, kind)}, not {_describe(value)}"
        return
    yield from _check_bounds(value, schema, path)
    if isinstance(value, dict):
        yield from _check_members(value, schema, path)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from _find_problems(item, schema["items"], f"{path}[{index}]")


def _check_members(value: dict[str, Any], schema: dict[str, Any], path: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in value]
    for name in missing:
        yield f"{_join(path, name)} is missing (it must be {_wanted(properties.get(name, {}))})"
    if schema.get("additionalProperties") is False:
        for name in value:
            if name not in properties:
                yield f"{_join(path, name)} is not a field{_suggest(name, [*missing, *properties])}"
    for name, item in value.items():
        if name in properties:
            yield from _find_problems(item, properties[name], _join(path, name))


def _check_bounds(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    """Yield numbers out of range, and strings or lists of the wrong length."""
    if isinstance(value, bool):
        return
    if (
        isinstance(value, str)
        and schema.get("type") in ("integer", "number")
        and (number := _number(value, schema["type"])) is not None
    ):
        value = number
    if isinstance(value, int | float):
        for key, is_outside, relation in _RANGE:
            if key in schema and is_outside(value, schema[key]):
                yield f"{_at(path)}must be {relation} {schema[key]}, not {_describe(value)}"
    if isinstance(value, str | list):
        noun, least, most = ("items", "minItems", "maxItems")
        if isinstance(value, str):
            noun, least, most = ("characters", "minLength", "maxLength")
        if len(value) < schema.get(least, 0):
            yield f"{_at(path)}must have at least {schema[least]} {noun}, not {len(value)}"
        if most in schema and len(value) > schema[most]:
            yield f"{_at(path)}must have at most {schema[most]} {noun}, not {len(value)}"


def _fits(value: Any, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer" | "number":
            return _number(value, kind) is not None
        case "boolean":
            return isinstance(value, bool) or value in (0, 1, "0", "1") or str(value).lower() in ("true", "false")
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case "null":
            return value is None
        case _:
            return True


def _number(value: Any, kind: str) -> int | float | None:
    if isinstance(value, bool):
        return None
    try:
        return msgspec.convert(value, int if kind == "integer" else float, strict=False)
    except (msgspec.ValidationError, OverflowError, UnicodeEncodeError):
        return None


def _shape(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(msgspec.json.encode(choice).decode() for choice in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_shape(choice) for choice in schema["anyOf"])
    if "properties" in schema:
        required = schema.get("required", ())
        fields = (
            f"{name}{'*' if name in required else ''}: {_shape(field)}" for name, field in schema["properties"].items()
        )
        return "{" + ", ".join(fields) + "}"
    if isinstance(schema.get("items"), dict):
        return f"[{_shape(schema['items'])}, ...]"
    return str(schema.get("type", "any"))


def _wanted(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + _shape(schema)
    return _TYPE_NAMES.get(schema.get("type", ""), _shape(schema))


def _suggest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name[:64].lower(), [field.lower() for field in known], n=1, cutoff=0.6)
    for field in known:
        if close and field.lower() == close[0]:
            return f"; did you mean {field}?"
    return ""


_BRIEF = reprlib.Repr()
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = 48
_BRIEF.maxlevel = 2


def _describe(value: Any) -> str:
    """Describe a value in JSON terms, with an excerpt."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    for types, noun in ((str, "the string"), (int | float, "the number"), (list, "a list"), (dict, "an object")):
        if isinstance(value, types):
            return noun if types in (list, dict) else f"{noun} {_BRIEF.repr(value)}"
    return f"a {type(value).__name__}"


def _at(path: str) -> str:
    return f"{path} " if path else "the input "


def _join(path: str, name: str) -> str:
    name = _clip(name, 64)
    return f"{path}.{name}" if path else name


def _first(items: Iterator[str], count: int) -> list[str]:
    return [item for item, _ in zip(items, range(count), strict=False)]


def _clip(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
