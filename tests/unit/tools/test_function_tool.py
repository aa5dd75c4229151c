"""Tools made from ordinary functions."""

import asyncio
import threading
from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Meta, Struct

from bobstay.permissions.access import Access
from bobstay.tools.base import EVERYTHING, Context, Outcome
from bobstay.tools.function_tool import FunctionTool, tool
from bobstay.tools.input_validation import InvalidInputError, parse_input
from bobstay.tools.tool_registry import describe_tool
from tests.kit.tool_context import make_context


async def call(made: FunctionTool, context: Context, **given: Any) -> Outcome:
    return await made.run(parse_input(made.args, given, describe_tool(made).schema), context)


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return make_context(tmp_path)


class Point(Struct, frozen=True):
    x: int
    y: int = 0


@tool
def move(
    point: Point, steps: Annotated[int, "how far"] = 1, pace: Annotated[float, Meta(gt=0, description="how fast")] = 1.0
) -> dict[str, Any]:
    """Move a point to the right."""
    return {"x": point.x + steps, "thread": threading.current_thread() is threading.main_thread(), "pace": pace}


def test_the_parameters_become_the_schema_and_the_docstring_the_description() -> None:
    """H1-1"""
    entry = describe_tool(move)
    assert (entry.name, entry.description) == ("move", "Move a point to the right.")
    assert entry.schema["required"] == ["point"]
    assert entry.schema["properties"]["steps"] == {"type": "integer", "description": "how far", "default": 1}
    assert entry.schema["properties"]["pace"]["exclusiveMinimum"] == 0
    assert entry.schema["properties"]["point"]["required"] == ["x"]


async def test_a_plain_function_runs_in_a_thread_and_its_data_becomes_json(context: Context) -> None:
    outcome = await call(move, context, point={"x": "2"}, steps=3)
    assert outcome.content == '{"x":5,"thread":false,"pace":1.0}'
    assert outcome.display == {"x": 5, "thread": False, "pace": 1.0}


async def test_an_async_function_runs_in_the_loop_and_may_ask_for_the_context(context: Context) -> None:
    @tool(name="whoami", description="Says where it runs.")
    async def where(context: Context, suffix: str = "") -> str:
        await asyncio.sleep(0)
        return f"{context.call_id}{suffix}"

    assert (await call(where, context, suffix="!")).content == "call_1!"
    assert where.name == "whoami"
    assert "context" not in describe_tool(where).schema["properties"]


async def test_an_outcome_passes_and_none_means_done(context: Context) -> None:
    @tool
    def give(full: bool) -> Outcome | None:
        """Gives."""
        return Outcome("all of it", cwd="/x") if full else None

    assert (await call(give, context, full=True)).cwd == "/x"
    assert (await call(give, context, full=False)).content == "Done."


async def test_a_result_that_is_no_data_is_a_clear_error(context: Context) -> None:
    @tool
    def bad() -> object:
        """Bad."""
        return object()

    with pytest.raises(TypeError, match="must return text, JSON values or an Outcome"):
        await call(bad, context)


def test_a_tool_that_states_nothing_is_asked_about_and_runs_alone(context: Context) -> None:
    """H1-2"""
    args = parse_input(move.args, {"point": {"x": 1}}, describe_tool(move).schema)
    assert move.access(args, context) == ()
    assert move.read_only(args, context) is False
    assert move.claims(args, context) == (EVERYTHING,)


def test_a_read_only_tool_says_that_it_touches_nothing(context: Context) -> None:
    @tool(read_only=True)
    def look() -> str:
        """Looks."""
        return "seen"

    args = look.args()
    assert look.access(args, context) == (Access("none"),)
    assert look.read_only(args, context) is True
    assert look.claims(args, context) == ()


def test_the_function_can_still_be_called() -> None:
    assert move(Point(1), steps=4)["x"] == 5


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="stepz is not a field; did you mean steps"):
        parse_input(move.args, {"point": {"x": 1}, "stepz": 2}, describe_tool(move).schema)


def test_a_function_that_cannot_be_described_is_refused() -> None:
    def bare(x: int) -> int:
        return x

    def untyped(x) -> int:  # type: ignore[no-untyped-def] # the point of the test
        """Has no type."""
        return int(x)

    def many(*numbers: int) -> int:
        """Takes any number."""
        return sum(numbers)

    for function, reason in (
        (bare, "docstring"),
        (untyped, "x has no type"),
        (many, "numbers cannot be passed by name"),
    ):
        with pytest.raises(TypeError, match=reason):
            tool(function)
