"""Each limit ends a run with its own name, and structured output is given or asked for (H3-2, H3-6, H3-10)."""

import asyncio
from typing import Any

import pytest

from bobstay.engine.agent import RetryPolicy
from bobstay.engine.engine_ports import Answer
from bobstay.engine.limits import Limits
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookOutcome
from bobstay.model.event import Ending, Prompted, ToolDone
from bobstay.tools.builtin.bash import Bash, BashArgs
from tests.kit.scripted_session import MakeSession, Person, ScriptedHooks
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Counts, Gate, Say, Step
from tests.modelserver.server import ModelServer

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
async def test_a_limit_ends_the_run(
    model: ModelServer, make_session: MakeSession, limits: Limits, ending: Ending
) -> None:
    session = make_session(limits=limits)
    done = await session.run(model.play("limit", *[echo(n, Counts(input=100_000)) for n in range(6)]))
    assert done.ending == ending
    assert len(model.requests) <= 2
    assert all(not event.reply.is_error for event in session.of(ToolDone))


async def test_the_time_limit_cuts_a_running_tool(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(allow=("Bash",), limits=Limits(seconds=0.3))
    async with asyncio.timeout(DEADLINE):
        done = await session.run(model.play("slow", Step(blocks=[Call("Bash", {"command": "sleep 300"}, "a")])))
    assert (done.ending, done.text) == ("max_time", "Reached maximum time (0.3 s)")
    (reply,) = [event.reply for event in session.of(ToolDone)]
    assert "the time for this run was over" in reply.text
    assert [event.why for event in session.of(Prompted)] == ["", "time_limit"]
    assert session.shells.detach() == (), "no command runs any more"


async def test_the_time_limit_cuts_a_hook_that_looks_at_the_prompt(
    model: ModelServer, make_session: MakeSession
) -> None:
    class Slow(ScriptedHooks):
        async def run(self, call: HookCall) -> HookOutcome:
            await asyncio.Event().wait()
            return NO_OPINION

    session = make_session(limits=Limits(seconds=0.1), hooks=Slow(UserPromptSubmit=lambda _: NO_OPINION))
    async with asyncio.timeout(DEADLINE):
        done = await session.run("hello")
    assert (done.ending, len(model.requests)) == ("max_time", 0)


async def test_the_time_limit_cuts_a_stream(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(limits=Limits(seconds=0.3))
    gate = Gate()
    step = Step(blocks=[Say("a part of "), Say("the answer")], gate=gate, gate_after=1)
    async with asyncio.timeout(DEADLINE):
        done = await session.run(model.play("stream", step))
    gate.open()
    assert done.ending == "max_time"
    assert not any("interrupted by user" in str(event.blocks) for event in session.of(Prompted))


async def test_the_time_limit_cuts_the_pause_before_a_retry(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(limits=Limits(seconds=0.3), retry=RetryPolicy(attempts=3, first=300))
    async with asyncio.timeout(DEADLINE):
        done = await session.run(model.play("retry", Step(status=529, times=9, then=Step(blocks=[Say("late")]))))
    assert done.ending == "max_time"


async def test_each_turn_has_the_whole_time(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(limits=Limits(seconds=30))
    for name in ("one", "two"):
        assert (await session.run(model.play(name, Step(blocks=[Say(name)])))).ending == "completed"


async def test_a_model_that_repeats_itself_is_reminded_twice_and_then_stopped(
    model: ModelServer, make_session: MakeSession
) -> None:
    """F24"""
    session = make_session()
    same = [Step(blocks=[Call("Bash", {"command": "echo same"}, f"s{n}")]) for n in range(12)]
    done = await session.run(model.play("same", *same))
    assert (done.ending, len(model.requests)) == ("repeating", 10)
    assert [event.why for event in session.of(Prompted)].count("repeat") == 2


@pytest.mark.parametrize(
    "commands",
    [
        [[f"test -e missing{n}"] for n in range(12)],
        [[f"test -e missing{n}" for n in range(12)]],
        [["sleep 0"] for _ in range(12)],
        [["sleep 0"] if n % 2 else ["test -e missing"] for n in range(24)],
    ],
    ids=["one a step", "all in one answer", "waiting", "waiting between looks"],
)
async def test_quiet_failures_and_waiting_never_stop_a_run(
    model: ModelServer, make_session: MakeSession, commands: list[list[str]]
) -> None:
    """H3-6: different inputs, several calls of one answer, and `sleep`."""
    session = make_session(allow=("Bash",))
    steps = [Step(blocks=[Call("Bash", {"command": each}) for each in step]) for step in commands]
    done = await session.run(model.play("quiet", *steps, Step(blocks=[Say("done")])))
    assert (done.ending, done.text) == ("completed", "done")
    assert "repeat" not in [event.why for event in session.of(Prompted)]


async def test_polling_a_silent_background_command_never_stops_a_run(
    model: ModelServer, make_session: MakeSession
) -> None:
    """H3-6"""
    session = make_session(allow=("Bash",))
    started = await Bash().run(
        BashArgs("sleep 300", run_in_background=True), session.tool_environment.context("x", "", print)
    )
    job = started.display["backgroundTaskId"]
    polls = [Step(blocks=[Call("BashOutput", {"bash_id": job})]) for _ in range(12)]
    done = await session.run(model.play("polls", *polls, Step(blocks=[Say("still running")])))
    assert (done.ending, done.text) == ("completed", "still running")


async def test_a_person_who_refuses_again_and_again_does_not_end_the_run(
    model: ModelServer, make_session: MakeSession
) -> None:
    """H3-6"""
    session = make_session(person=Person(lambda _: Answer(False, "not now")))
    asked = [Step(blocks=[Call("Bash", {"command": f"touch x{n}"})]) for n in range(11)]
    done = await session.run(model.play("refused", *asked, Step(blocks=[Say("I give in")])))
    assert (done.ending, done.text) == ("completed", "I give in")


async def test_structured_output_ends_the_run_at_once(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(schema=SCHEMA)
    steps = [
        Step(blocks=[Call("StructuredOutput", {"name": 7}, "o1")]),
        Step(blocks=[Call("StructuredOutput", {"name": "Ada", "age": 36}, "o2")]),
        Step(blocks=[Say("never")]),
    ]
    done = await session.run(model.play("schema", *steps))
    assert (done.ending, done.structured) == ("completed", {"name": "Ada", "age": 36})
    assert done.text == '{"name":"Ada","age":36}'
    wrong = session.of(ToolDone)[0].reply
    assert wrong.is_error
    assert "age" in wrong.text
    assert "name" in wrong.text


FILLED = Step(blocks=[Call("StructuredOutput", {"name": "Ada", "age": 36}, "o")])
FORCED: dict[str, dict[str, Any]] = {
    "anthropic": {"tool_choice": {"type": "tool", "name": "StructuredOutput"}},
    "openrouter": {"tool_choice": {"type": "function", "function": {"name": "StructuredOutput"}}},
    "responses": {"tool_choice": {"type": "function", "name": "StructuredOutput"}},
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["StructuredOutput"]}}},
}


@pytest.mark.parametrize("vendor", list(FORCED))
async def test_a_model_that_forgets_the_structure_is_made_to_give_it(
    model: ModelServer, make_session: MakeSession, vendor: str
) -> None:
    session = make_session(schema=SCHEMA, vendor=vendor)
    done = await session.run(model.play("forgets", Step(blocks=[Say("It is Ada.")]), FILLED))
    assert (done.ending, done.structured) == ("completed", {"name": "Ada", "age": 36})
    first, second = (request.body for request in model.requests)
    for key, value in FORCED[vendor].items():
        assert key not in first
        assert second[key] == value


async def test_a_model_that_never_gives_the_structure_ends_with_its_own_error(
    model: ModelServer, make_session: MakeSession
) -> None:
    done = await make_session(schema=SCHEMA).run(model.play("never", Step(blocks=[Say("It is Ada.")])))
    assert (done.ending, done.structured, len(model.requests)) == ("max_structured_retries", None, 6)


async def test_text_and_wrong_structures_count_together(model: ModelServer, make_session: MakeSession) -> None:
    text, wrong = Step(blocks=[Say("It is Ada.")]), Step(blocks=[Call("StructuredOutput", {"name": 7})])
    done = await make_session(schema=SCHEMA).run(model.play("both", text, wrong, text, wrong, text, wrong, FILLED))
    assert (done.ending, len(model.requests)) == ("max_structured_retries", 6)


@pytest.mark.parametrize("thinking", ["adaptive", 2_000])
async def test_a_model_that_thinks_is_only_asked_to_give_the_structure(
    model: ModelServer, make_session: MakeSession, thinking: Any
) -> None:
    """Claude refuses to be forced while it thinks."""
    session = make_session(schema=SCHEMA, thinking=thinking)
    done = await session.run(model.play("thinks", Step(blocks=[Say("It is Ada.")]), FILLED))
    assert done.structured == {"name": "Ada", "age": 36}
    assert model.refused == []
    assert "thinking" in model.requests[1].body


async def test_a_server_that_cannot_be_made_to_use_a_tool_is_asked_without(
    model: ModelServer, make_session: MakeSession
) -> None:
    def refusing(body: Any) -> Step:
        if "tool_choice" in body:
            return Step(status=400, message="deepseek-reasoner does not support this tool_choice")
        return FILLED

    done = await make_session(schema=SCHEMA, vendor="vllm").run(
        model.play("no", Step(blocks=[Say("It is Ada.")]), refusing)
    )
    assert (done.ending, done.structured) == ("completed", {"name": "Ada", "age": 36})
    assert len(model.requests) == 3


async def test_a_structure_that_never_fits_ends_the_run(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(schema=SCHEMA)
    wrong = [Step(blocks=[Call("StructuredOutput", {"name": n}, f"w{n}")]) for n in range(9)]
    done = await session.run(model.play("wrong", *wrong))
    assert done.ending in ("max_structured_retries", "repeating")
    assert len(model.requests) <= 6
