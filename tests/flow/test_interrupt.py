"""However and whenever a turn is interrupted, every call is answered and the session goes on (F4, H2-7, H3-1)."""

import asyncio
from pathlib import Path

import pytest

from bobstay.engine.engine_ports import Answer
from bobstay.hooks.hook_event import HookMessage, HookOutcome
from bobstay.model.event import (
    BlockDone,
    Event,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    Noted,
    RunDone,
    ToolDone,
)
from bobstay.model.live_events import TextDelta, ToolProgress
from bobstay.model.message import Text, ToolCall
from bobstay.tools.base import Args, Context, Outcome, Tool
from tests.kit.scripted_session import MakeSession, Person, ScriptedHooks
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer
from tests.unit.engine.test_repair import illegalities


def three_tools(model: ModelServer, name: str) -> str:
    return model.play(
        name,
        Step(
            blocks=[
                Say("Looking."),
                Call("Read", {"file_path": "a.txt"}, f"{name}-1"),
                Call("Bash", {"command": "echo hi > b"}, f"{name}-2"),
            ]
        ),
        Step(blocks=[Call("Write", {"file_path": "c.txt", "content": "x"}, f"{name}-3")]),
        Step(blocks=[Say("Done.")]),
    )


@pytest.mark.parametrize("point", range(0, 32, 2))
async def test_an_interrupt_at_any_point_leaves_every_call_answered(
    model: ModelServer, make_session: MakeSession, point: int
) -> None:
    session = make_session(mode="bypassPermissions")
    (session.work / "a.txt").write_text("one")
    seen = 0

    def pull_the_string(_: Event) -> None:
        nonlocal seen
        seen += 1
        if seen == point + 1:
            session.driver.interrupt()

    async with asyncio.timeout(DEADLINE):
        done = await session.run(three_tools(model, f"at{point}"), pull_the_string)
    calls = {event.block.id for event in session.of(BlockDone) if isinstance(event.block, ToolCall)}
    answers = [event.reply.call_id for event in session.of(ToolDone)]
    assert sorted(answers) == sorted(calls)
    if seen > point:
        assert done.ending in ("interrupted_streaming", "interrupted_tools", "completed")
    after = await session.run(model.play(f"after{point}", Step(blocks=[Say("alive")])))
    assert after.text == "alive"
    assert illegalities(session.driver.state.messages) == [] or session.driver.state.messages[-1].role == "assistant"


async def test_the_partial_answer_of_the_model_is_kept(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session()
    gate = Gate()
    prompt = model.play("cut", Step(blocks=[Say("first half"), Say("never")], chunk=100, gate=gate, gate_after=1))
    half = model.play("half", Step(blocks=[Say("abcdef")], chunk=3, chunk_delay=0.2))
    assert prompt

    def stop(event: Event) -> None:
        if isinstance(event, TextDelta):
            assert session.driver.interrupt()

    done = await session.run(half, stop)
    assert done.ending == "interrupted_streaming"
    partial = session.of(BlockDone)[-1]
    assert partial.partial
    assert partial.block == Text("abc")
    assert [event.broken for event in session.of(MessageDone)] == ["kept"], "it is a step of the conversation"


async def test_a_running_command_is_killed_and_answered(
    model: ModelServer, make_session: MakeSession, tmp_path: Path
) -> None:
    session = make_session(allow=("Bash",))
    mark = session.work / "late"
    prompt = model.play("kill", Step(blocks=[Call("Bash", {"command": f"echo up; sleep 30; touch {mark}"}, "a")]))

    def stop(event: Event) -> None:
        if event.__class__.__name__ == "ToolProgress":
            session.driver.interrupt()

    async with asyncio.timeout(DEADLINE):
        done = await session.run(prompt, stop)
    assert done.ending == "interrupted_tools"
    answered = session.of(ToolDone)[0]
    assert answered.interrupted
    assert answered.reply.is_error
    assert "stays done: check before trying again" in answered.reply.text
    assert not mark.exists()


async def test_an_open_question_is_withdrawn(model: ModelServer, make_session: MakeSession) -> None:
    person = Person(lambda _: Answer(True))
    person.hold = asyncio.Event()
    session = make_session(person=person)
    prompt = model.play("ask", Step(blocks=[Call("Bash", {"command": "touch x"}, "a")]))

    def stop(event: Event) -> None:
        if isinstance(event, InteractionOpened):
            asyncio.get_running_loop().call_soon(session.driver.interrupt)

    async with asyncio.timeout(DEADLINE):
        done = await session.run(prompt, stop)
    assert done.ending == "interrupted_tools"
    assert [event.outcome for event in session.of(InteractionClosed)] == ["cancelled"]
    assert "it had no effect" in session.of(ToolDone)[0].reply.text
    assert not (session.work / "x").exists()


async def test_a_request_is_closed_if_the_interrupt_comes_between_its_answer_and_its_end(
    model: ModelServer, make_session: MakeSession
) -> None:
    """A hook answers with a message for the person, which is stored first."""
    person = Person(lambda _: Answer(True))
    person.hold = asyncio.Event()
    answer = HookOutcome(permission={"behavior": "allow"}, messages=(HookMessage("I decide."),))
    session = make_session(person=person, hooks=ScriptedHooks(PermissionRequest=lambda _: answer))

    def stop(event: Event) -> None:
        if isinstance(event, Noted):
            session.driver.interrupt()

    async with asyncio.timeout(DEADLINE):
        await session.run(model.play("ask", Step(blocks=[Call("Bash", {"command": "touch x"}, "a")])), stop)
    assert [event.outcome for event in session.of(InteractionClosed)] == ["cancelled"]
    assert not (session.work / "x").exists()


async def test_a_refusal_that_interrupts_ends_the_turn(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(person=Person(lambda _: Answer(False, "stop it", interrupt=True)))
    done = await session.run(
        model.play("no", Step(blocks=[Call("Bash", {"command": "touch x"}, "a")]), Step(blocks=[Say("never")]))
    )
    assert done.ending == "interrupted_tools"
    assert session.of(ToolDone)[0].reply.text == "stop it"
    assert len(model.requests) == 1


async def test_interrupting_an_idle_session_does_nothing(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session()
    assert not session.driver.interrupt()
    assert (await session.run(model.play("idle", Step(blocks=[Say("ok")])))).text == "ok"


async def test_a_face_that_stops_listening_leaves_nothing_running(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(allow=("Bash",))
    prompt = model.play("leave", Step(blocks=[Call("Bash", {"command": "echo up; sleep 30"}, "a")]))
    turn = session.driver.turn((Text(prompt),))
    async with asyncio.timeout(DEADLINE):
        async for event in turn:
            if event.__class__.__name__ == "ToolProgress":
                break
        await turn.aclose()
    assert not session.driver.busy
    assert not any(isinstance(event, RunDone) for event in session.events)


async def test_a_tool_that_is_interrupted_while_it_reports_has_ended_when_its_call_is_answered(
    model: ModelServer, make_session: MakeSession
) -> None:
    ended = asyncio.Event()
    ended_when_answered: list[bool] = []

    class Reporting(Tool[Args]):
        name = "reporting"
        description = "Reports, and takes a while to end."
        args = Args

        async def run(self, args: Args, context: Context) -> Outcome:
            try:
                context.report("up")
                await asyncio.Event().wait()
            finally:
                for _ in range(50):
                    await asyncio.sleep(0)
                ended.set()
            raise AssertionError("it waits until it is cancelled")

    def interrupt(event: Event) -> None:
        if isinstance(event, ToolProgress):
            session.driver.interrupt()
        elif isinstance(event, ToolDone):
            ended_when_answered.append(ended.is_set())

    session = make_session(mode="bypassPermissions", tools=(Reporting(),))
    await session.run(model.play("reports", Step(blocks=[Call("reporting", {}, "a")])), interrupt)
    assert ended_when_answered == [True]
