"""SIGTERM, SIGINT and SIGHUP during a run: everything is answered, stored and ended, with the right exit code."""

import asyncio
import signal
from collections.abc import Awaitable, Callable

import pytest

from bobstay.model.event import RunDone
from tests.fault import story
from tests.fault.aftermath import check_end, check_remains, check_requests, read_remains, resume_run, sessions
from tests.fault.killing import PROMPT, Killing
from tests.fault.victim import Pipe, Victim
from tests.kit.program import initialize, prompt
from tests.kit.waiting import DEADLINE
from tests.modelserver import Gate, Step

CODES = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGHUP: 129}
Moment = Callable[[Victim], Awaitable[None]]


def speaking(killing: Killing) -> Moment:
    gate = Gate()
    killing.model.stops[4] = Step(gate=gate, gate_after=2)

    async def stands_there(_: Victim) -> None:
        await gate.reached()

    return stands_there


def working(killing: Killing) -> Moment:
    pipe = Pipe(killing.folder / "work" / "after-b6")

    async def stands_there(victim: Victim) -> None:
        await pipe.reached(victim)
        pipe.remove()

    return stands_there


def asking(killing: Killing) -> Moment:
    killing.silent_about = "b4"

    async def stands_there(victim: Victim) -> None:
        await victim.until("can_use_tool")

    return stands_there


def resting(killing: Killing) -> Moment:
    async def stands_there(victim: Victim) -> None:
        await victim.until("idle")

    return stands_there


async def stop(killing: Killing, until: Moment, *numbers: signal.Signals) -> Victim:
    """Run the story until a moment, send signals, and wait for the end."""
    options = ("--session-id", killing.session, *story.ARGUMENTS)
    victim = await Victim.begin(killing.server, killing.folder, *options, answer=killing.person)
    try:
        victim.send(initialize(), prompt(f"{killing.token} {PROMPT}"))
        await until(victim)
        for number in numbers:
            victim.process.send_signal(number)
        async with asyncio.timeout(DEADLINE):
            await victim.process.wait()
        assert await victim.errors() == ""
        await victim.leaves_nobody()
    finally:
        await victim.kill()
    killing.model.stops, killing.silent_about = {}, ""
    return victim


@pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)
@pytest.mark.parametrize("moment", [speaking, working, asking, resting])
async def test_a_signal_ends_the_run_in_good_order(
    killing: Killing, moment: Callable[[Killing], Moment], number: signal.Signals
) -> None:
    """F3, F4, F12"""
    victim = await stop(killing, moment(killing), number)
    assert victim.process.returncode == CODES[number]
    assert not list(sessions(killing.folder).glob("*.lease"))
    remains = read_remains(killing.folder, killing.session)
    prompt_text, work = f"{killing.token} {PROMPT}", killing.folder / "work"
    assert remains.warnings == []
    assert remains.state.unanswered == ()
    ending = remains.branch[-1].event
    assert isinstance(ending, RunDone)
    assert ending.ending in ({"completed"} if moment is resting else {"interrupted_streaming", "interrupted_tools"})
    result = next(frame for frame in victim.frames if frame["type"] == "result")
    assert result["is_error"] == (moment is not resting)
    check_remains(remains, work, victim.frames, prompt_text)
    before = {"effects": story.effects(work), "written": story.written(work)}
    requests = await resume_run(killing.server, killing.folder, killing.session, killing.token)
    check_requests(requests, remains, prompt_text)
    check_end(killing.folder, killing.session, remains, requests, before)


async def test_a_second_signal_does_not_wait(killing: Killing) -> None:
    """As after a crash: what was stored is there, and no process is left."""
    victim = await stop(killing, working(killing), signal.SIGTERM, signal.SIGINT)
    assert victim.process.returncode in (130, 143)
    remains = read_remains(killing.folder, killing.session)
    check_remains(remains, killing.folder / "work", victim.frames, f"{killing.token} {PROMPT}")
    await resume_run(killing.server, killing.folder, killing.session, killing.token)
