"""StructuredOutput: the answer of a run as data."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bobstay.tools.base import Outcome, ToolError
from bobstay.tools.builtin.structured_output import StructuredOutput, find_schema_errors
from bobstay.tools.input_validation import parse_input
from bobstay.tools.schema import RawArgs
from tests.kit.tool_context import make_context

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


async def give(folder: Path, value: dict[str, Any], **services: Any) -> Outcome:
    return await StructuredOutput().run(parse_input(RawArgs, value, PERSON), make_context(folder, **services))


async def test_what_fits_the_schema_is_the_result(tmp_path: Path) -> None:
    """H3-10"""
    outcome = await give(tmp_path, {"name": "Ada", "age": 36}, schema=PERSON)
    assert outcome.structured == {"name": "Ada", "age": 36}


async def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    """H3-10, H2-2"""
    with pytest.raises(ToolError) as caught:
        await give(tmp_path, {"name": 5, "extra": 1}, schema=PERSON)
    problems = str(caught.value)
    assert "/name: 5 is not of type 'string'" in problems
    assert "root: 'age' is a required property" in problems
    assert "'extra'" in problems


async def test_without_a_schema_there_is_nothing_to_match(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="No schema"):
        await give(tmp_path, {})


async def test_a_flood_of_problems_is_bounded(tmp_path: Path) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    with pytest.raises(ToolError) as caught:
        await give(tmp_path, {"x" * 1000 + str(number): [number] * 1000 for number in range(1000)}, schema=schema)
    assert len(str(caught.value)) < 20_000
    assert "and more" in str(caught.value)


def test_a_schema_that_is_none_says_so() -> None:
    (problems,) = find_schema_errors({}, {"type": "no such type"})
    assert "the schema itself is not valid" in problems


def test_references_to_elsewhere_are_never_fetched() -> None:
    (problems,) = find_schema_errors({"a": 1}, {"properties": {"a": {"$ref": "http://127.0.0.1:9/other.json"}}})
    assert "does not contain" in problems
    assert (
        list(
            find_schema_errors(
                {"a": 1}, {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
            )
        )
        == []
    )


def test_the_draft_a_schema_names_is_obeyed() -> None:
    old = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 5, "exclusiveMinimum": True}
    assert list(find_schema_errors(5, old))
    assert list(find_schema_errors(6, old)) == []


def test_an_endless_nest_is_survived() -> None:
    schema: dict[str, Any] = {"$defs": {"n": {"properties": {"a": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}
    deep: dict[str, Any] = {}
    for _ in range(10_000):
        deep = {"a": deep}
    assert list(find_schema_errors(deep, schema)) == ["the output is nested too deeply"]


VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(some.dictionaries(some.sampled_from(["name", "age", "x"]), VALUES))
def test_any_value_is_judged(value: dict[str, Any]) -> None:
    good = value.keys() == {"name", "age"} and isinstance(value["name"], str) and type(value["age"]) is int
    assert (not list(find_schema_errors(value, PERSON))) is good
