"""A log may store elsewhere: nothing with effects runs, and no result is announced, before all is stored there."""

import asyncio

import pytest

from bobstay.model.event import Prompted, RunDone, ToolStarted
from bobstay.sessions.log import Log, LogError
from tests.kit.held_log import HeldLog
from tests.kit.scripted_session import MakeSession, ScriptedSession
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

END = Step(blocks=[Say("End.")])
WRITE = Step(blocks=[Call("Write", {"file_path": "made", "content": "x"}, "w")])
READ = Step(blocks=[Call("Read", {"file_path": "a.txt"}, "r")])


def hold(log: Log) -> HeldLog:
    log.close()
    return HeldLog.reopen(log.path)[0]


@pytest.fixture
def session(make_session: MakeSession) -> ScriptedSession:
    made = make_session(mode="bypassPermissions", wrap_log=hold)
    (made.work / "a.txt").write_text("one")
    return made


def held(session: ScriptedSession) -> HeldLog:
    assert isinstance(session.log, HeldLog)
    return session.log


async def test_prompts_calls_with_effects_and_results_wait_until_all_is_stored(
    model: ModelServer, session: ScriptedSession
) -> None:
    await session.run(model.play("all", READ, WRITE, END))
    assert held(session).settled_after == [Prompted, ToolStarted, RunDone]


async def test_no_tool_runs_before_its_start_is_stored(model: ModelServer, session: ScriptedSession) -> None:
    log = held(session)
    log.held = ToolStarted
    turn = asyncio.ensure_future(session.run(model.play("effect", WRITE, END)))
    async with asyncio.timeout(DEADLINE):
        await log.reached.wait()
        assert not (session.work / "made").exists()
        assert not session.of(ToolStarted), "nobody is told before it is stored"
        log.stored.set()
        assert (await turn).ending == "completed"
    assert (session.work / "made").read_text() == "x"


async def test_no_result_is_announced_before_it_is_stored(model: ModelServer, session: ScriptedSession) -> None:
    log = held(session)
    log.held = RunDone
    turn = asyncio.ensure_future(session.run(model.play("result", END)))
    async with asyncio.timeout(DEADLINE):
        await log.reached.wait()
        assert not session.of(RunDone)
        log.stored.set()
        assert (await turn).text == "End."


async def test_a_call_whose_start_cannot_be_stored_does_not_run(model: ModelServer, session: ScriptedSession) -> None:
    log = held(session)
    log.held, log.fault = ToolStarted, LogError("another process writes this session")
    log.stored.set()
    done = await session.run(model.play("lost", WRITE, END))
    assert (done.ending, done.error, done.text) == ("failed", "log", "another process writes this session")
    assert not (session.work / "made").exists()
