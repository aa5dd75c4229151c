"""Sub-agents that are stopped while no turn of theirs runs: before their first one, and between two (H7-4)."""

import asyncio
from pathlib import Path

import pytest

from bobstay.engine import running_agent
from bobstay.model.agent_events import AgentEnded, AgentStarted
from tests.kit.agent_sessions import OpenSession, agent_call, events_of, run
from tests.kit.waiting import DEADLINE, until
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

DONE = Step(blocks=[Say("Done.")])


@pytest.fixture
def work(tmp_path: Path, embedded: None) -> Path:
    return tmp_path / "work"


async def test_an_agent_that_is_stopped_before_its_first_turn_does_not_begin_it(
    model: ModelServer, opened: OpenSession, work: Path
) -> None:
    """H7-4"""
    begun, go = work / "begun", work / "go"
    settings = work / ".claude" / "settings.json"
    settings.parent.mkdir()
    command = f"touch {begun}; while [ ! -e {go} ]; do sleep 0.01; done"
    settings.write_text(
        '{"hooks": {"SubagentStart": [{"hooks": [{"type": "command", "command": "%s"}]}]}}' % command  # noqa: UP031 - braces
    )
    session = await opened()
    await run(session, model.play("parent", Step(blocks=[agent_call(model.play("child", DONE))]), DONE))
    await until(begun.exists)
    (started,) = events_of(session, AgentStarted)
    stopping = asyncio.ensure_future(session.agents.stop(started.id))
    await asyncio.sleep(0)
    go.touch()
    await stopping
    (ended,) = events_of(session, AgentEnded)
    assert ended.status == "killed"
    assert len(model.requests) == 2, "only those of its parent"


async def test_an_agent_is_stopped_at_once_while_it_waits_for_a_command(
    model: ModelServer, opened: OpenSession, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H7-4"""
    monkeypatch.setattr(running_agent, "GRACE", 10 * DEADLINE)
    sleeping = Step(blocks=[Call("Bash", {"command": "sleep 1000", "run_in_background": True}, "b")])
    session = await opened(allowed_tools=("Bash",))
    child = model.play("child", sleeping, DONE)
    await run(session, model.play("parent", Step(blocks=[agent_call(child)]), DONE))
    await model.requested(4)
    (started,) = events_of(session, AgentStarted)
    async with asyncio.timeout(DEADLINE):
        assert await session.agents.stop(started.id) is not None
    (ended,) = events_of(session, AgentEnded)
    assert ended.status == "killed"


async def test_an_agent_that_is_stopped_before_it_ran_at_all_has_an_end(
    model: ModelServer, opened: OpenSession, work: Path
) -> None:
    """H7-4: stopped by a message beside the one that starts it."""
    session = await opened()

    def stop(_: object) -> Step:
        (started,) = events_of(session, AgentStarted)
        return Step(blocks=[Call("TaskStop", {"task_id": started.id}, "t")])

    call = agent_call(model.play("child", Step(blocks=[Call("Bash", {"command": "sleep 1000"}, "s")])))
    await run(session, model.play("parent", Step(blocks=[call]), stop, DONE))
    (ended,) = events_of(session, AgentEnded)
    assert ended.status == "killed"
