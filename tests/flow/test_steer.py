"""Messages sent while busy are folded in or queued, and none is lost (H3-9, F36)."""

import asyncio
from collections.abc import Callable

import pytest

from bobstay.engine.limits import Limits
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookOutcome
from bobstay.model.event import Event, InputQueued, Noted, Prompted, ToolStarted
from bobstay.model.live_events import TextDelta
from bobstay.model.message import Text
from tests.deadline import DEADLINE
from tests.flow.world import Listeners, World
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

Make = Callable[..., World]


def queue_on(kind: type[Event], here: World, *messages: InputQueued) -> Callable[[Event], None]:
    left = list(messages)

    def act(event: Event) -> None:
        if isinstance(event, kind):
            while left:
                here.driver.queue(left.pop(0))

    return act


async def test_a_steering_message_is_folded_in_after_the_running_tool(server: ModelServer, world: Make) -> None:
    here = world(allow=("Bash",))
    prompt = server.play("steer", Step(blocks=[Call("Bash", {"command": "true"}, "a")]), Step(blocks=[Say("Both.")]))
    done = await here.run(prompt, queue_on(ToolStarted, here, InputQueued("q", (Text("also this"),))))
    assert done.text == "Both."
    assert "also this" in str(server.requests[-1].body["messages"][-1])
    assert [event.id for event in here.of(Prompted)][-1] == "q"
    assert here.driver.state.queued == ()


async def test_a_queued_message_waits_for_its_own_turn(server: ModelServer, world: Make) -> None:
    here = world(allow=("Bash",))
    prompt = server.play("queue", Step(blocks=[Call("Bash", {"command": "true"}, "a")]), Step(blocks=[Say("One.")]))
    await here.run(prompt, queue_on(ToolStarted, here, InputQueued("q", (Text("later"),), "queue")))
    assert "later" not in str(server.requests[-1].body)
    assert [entry.id for entry in here.driver.state.queued] == ["q"]


async def test_a_queued_message_is_kept_as_it_was_typed_even_if_it_looks_like_a_token(world: Make) -> None:
    here = world()
    typed = (Text("try it with ghp_" + "Ab3" * 13),)
    here.driver.queue(InputQueued("q", typed, "queue"))
    assert here.driver.state.queued[0].blocks == typed


async def test_a_steering_message_during_plain_text_stays_for_the_next_turn(server: ModelServer, world: Make) -> None:
    here = world()
    await here.run(
        server.play("text", Step(blocks=[Say("words")])), queue_on(TextDelta, here, InputQueued("q", (Text("x"),)))
    )
    assert [entry.id for entry in here.driver.state.queued] == ["q"]


async def test_a_queued_message_survives_a_limit_an_interrupt_and_a_crash(server: ModelServer, world: Make) -> None:
    here = world(allow=("Bash",), limits=Limits(turns=1))
    prompt = server.play("limit", Step(blocks=[Call("Bash", {"command": "true"}, "a")]))
    kept = InputQueued("q", (Text("keep me"),), "queue")
    done = await here.run(prompt, queue_on(ToolStarted, here, kept))
    assert done.ending == "max_turns"
    here.log.close()
    again = world(allow=("Bash",))
    assert again.driver.state.queued == (kept,)

    def interrupt(event: Event) -> None:
        if isinstance(event, ToolStarted):
            again.driver.interrupt()

    async with asyncio.timeout(DEADLINE):
        await again.run(server.play("stop", Step(blocks=[Call("Bash", {"command": "sleep 9"}, "b")])), interrupt)
    assert again.driver.state.queued == (kept,)


@pytest.mark.parametrize("moment", ["before its first event", "while hooks look at it"])
async def test_a_message_that_comes_after_a_prompt_is_not_read_before_it(
    server: ModelServer, world: Make, moment: str
) -> None:
    later = InputQueued("q", (Text("and then this"),))

    def submitted(_: HookCall) -> HookOutcome:
        if moment == "while hooks look at it":
            here.driver.queue(later)
        return NO_OPINION

    here = world(allow=("Bash",), hooks=Listeners(UserPromptSubmit=submitted))
    prompt = server.play("two", Step(blocks=[Call("Bash", {"command": "true"}, "a")]), Step(blocks=[Say("Both.")]))
    turn = here.driver.turn((Text(prompt),))
    if moment == "before its first event":
        here.driver.queue(later)
    assert (await here.play(turn)).text == "Both."
    assert [event.blocks[0].text for event in here.of(Prompted)] == [prompt, "and then this"]
    assert "and then this" in str(server.requests[-1].body["messages"][-1])


# ---------------------------------------------------------------- hooks look at these messages too

TOOL, BOTH = Step(blocks=[Call("Bash", {"command": "true"}, "a")]), Step(blocks=[Say("Both.")])
STEER = InputQueued("q", (Text("FORBIDDEN"),))


def guard(call: HookCall) -> HookOutcome:
    bad = "FORBIDDEN" in call.fields["prompt"]
    return HookOutcome(decision="block", reason="not that", context=("BESIDE IT",)) if bad else HookOutcome()


def prompts(hooks: Listeners) -> list[str]:
    return [call.fields["prompt"] for call in hooks.calls]


async def test_a_steering_message_that_a_hook_blocks_is_never_read(server: ModelServer, world: Make) -> None:
    here = world(allow=("Bash",), hooks=Listeners(UserPromptSubmit=guard))
    done = await here.run(server.play("guarded", TOOL, BOTH), queue_on(ToolStarted, here, STEER))
    assert (done.text, here.driver.state.queued) == ("Both.", ())
    assert [event.blocked for event in here.of(Prompted)] == [False, True]
    (note,) = here.of(Noted)
    assert (note.level, "not that" in note.text, "FORBIDDEN" in note.text) == ("warning", True, True)
    await here.close()
    again = world(allow=("Bash",))
    await again.run(server.play("after", BOTH))
    assert "FORBIDDEN" not in str([request.body for request in server.requests])
    assert "BESIDE IT" not in str([request.body for request in server.requests])


async def test_what_a_hook_adds_to_a_steering_message_is_read_with_it(server: ModelServer, world: Make) -> None:
    hooks = Listeners(UserPromptSubmit=lambda _: HookOutcome(context=("BESIDE IT",)))
    here = world(allow=("Bash",), hooks=hooks)
    prompt = server.play("beside", TOOL, BOTH)
    await here.run(prompt, queue_on(ToolStarted, here, STEER))
    assert prompts(hooks) == [prompt, "FORBIDDEN"]
    last = str(server.requests[-1].body["messages"][-1])
    assert "FORBIDDEN" in last
    assert "BESIDE IT" in last


@pytest.mark.parametrize("last", [False, True])
async def test_a_hook_may_end_the_turn_at_a_steering_message(server: ModelServer, world: Make, last: bool) -> None:
    answers = [HookOutcome(), HookOutcome(stop=True, stop_reason="ENOUGH")]
    here = world(allow=("Bash",), hooks=Listeners(UserPromptSubmit=lambda _: answers.pop(0)), take_at_end=last)
    steps, moment = ((BOTH,), TextDelta) if last else ((TOOL, BOTH), ToolStarted)
    done = await here.run(server.play("ends", *steps), queue_on(moment, here, STEER))
    assert (done.ending, done.text, len(server.requests)) == ("hook_stopped", "ENOUGH", 1)


async def test_a_blocked_message_during_the_last_answer_lets_the_turn_end(server: ModelServer, world: Make) -> None:
    here = world(hooks=Listeners(UserPromptSubmit=guard), take_at_end=True)
    done = await here.run(server.play("last", BOTH), queue_on(TextDelta, here, STEER))
    assert (done.ending, done.text, len(server.requests)) == ("completed", "Both.", 1)
    assert here.driver.state.queued == ()


@pytest.mark.parametrize("answer", ["block", "stop"])
async def test_a_message_left_from_an_earlier_turn_is_looked_at_before_the_next(
    server: ModelServer, world: Make, answer: str
) -> None:
    def look(call: HookCall) -> HookOutcome:
        if answer == "block" or "FORBIDDEN" not in call.fields["prompt"]:
            return guard(call)
        return HookOutcome(stop=True, stop_reason="ENOUGH")

    here = world(hooks=Listeners(UserPromptSubmit=look))
    here.driver.queue(STEER)
    done = await here.run(server.play("next", BOTH))
    assert (done.ending, done.text) == (
        ("completed", "Both.") if answer == "block" else ("prompt_blocked", "Operation stopped by hook: ENOUGH")
    )
    assert "FORBIDDEN" not in str([request.body for request in server.requests])


@pytest.mark.parametrize("change", ["dropped", "edited"])
async def test_a_message_that_is_changed_while_hooks_look_at_it_is_not_read_as_it_was(
    server: ModelServer, world: Make, change: str
) -> None:
    def look(call: HookCall) -> HookOutcome:
        if call.fields["prompt"] == "as it was":
            here.driver.drop("q") if change == "dropped" else here.driver.queue(STEER)
        return guard(call)

    hooks = Listeners(UserPromptSubmit=look)
    here = world(allow=("Bash",), hooks=hooks)
    prompt = server.play("changed", TOOL, BOTH)
    await here.run(prompt, queue_on(ToolStarted, here, InputQueued("q", (Text("as it was"),))))
    assert prompts(hooks) == [prompt, "as it was", *(["FORBIDDEN"] if change == "edited" else [])]
    assert not any(quoted in str(server.requests[-1].body) for quoted in ("as it was", "FORBIDDEN"))
    assert here.driver.state.queued == ()


async def test_an_interrupt_while_hooks_look_at_a_message_leaves_it_in_the_queue(
    server: ModelServer, world: Make
) -> None:
    class Hanging(Listeners):
        async def run(self, call: HookCall) -> HookOutcome:
            if call.fields["prompt"] == "FORBIDDEN":
                here.driver.interrupt()
                await asyncio.Event().wait()
            return NO_OPINION

    here = world(allow=("Bash",), hooks=Hanging(UserPromptSubmit=guard))
    async with asyncio.timeout(DEADLINE):
        done = await here.run(server.play("hangs", TOOL, BOTH), queue_on(ToolStarted, here, STEER))
    assert done.ending == "interrupted_streaming"
    assert here.driver.state.queued == (STEER,)
