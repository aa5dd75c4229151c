"""Messages sent while busy are folded in or queued, and none is lost (H3-9, F36)."""

import asyncio
from collections.abc import Callable

import pytest

from bobstay.engine.limits import Limits
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookOutcome
from bobstay.model.event import Event, InputQueued, Noted, Prompted, ToolStarted
from bobstay.model.live_events import TextDelta
from bobstay.model.message import Text
from tests.kit.scripted_session import MakeSession, ScriptedHooks, ScriptedSession
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


def queue_on(kind: type[Event], session: ScriptedSession, *messages: InputQueued) -> Callable[[Event], None]:
    left = list(messages)

    def act(event: Event) -> None:
        if isinstance(event, kind):
            while left:
                session.driver.queue(left.pop(0))

    return act


async def test_a_steering_message_is_folded_in_after_the_running_tool(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(allow=("Bash",))
    prompt = model.play("steer", Step(blocks=[Call("Bash", {"command": "true"}, "a")]), Step(blocks=[Say("Both.")]))
    done = await session.run(prompt, queue_on(ToolStarted, session, InputQueued("q", (Text("also this"),))))
    assert done.text == "Both."
    assert "also this" in str(model.requests[-1].body["messages"][-1])
    assert [event.id for event in session.of(Prompted)][-1] == "q"
    assert session.driver.state.queued == ()


async def test_a_queued_message_waits_for_its_own_turn(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(allow=("Bash",))
    prompt = model.play("queue", Step(blocks=[Call("Bash", {"command": "true"}, "a")]), Step(blocks=[Say("One.")]))
    await session.run(prompt, queue_on(ToolStarted, session, InputQueued("q", (Text("later"),), "queue")))
    assert "later" not in str(model.requests[-1].body)
    assert [entry.id for entry in session.driver.state.queued] == ["q"]


async def test_a_queued_message_is_kept_as_it_was_typed_even_if_it_looks_like_a_token(
    make_session: MakeSession,
) -> None:
    session = make_session()
    typed = (Text("try it with ghp_" + "Ab3" * 13),)
    session.driver.queue(InputQueued("q", typed, "queue"))
    assert session.driver.state.queued[0].blocks == typed


async def test_a_steering_message_during_plain_text_stays_for_the_next_turn(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session()
    await session.run(
        model.play("text", Step(blocks=[Say("words")])), queue_on(TextDelta, session, InputQueued("q", (Text("x"),)))
    )
    assert [entry.id for entry in session.driver.state.queued] == ["q"]


async def test_a_queued_message_survives_a_limit_an_interrupt_and_a_crash(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(allow=("Bash",), limits=Limits(turns=1))
    prompt = model.play("limit", Step(blocks=[Call("Bash", {"command": "true"}, "a")]))
    kept = InputQueued("q", (Text("keep me"),), "queue")
    done = await session.run(prompt, queue_on(ToolStarted, session, kept))
    assert done.ending == "max_turns"
    session.log.close()
    again = make_session(allow=("Bash",))
    assert again.driver.state.queued == (kept,)

    def interrupt(event: Event) -> None:
        if isinstance(event, ToolStarted):
            again.driver.interrupt()

    async with asyncio.timeout(DEADLINE):
        await again.run(model.play("stop", Step(blocks=[Call("Bash", {"command": "sleep 9"}, "b")])), interrupt)
    assert again.driver.state.queued == (kept,)


@pytest.mark.parametrize("moment", ["before its first event", "while hooks look at it"])
async def test_a_message_that_comes_after_a_prompt_is_not_read_before_it(
    model: ModelServer, make_session: MakeSession, moment: str
) -> None:
    later = InputQueued("q", (Text("and then this"),))

    def submitted(_: HookCall) -> HookOutcome:
        if moment == "while hooks look at it":
            session.driver.queue(later)
        return NO_OPINION

    session = make_session(allow=("Bash",), hooks=ScriptedHooks(UserPromptSubmit=submitted))
    prompt = model.play("two", Step(blocks=[Call("Bash", {"command": "true"}, "a")]), Step(blocks=[Say("Both.")]))
    turn = session.driver.turn((Text(prompt),))
    if moment == "before its first event":
        session.driver.queue(later)
    assert (await session.play(turn)).text == "Both."
    assert [event.blocks[0].text for event in session.of(Prompted)] == [prompt, "and then this"]
    assert "and then this" in str(model.requests[-1].body["messages"][-1])


# ---------------------------------------------------------------- hooks look at these messages too

TOOL, BOTH = Step(blocks=[Call("Bash", {"command": "true"}, "a")]), Step(blocks=[Say("Both.")])
STEER = InputQueued("q", (Text("FORBIDDEN"),))


def guard(call: HookCall) -> HookOutcome:
    bad = "FORBIDDEN" in call.fields["prompt"]
    return HookOutcome(decision="block", reason="not that", context=("BESIDE IT",)) if bad else HookOutcome()


def prompts(hooks: ScriptedHooks) -> list[str]:
    return [call.fields["prompt"] for call in hooks.calls]


async def test_a_steering_message_that_a_hook_blocks_is_never_read(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(allow=("Bash",), hooks=ScriptedHooks(UserPromptSubmit=guard))
    done = await session.run(model.play("guarded", TOOL, BOTH), queue_on(ToolStarted, session, STEER))
    assert (done.text, session.driver.state.queued) == ("Both.", ())
    assert [event.blocked for event in session.of(Prompted)] == [False, True]
    (note,) = session.of(Noted)
    assert (note.level, "not that" in note.text, "FORBIDDEN" in note.text) == ("warning", True, True)
    await session.close()
    again = make_session(allow=("Bash",))
    await again.run(model.play("after", BOTH))
    assert "FORBIDDEN" not in str([request.body for request in model.requests])
    assert "BESIDE IT" not in str([request.body for request in model.requests])


async def test_what_a_hook_adds_to_a_steering_message_is_read_with_it(
    model: ModelServer, make_session: MakeSession
) -> None:
    hooks = ScriptedHooks(UserPromptSubmit=lambda _: HookOutcome(context=("BESIDE IT",)))
    session = make_session(allow=("Bash",), hooks=hooks)
    prompt = model.play("beside", TOOL, BOTH)
    await session.run(prompt, queue_on(ToolStarted, session, STEER))
    assert prompts(hooks) == [prompt, "FORBIDDEN"]
    last = str(model.requests[-1].body["messages"][-1])
    assert "FORBIDDEN" in last
    assert "BESIDE IT" in last


@pytest.mark.parametrize("last", [False, True])
async def test_a_hook_may_end_the_turn_at_a_steering_message(
    model: ModelServer, make_session: MakeSession, last: bool
) -> None:
    answers = [HookOutcome(), HookOutcome(stop=True, stop_reason="ENOUGH")]
    session = make_session(
        allow=("Bash",), hooks=ScriptedHooks(UserPromptSubmit=lambda _: answers.pop(0)), take_at_end=last
    )
    steps, moment = ((BOTH,), TextDelta) if last else ((TOOL, BOTH), ToolStarted)
    done = await session.run(model.play("ends", *steps), queue_on(moment, session, STEER))
    assert (done.ending, done.text, len(model.requests)) == ("hook_stopped", "ENOUGH", 1)


async def test_a_blocked_message_during_the_last_answer_lets_the_turn_end(
    model: ModelServer, make_session: MakeSession
) -> None:
    session = make_session(hooks=ScriptedHooks(UserPromptSubmit=guard), take_at_end=True)
    done = await session.run(model.play("last", BOTH), queue_on(TextDelta, session, STEER))
    assert (done.ending, done.text, len(model.requests)) == ("completed", "Both.", 1)
    assert session.driver.state.queued == ()


@pytest.mark.parametrize("answer", ["block", "stop"])
async def test_a_message_left_from_an_earlier_turn_is_looked_at_before_the_next(
    model: ModelServer, make_session: MakeSession, answer: str
) -> None:
    def look(call: HookCall) -> HookOutcome:
        if answer == "block" or "FORBIDDEN" not in call.fields["prompt"]:
            return guard(call)
        return HookOutcome(stop=True, stop_reason="ENOUGH")

    session = make_session(hooks=ScriptedHooks(UserPromptSubmit=look))
    session.driver.queue(STEER)
    done = await session.run(model.play("next", BOTH))
    assert (done.ending, done.text) == (
        ("completed", "Both.") if answer == "block" else ("prompt_blocked", "Operation stopped by hook: ENOUGH")
    )
    assert "FORBIDDEN" not in str([request.body for request in model.requests])


@pytest.mark.parametrize("change", ["dropped", "edited"])
async def test_a_message_that_is_changed_while_hooks_look_at_it_is_not_read_as_it_was(
    model: ModelServer, make_session: MakeSession, change: str
) -> None:
    def look(call: HookCall) -> HookOutcome:
        if call.fields["prompt"] == "as it was":
            session.driver.drop("q") if change == "dropped" else session.driver.queue(STEER)
        return guard(call)

    hooks = ScriptedHooks(UserPromptSubmit=look)
    session = make_session(allow=("Bash",), hooks=hooks)
    prompt = model.play("changed", TOOL, BOTH)
    await session.run(prompt, queue_on(ToolStarted, session, InputQueued("q", (Text("as it was"),))))
    assert prompts(hooks) == [prompt, "as it was", *(["FORBIDDEN"] if change == "edited" else [])]
    assert not any(quoted in str(model.requests[-1].body) for quoted in ("as it was", "FORBIDDEN"))
    assert session.driver.state.queued == ()


async def test_an_interrupt_while_hooks_look_at_a_message_leaves_it_in_the_queue(
    model: ModelServer, make_session: MakeSession
) -> None:
    class Hanging(ScriptedHooks):
        async def run(self, call: HookCall) -> HookOutcome:
            if call.fields["prompt"] == "FORBIDDEN":
                session.driver.interrupt()
                await asyncio.Event().wait()
            return NO_OPINION

    session = make_session(allow=("Bash",), hooks=Hanging(UserPromptSubmit=guard))
    async with asyncio.timeout(DEADLINE):
        done = await session.run(model.play("hangs", TOOL, BOTH), queue_on(ToolStarted, session, STEER))
    assert done.ending == "interrupted_streaming"
    assert session.driver.state.queued == (STEER,)
