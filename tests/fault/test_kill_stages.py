"""kill -9 during a model response, a tool call or an approval request, in a run of twenty tool calls.

F1, F3, F4, H3-8: the session always loads, nothing reported is lost, the run can be resumed, nothing runs twice.
The places are chosen by BOBSTAY_FAULT_SEED; BOBSTAY_FAULT_POINTS says how many.
"""

from collections.abc import Awaitable, Callable
from random import Random

import pytest

from bobstay.model.event import InteractionClosed, InteractionOpened, MessageDone, ToolDone, ToolStarted
from tests.fault import story
from tests.fault.aftermath import name_of
from tests.fault.killing import Killing
from tests.fault.points import SEED, chooser, points
from tests.fault.victim import Pipe, Victim
from tests.kit.program import Frame, kind_of
from tests.modelserver import Gate, Step

Record = Callable[[str, object], None]
ASKING = [deed.name for deed in story.DEEDS.values() if deed.asks]
RUNNING = [deed.name for deed in story.DEEDS.values() if deed.tool == "Bash"]


KILLER = """#!/bin/sh
setsid sleep 300 &
read -r _ _ _ parent _ < "/proc/$PPID/stat"
grep -qe --session-id "/proc/$parent/cmdline" && kill -9 "$parent"
exec sleep 300
"""


@pytest.mark.parametrize("number", points("streaming"))
async def test_killed_while_the_model_speaks(killing: Killing, number: int, record_property: Record) -> None:
    choose = chooser("streaming", number)
    step = choose.randrange(len(story.STEPS))
    stop, stands_there = speaking(choose, step, parts=1 + len(story.STEPS[step]))
    killing.model.stops[step] = stop
    remains = await killing.run(stands_there)
    assert len(remains.of(MessageDone)) == step, "it was no longer speaking"
    record_property("killed", "while streaming")


def speaking(choose: Random, step: int, parts: int) -> tuple[Step, Callable[[Victim], Awaitable[None]]]:
    """A response that blocks at a point of its stream, and a way to wait until it does."""
    way = choose.choice(["before a byte", "after a block", "in the words", "half an event"])
    gate, after, pieces = Gate(), choose.randint(1, parts), choose.randint(1, 8)
    print(f"seed {SEED}: {way}, step {step}, block {after}, piece {pieces}")

    async def at_the_gate(_: Victim) -> None:
        await gate.reached()

    async def seen(victim: Victim, kind: str, count: int) -> None:
        await victim.until("message_start", step + 1)
        await victim.when(lambda frames: since_answer(frames, step).count(kind) >= count)

    async def in_the_text(victim: Victim) -> None:
        await seen(victim, "content_block_delta", pieces)

    async def after_blocks(victim: Victim) -> None:
        if after > 1:
            await seen(victim, "content_block_stop", after - 1)
        else:
            await victim.when(lambda frames: sum(map(is_request, frames)) == step + 1)

    match way:
        case "before a byte":
            return Step(gate=gate), at_the_gate
        case "after a block":
            return Step(gate=gate, gate_after=after), at_the_gate
        case "in the words":
            return Step(chunk=2, chunk_delay=0.1), in_the_text
        case _:
            return Step(stall="half_event", stall_after=after - 1), after_blocks


def is_request(frame: Frame) -> bool:
    """The model is being asked."""
    return bool(frame.get("status") == "requesting")


def since_answer(frames: list[Frame], step: int) -> list[str]:
    """Kinds of the frames since the model began its answer of that number."""
    kinds = [kind_of(frame) for frame in frames]
    starts = [place for place, kind in enumerate(kinds) if kind == "message_start"]
    return kinds[starts[step] :]


@pytest.mark.parametrize("number", points("tool"))
async def test_killed_while_a_tool_runs(killing: Killing, number: int, record_property: Record) -> None:
    choose = chooser("tool", number)
    deed, when = choose.choice(RUNNING), choose.choice(["before", "after"])
    print(f"seed {SEED}: {when} the effect of {deed}")
    pipe = Pipe(killing.folder / "work" / f"{when}-{deed}")

    async def the_tool_is_there(victim: Victim) -> None:
        await pipe.reached(victim)
        pipe.remove()

    remains = await killing.run(the_tool_is_there)
    assert f"{deed}-1" in [event.call_id for event in remains.of(ToolStarted)]
    assert f"{deed}-1" not in [event.reply.call_id for event in remains.of(ToolDone)]
    record_property("killed", "while a tool ran")


@pytest.mark.parametrize("number", range(3))
async def test_killed_by_its_own_first_command(killing: Killing, number: int, record_property: Record) -> None:
    """F12: not even then is anybody left, though hardly anything has been set up."""
    mark = killing.folder / "work" / "mark"
    usual = mark.read_text()
    mark.write_text(KILLER)

    async def it_is_dead(victim: Victim) -> None:
        await victim.dead()
        mark.write_text(usual)

    await killing.run(it_is_dead)
    record_property("killed", "while a tool ran")


@pytest.mark.parametrize("number", points("approval"))
async def test_killed_while_an_approval_is_open(killing: Killing, number: int, record_property: Record) -> None:
    deed = ASKING[(number + chooser("approval", 0).randrange(len(ASKING))) % len(ASKING)]
    print(f"seed {SEED}: asked about {deed}")
    killing.silent_about = deed

    async def the_person_is_asked(victim: Victim) -> None:
        await victim.when(lambda frames: deed in asked_about(frames))

    remains = await killing.run(the_person_is_asked)
    opened = {event.id: name_of(event.call.id) for event in remains.of(InteractionOpened)}
    closed = {event.id for event in remains.of(InteractionClosed)}
    assert [name for id_, name in opened.items() if id_ not in closed] == [deed]
    assert f"{deed}-1" not in [event.call_id for event in remains.of(ToolStarted)]
    record_property("killed", "while an approval was open")


def asked_about(frames: list[Frame]) -> list[str]:
    return [name_of(frame["request"]["tool_use_id"]) for frame in frames if kind_of(frame) == "can_use_tool"]
