"""Invalid tool input is answered with all of its problems and the expected form."""

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec import Meta, field

from bobstay.tools import builtin
from bobstay.tools.base import Args
from bobstay.tools.input_validation import InvalidInputError, parse_input, signature
from bobstay.tools.schema import RawArgs, build_schema
from bobstay.tools.tool_scan import discover


class Row(Args, frozen=True):
    name: Annotated[str, Meta(min_length=1)]
    active: bool = field(name="isActive", default=False)


class Order(Args, frozen=True):
    file_path: str
    rows: Annotated[list[Row], Meta(max_length=3)]
    limit: Annotated[int, Meta(ge=1, le=10)] | None = None
    ratio: float = 1.0
    kind: Literal["new", "old"] = "new"
    options: dict[str, int] = {}
    either: int | str | None = None


SCHEMA = build_schema(Order)


def wrong(given_input: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        parse_input(Order, given_input, SCHEMA)
    return str(caught.value)


def test_all_problems_are_told_at_once() -> None:
    """H2-2"""
    message = wrong(
        {"filepath": "x", "rows": [{"name": "", "extra": 1}, 5], "limit": 0, "kind": "odd", "ratio": "much"}
    )
    assert message.splitlines() == [
        "The input has problems:",
        "- file_path is missing (it must be a string)",
        "- filepath is not a field; did you mean file_path?",
        "- rows[0].extra is not a field",
        "- rows[0].name must have at least 1 characters, not 0",
        "- rows[1] must be an object, not the number 5",
        "- limit must be at least 1, not the number 0",
        '- kind must be one of "new", "old", not the string \'odd\'',
        "- ratio must be a number, not the string 'much'",
        (
            "Call it with: {file_path*: string, rows*: [{name*: string, isActive: boolean}, ...], limit: integer, "
            'ratio: number, kind: "new" | "old", options: object, either: integer | string}   (* = required)'
        ),
    ]


def test_harmless_slips_are_put_right() -> None:
    """H2-2: numbers, truth values, lists and objects as text, and null for omitted fields."""
    order = parse_input(
        Order,
        {
            "file_path": "x",
            "rows": '[{"name": "a", "isActive": "true"}]',
            "limit": "5",
            "ratio": "0.5",
            "kind": None,
            "options": '{"a": "1"}',
        },
        SCHEMA,
    )
    assert order == Order("x", [Row("a", True)], 5, 0.5, "new", {"a": 1})


def test_text_that_looks_like_json_stays_text_where_text_is_wanted() -> None:
    assert parse_input(Order, {"file_path": "[1]", "rows": []}, SCHEMA).file_path == "[1]"


def test_null_for_a_required_field_is_a_problem() -> None:
    assert "file_path must be a string, not null" in wrong({"file_path": None, "rows": []})


def test_too_many_items_are_told() -> None:
    assert "rows must have at most 3 items, not 4" in wrong({"file_path": "x", "rows": [{"name": "a"}] * 4})


def test_no_form_of_several_fits() -> None:
    assert "either must be an integer or a string, not a list" in wrong({"file_path": "x", "rows": [], "either": []})


@pytest.mark.parametrize("given_input", [None, 5, "text", [1]])
def test_an_input_that_is_no_object_is_a_problem(given_input: Any) -> None:
    assert wrong(given_input).startswith("The input must be an object")


def test_raw_input_is_taken_whole() -> None:
    assert parse_input(RawArgs, {"any": {"thing": 1}}, {"type": "object"}).value == {"any": {"thing": 1}}


def test_the_answer_is_short_however_long_the_input() -> None:
    huge = {"x" * 100_000: 1} | {f"field{number}": "y" * 1000 for number in range(10_000)}
    assert len(wrong(huge)) < 7_000
    assert len(wrong({"file_path": 10**400, "rows": "[" * 100_000})) < 7_000
    assert "and more" in wrong(huge)


def test_a_deep_nest_of_json_text_is_survived() -> None:
    assert "rows must be a list" in wrong({"file_path": "x", "rows": "[" * 1_000_000 + "]" * 1_000_000})
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert wrong({"file_path": "x", "rows": deep})


def test_halves_of_characters_are_survived() -> None:
    message = wrong({"file_path": "x", "rows": [], "limit": "\ud800", "\udfff": 1, "kind": "\udcff"})
    assert "limit must be an integer" in message
    assert "\\udfff is not a field" in message
    message.encode()


def test_every_built_in_tool_can_say_how_it_is_called() -> None:
    for tool in discover(builtin):
        assert signature(build_schema(tool.args)).startswith("Call it with: ")


TEXTS = some.text('abtrue0159.-[]{}":, \ud800\0é', max_size=12)
JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | TEXTS,
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
FIELDS = some.sampled_from(["file_path", "rows", "limit", "ratio", "kind", "options", "either", "name", "isActive"])
ROWS = some.lists(some.dictionaries(FIELDS, JSON, max_size=3), max_size=5)


def outcome(args_type: type[Args], given_input: dict[str, Any], schema: dict[str, Any]) -> Args | str:
    """The parsed arguments, or the text of the refusal. Any other exception is a bug."""
    try:
        return parse_input(args_type, given_input, schema)
    except InvalidInputError as error:
        return str(error)


@settings(max_examples=120, deadline=None)
@given(some.dictionaries(FIELDS | TEXTS, JSON | ROWS, max_size=8))
def test_any_json_is_either_taken_or_refused_in_words(given_input: dict[str, Any]) -> None:
    result = outcome(Order, given_input, SCHEMA)
    if isinstance(result, str):
        assert len(result) < 7_000
        assert "Call it with" in result
        assert result.count("\n- ") >= 1
        result.encode()
    else:
        assert isinstance(result, Order)


@settings(max_examples=60, deadline=None)
@given(some.data())
def test_no_built_in_tool_breaks_on_any_input(data: some.DataObject) -> None:
    tool = data.draw(some.sampled_from(sorted(discover(builtin), key=lambda tool: tool.name)))
    schema = build_schema(tool.args)
    names = some.sampled_from(sorted(schema.get("properties", {}))) if schema.get("properties") else some.just("x")
    given_input = data.draw(some.dictionaries(names | TEXTS, JSON | some.lists(JSON, max_size=3)))
    assert isinstance(outcome(tool.args, given_input, schema), tool.args | str)
