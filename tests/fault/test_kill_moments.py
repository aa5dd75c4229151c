"""kill -9 while an entry is stored, and at random moments, during a run of twenty tool calls.

F1, F3, F4, H3-8: the session always loads, nothing reported is lost, the run can be resumed, nothing runs twice.
The moments are chosen by BOBSTAY_FAULT_SEED; BOBSTAY_FAULT_POINTS says how many.
"""

import asyncio
from collections.abc import Callable

import pytest

from tests.fault.killing import Killing
from tests.fault.points import SEED, chooser, points
from tests.fault.victim import TORN_AT, Victim, interposed
from tests.kit.program import Frame

Record = Callable[[str, object], None]
ENTRIES = 96
"""How many entries the whole run stores, about."""
FRAMES = 250
"""How many frames it says, about."""


@pytest.mark.parametrize("number", points("append"))
async def test_killed_inside_an_append(killing: Killing, number: int, record_property: Record) -> None:
    choose = chooser("append", number)
    entry = choose.randint(1, ENTRIES)
    part, short = choose.choice([(0.0, 0), (choose.random(), 0), (choose.random(), 0), (1, 1), (1, 0)])
    print(f"seed {SEED}: entry {entry}, {part:.3f} of it, {short} bytes short")
    rule = TORN_AT.format(number=entry, part=part, short=short)

    remains = await killing.run(Victim.dead, interposed(killing.folder / "bobstay", rule))
    whole = part == 1
    assert len(remains.branch) == (entry if whole else entry - 1)
    record_property("killed", "inside an append")


@pytest.mark.parametrize("number", points("anywhere"))
async def test_killed_at_any_moment(killing: Killing, number: int, record_property: Record) -> None:
    choose = chooser("anywhere", number)
    count, later = choose.randint(1, FRAMES), choose.choice([0.0, choose.uniform(0.0, 0.03)])
    print(f"seed {SEED}: {later * 1000:.1f} ms after frame {count}")

    async def any_moment(victim: Victim) -> None:
        await victim.when(lambda frames: len(frames) >= count or any(map(is_result, frames)))
        await asyncio.sleep(later)

    await killing.run(any_moment)
    record_property("killed", "at any moment")


def is_result(frame: Frame) -> bool:
    return bool(frame["type"] == "result")
