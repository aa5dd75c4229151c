"""A log may store elsewhere: nothing with effects runs, and no result is announced, before all is stored there."""

import asyncio
from collections.abc import Callable

import pytest

from bobstay.model.event import Prompted, RunDone, ToolStarted
from bobstay.sessions.log import Log, LogError
from tests.deadline import DEADLINE
from tests.flow.world import World
from tests.held_log import HeldLog
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

Make = Callable[..., World]
END = Step(blocks=[Say("End.")])
WRITE = Step(blocks=[Call("Write", {"file_path": "made", "content": "x"}, "w")])
READ = Step(blocks=[Call("Read", {"file_path": "a.txt"}, "r")])


def hold(log: Log) -> HeldLog:
    log.close()
    return HeldLog.reopen(log.path)[0]


@pytest.fixture
def here(world: Make) -> World:
    made = world(mode="bypassPermissions", wrap_log=hold)
    (made.work / "a.txt").write_text("one")
    return made


def held(here: World) -> HeldLog:
    assert isinstance(here.log, HeldLog)
    return here.log


async def test_prompts_calls_with_effects_and_results_wait_until_all_is_stored(
    server: ModelServer, here: World
) -> None:
    await here.run(server.play("all", READ, WRITE, END))
    assert held(here).settled_after == [Prompted, ToolStarted, RunDone]


async def test_no_tool_runs_before_its_start_is_stored(server: ModelServer, here: World) -> None:
    log = held(here)
    log.held = ToolStarted
    turn = asyncio.ensure_future(here.run(server.play("effect", WRITE, END)))
    async with asyncio.timeout(DEADLINE):
        await log.reached.wait()
        assert not (here.work / "made").exists()
        assert not here.of(ToolStarted), "nobody is told before it is stored"
        log.stored.set()
        assert (await turn).ending == "completed"
    assert (here.work / "made").read_text() == "x"


async def test_no_result_is_announced_before_it_is_stored(server: ModelServer, here: World) -> None:
    log = held(here)
    log.held = RunDone
    turn = asyncio.ensure_future(here.run(server.play("result", END)))
    async with asyncio.timeout(DEADLINE):
        await log.reached.wait()
        assert not here.of(RunDone)
        log.stored.set()
        assert (await turn).text == "End."


async def test_a_call_whose_start_cannot_be_stored_does_not_run(server: ModelServer, here: World) -> None:
    log = held(here)
    log.held, log.fault = ToolStarted, LogError("another process writes this session")
    log.stored.set()
    done = await here.run(server.play("lost", WRITE, END))
    assert (done.ending, done.error, done.text) == ("failed", "log", "another process writes this session")
    assert not (here.work / "made").exists()
