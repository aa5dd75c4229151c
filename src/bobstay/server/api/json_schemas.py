"""JSON Schemas of structs, with the docstrings of their fields as descriptions."""

import ast
import inspect
from collections.abc import Iterable, Iterator
from itertools import pairwise
from textwrap import dedent
from typing import Any

import msgspec
from msgspec import Struct
from msgspec import inspect as types

REF = "#/components/schemas/{name}"
_PREFIX = REF.format(name="")


def components(answers: Iterable[Any], requests: Iterable[Any] = ()) -> dict[str, dict[str, Any]]:
    """The schemas of all structs in these types, by name. In answers, fields with a default are required too."""
    given, taken = tuple(answers), tuple(requests)
    _, found = msgspec.json.schema_components((*given, *taken), ref_template=REF)
    classes = {cls.__name__: cls for cls in _structs((*given, *taken))}
    read = {cls.__name__ for cls in _structs(taken)}
    for name, schema in found.items():
        cls = classes.get(name)
        if cls is None:
            continue
        _describe(schema, cls)
        _remove_internal(schema)
        if name not in read and not cls.__struct_config__.omit_defaults:
            schema["required"] = list(schema.get("properties", {}))
    return dict(sorted(found.items()))


def without_defaults(schema: dict[str, Any]) -> dict[str, Any]:
    """The same without defaults, so that generated types mark fields that are not required as optional."""
    properties = {
        name: {key: value for key, value in field.items() if key != "default"}
        for name, field in schema.get("properties", {}).items()
    }
    return {**schema, "properties": properties}


def schema_of(type_: Any) -> dict[str, Any]:
    """The schema of a type, with references to those of `components`."""
    (schema,), _ = msgspec.json.schema_components((type_,), ref_template=REF)
    return schema


def fields_of(cls: type[Struct]) -> list[tuple[str, dict[str, Any], bool]]:
    """Name, schema and whether it is required, of each field of a struct for queries."""
    _, found = msgspec.json.schema_components((cls,), ref_template=REF)
    schema = found[cls.__name__]
    _describe(schema, cls)
    required = set(schema.get("required", ()))
    return [(name, field, name in required) for name, field in schema["properties"].items()]


def prune(schemas: dict[str, dict[str, Any]], roots: Any) -> dict[str, dict[str, Any]]:
    """Those of `schemas` that `roots` refer to, directly or indirectly."""
    wanted: set[str] = set()
    waiting = list(_references(roots))
    while waiting:
        name = waiting.pop()
        if name in schemas and name not in wanted:
            wanted.add(name)
            waiting.extend(_references(schemas[name]))
    return {name: schema for name, schema in schemas.items() if name in wanted}


def _references(value: Any) -> Iterator[str]:
    match value:
        case {"$ref": str(reference)} if reference.startswith(_PREFIX):
            yield reference.removeprefix(_PREFIX)
        case dict():
            for entry in value.values():
                yield from _references(entry)
        case list() | tuple():
            for entry in value:
                yield from _references(entry)
        case _:
            return


def _remove_internal(schema: dict[str, Any]) -> None:
    """Remove fields that are never sent."""
    for name in [name for name, field in schema.get("properties", {}).items() if "x-internal" in field]:
        del schema["properties"][name]


def _describe(schema: dict[str, Any], cls: type[Struct]) -> None:
    spelled = dict(zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True))
    for name, text in _field_docstrings(cls).items():
        field = schema.get("properties", {}).get(spelled.get(name, name))
        if field is not None and "description" not in field:
            field["description"] = text


def _field_docstrings(cls: type[Struct]) -> dict[str, str]:
    """The docstring below each field of a class and its base classes."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if issubclass(base, Struct) and base is not Struct:
            found |= _own_docstrings(base)
    return found


def _own_docstrings(cls: type[Struct]) -> dict[str, str]:
    try:
        tree = ast.parse(dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):
        return {}
    found: dict[str, str] = {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    for field, after in pairwise(body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
            case _:
                continue
    return found


def _structs(given: Iterable[Any]) -> Iterator[type[Struct]]:
    seen: set[int] = set()
    for info in types.multi_type_info(tuple(given)):
        yield from _structs_in(info, seen)


def _structs_in(info: Any, seen: set[int]) -> Iterator[type[Struct]]:
    if isinstance(info, list | tuple):
        for entry in info:
            yield from _structs_in(entry, seen)
    elif isinstance(info, types.Type | types.Field) and id(info) not in seen:
        seen.add(id(info))
        if isinstance(info, types.StructType):
            yield info.cls
        for name in info.__struct_fields__:
            yield from _structs_in(getattr(info, name), seen)
