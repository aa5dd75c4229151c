"""Messages sent while busy are folded in or queued, and none is lost (H3-9, F36)."""

import asyncio
from collections.abc import Callable

import pytest

from bobstay.engine.limits import Limits
from bobstay.hooks.event import NO_OPINION, HookCall, HookOutcome
from bobstay.model.event import Event, InputQueued, Prompted, ToolStarted
from bobstay.model.live import TextDelta
from bobstay.model.message import Text
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

    async with asyncio.timeout(20):
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
