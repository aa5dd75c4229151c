"""Each limit ends a run with its own name, and structured output is given or asked for (H3-2, H3-6, H3-10)."""

from collections.abc import Callable

import pytest

from bobstay.engine.limits import Limits
from bobstay.model.event import Ending, Prompted, ToolDone
from tests.flow.world import World
from tests.modelserver.script import Call, Counts, Say, Step
from tests.modelserver.server import ModelServer

Make = Callable[..., World]
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "number"}},
    "required": ["name", "age"],
}


def echo(number: int, usage: Counts | None = None) -> Step:
    return Step(blocks=[Call("Bash", {"command": f"echo {number}"}, f"n{number}")], usage=usage or Counts())


@pytest.mark.parametrize(
    ("limits", "ending"),
    [
        (Limits(turns=2), "max_turns"),
        (Limits(cost=0.5), "max_cost"),
        (Limits(tokens=150_000), "max_tokens"),
        (Limits(seconds=0.0), "max_time"),
    ],
)
async def test_a_limit_ends_the_run(server: ModelServer, world: Make, limits: Limits, ending: Ending) -> None:
    here = world(limits=limits)
    done = await here.run(server.play("limit", *[echo(n, Counts(input=100_000)) for n in range(6)]))
    assert done.ending == ending
    assert len(server.requests) <= 2
    assert all(not event.reply.is_error for event in here.of(ToolDone))


async def test_a_model_that_repeats_itself_is_reminded_and_then_stopped(server: ModelServer, world: Make) -> None:
    """F24"""
    here = world()
    same = [Step(blocks=[Call("Bash", {"command": "echo same"}, f"s{n}")]) for n in range(8)]
    done = await here.run(server.play("same", *same))
    assert (done.ending, len(server.requests)) == ("repeating", 5)
    assert [event.why for event in here.of(Prompted)].count("repeat") == 1


async def test_structured_output_ends_the_run_at_once(server: ModelServer, world: Make) -> None:
    here = world(schema=SCHEMA)
    steps = [
        Step(blocks=[Call("StructuredOutput", {"name": 7}, "o1")]),
        Step(blocks=[Call("StructuredOutput", {"name": "Ada", "age": 36}, "o2")]),
        Step(blocks=[Say("never")]),
    ]
    done = await here.run(server.play("schema", *steps))
    assert (done.ending, done.structured) == ("completed", {"name": "Ada", "age": 36})
    assert done.text == '{"name":"Ada","age":36}'
    wrong = here.of(ToolDone)[0].reply
    assert wrong.is_error
    assert "age" in wrong.text
    assert "name" in wrong.text


async def test_a_model_that_forgets_the_structure_is_reminded_once(server: ModelServer, world: Make) -> None:
    here = world(schema=SCHEMA)
    done = await here.run(server.play("forgets", Step(blocks=[Say("one")]), Step(blocks=[Say("two")])))
    assert (done.ending, done.text, done.structured) == ("completed", "two", None)
    assert len(server.requests) == 2


async def test_a_structure_that_never_fits_ends_the_run(server: ModelServer, world: Make) -> None:
    here = world(schema=SCHEMA)
    wrong = [Step(blocks=[Call("StructuredOutput", {"name": n}, f"w{n}")]) for n in range(9)]
    done = await here.run(server.play("wrong", *wrong))
    assert done.ending in ("max_structured_retries", "repeating")
    assert len(server.requests) <= 6
