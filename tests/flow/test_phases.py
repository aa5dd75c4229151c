"""The phases of a call come in their order, and each of them is there (H1-2, H2-1, H2-3)."""

import asyncio

from bobstay.engine.engine_ports import Answer
from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.event import ToolDone, ToolStarted
from bobstay.tools.base import Args, Context, Outcome, Tool, ToolError
from tests.kit.scripted_session import MakeSession, Person, ScriptedHooks
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

END = Step(blocks=[Say("End.")])


class AreaArgs(Args, frozen=True):
    side: int


class Area(Tool[AreaArgs]):
    """It says nothing of itself but what it needs: all else is left to the defaults."""

    name = "Area"
    description = "The area of a square."
    args = AreaArgs

    async def check(self, args: AreaArgs, context: Context) -> None:
        if args.side < 0:
            raise ToolError("A side cannot be negative.")

    async def run(self, args: AreaArgs, context: Context) -> Outcome:
        await asyncio.to_thread(lambda: None)  # others get their chance to begin
        return Outcome(f"area {args.side**2}")


async def test_a_call_without_sense_is_refused_before_hooks_and_people_see_it(
    model: ModelServer, make_session: MakeSession
) -> None:
    hooks = ScriptedHooks(PreToolUse=lambda _: HookOutcome())
    session = make_session(tools=(Area(),), hooks=hooks, person=Person(lambda _: Answer(True)))
    await session.run(model.play("sense", Step(blocks=[Call("Area", {"side": -1}, "a")]), END))
    assert "A side cannot be negative." in session.of(ToolDone)[0].reply.text
    assert (hooks.calls, session.person.asked, session.of(ToolStarted)) == ([], [], [])


async def test_an_input_that_a_hook_rewrote_must_make_sense_too(model: ModelServer, make_session: MakeSession) -> None:
    hooks = ScriptedHooks(PreToolUse=lambda _: HookOutcome(updated_input={"side": -1}))
    session = make_session(tools=(Area(),), hooks=hooks, allow=("Area",))
    await session.run(model.play("rewritten", Step(blocks=[Call("Area", {"side": 2}, "a")]), END))
    assert "A side cannot be negative." in session.of(ToolDone)[0].reply.text
    assert session.of(ToolStarted) == []


async def test_an_input_that_a_person_rewrote_must_make_sense_too(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(tools=(Area(),), person=Person(lambda _: Answer(True, input={"side": -1})))
    await session.run(model.play("rewritten", Step(blocks=[Call("Area", {"side": 2}, "a")]), END))
    assert "A side cannot be negative." in session.of(ToolDone)[0].reply.text
    assert session.of(ToolStarted) == []


async def test_a_tool_that_says_nothing_of_what_it_touches_runs_alone(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(tools=(Area(),), allow=("Area",))
    calls = [Call("Area", {"side": side}, f"a{side}") for side in range(3)]
    await session.run(model.play("alone", Step(blocks=list(calls)), END))
    assert [type(event) for event in session.of(ToolStarted, ToolDone)] == [ToolStarted, ToolDone] * 3
