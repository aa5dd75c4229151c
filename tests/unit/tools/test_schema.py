"""Schemas sent to the model are plain, complete and stable."""

import json
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from msgspec import Meta, Struct, field

from bobstay.tools import builtin
from bobstay.tools.base import Args
from bobstay.tools.schema import HOST_ONLY, RawArgs, build_schema
from bobstay.tools.tool_scan import discover


class Inner(Struct, frozen=True):
    """Documentation for programmers."""

    name: Annotated[str, Meta(description="what it is called", min_length=1)]
    active_form: str = field(name="activeForm", default="")


class Outer(Args, frozen=True):
    """Documentation for programmers."""

    items: Annotated[list[Inner], Meta(max_length=4, description="some")]
    one: Annotated[Inner, Meta(description="the one")]
    kind: Literal["a", "b"] = "a"
    count: Annotated[int, Meta(ge=1)] | None = None
    maybe: Annotated[Inner | None, Meta(description="perhaps")] = None
    either: int | str | None = None
    free: dict[str, Any] = {}
    answers: Annotated[dict[str, str] | None, HOST_ONLY] = None


class Endless(Args, frozen=True):
    inside: "Endless | None" = None


INNER = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "what it is called", "minLength": 1},
        "activeForm": {"type": "string"},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def test_the_schema_is_one_plain_object_without_references_or_titles() -> None:
    """H1-1"""
    assert build_schema(Outer) == {
        "type": "object",
        "properties": {
            "items": {"type": "array", "description": "some", "items": INNER, "maxItems": 4},
            "one": INNER | {"description": "the one"},
            "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "count": {"type": "integer", "minimum": 1},
            "maybe": INNER | {"description": "perhaps"},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "free": {"type": "object"},
        },
        "required": ["items", "one"],
        "additionalProperties": False,
    }


def test_the_schema_has_the_same_bytes_every_time() -> None:
    """F32"""
    assert json.dumps(build_schema(Outer)) == json.dumps(build_schema(Outer))
    assert list(build_schema(Outer)) == ["type", "properties", "required", "additionalProperties"]


def test_a_tool_without_input_still_has_an_object_schema() -> None:
    class Nothing(Args, frozen=True):
        pass

    assert build_schema(Nothing) == {"type": "object", "properties": {}, "additionalProperties": False} | {
        "required": []
    }


def test_raw_input_is_any_object() -> None:
    assert build_schema(RawArgs) == {"type": "object"}


def test_a_type_that_contains_itself_is_refused() -> None:
    with pytest.raises(TypeError, match="refers to itself"):
        build_schema(Endless)


def test_every_built_in_schema_is_valid_and_explains_its_fields() -> None:
    for tool in discover(builtin):
        schema = build_schema(tool.args)
        Draft202012Validator.check_schema(schema)
        assert "$ref" not in json.dumps(schema)
        assert '"title"' not in json.dumps(schema)
        assert tool.description.strip(), tool.name
