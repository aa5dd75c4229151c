"""Every way of stopping an engine ends the turn once and soon, and ends everything it started."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from bobstay.model.event import RunDone, ToolDone
from bobstay.model.message import Text
from bobstay.model.session_events import WorkerExited
from bobstay.server.capacity import Capacity
from bobstay.server.sessions.orphan_sweep import find_orphans, sweep
from bobstay.server.workers.process.engine_process import ShutdownTimeouts
from bobstay.server.workers.process.spawner import WorkerFiles
from bobstay.server.workers.worker import WorkerError
from bobstay.sessions.log_reader import LogReader
from tests.kit.process_sessions import QUICK, ProcessSession, ProcessSessions
from tests.kit.processes import living_processes
from tests.kit.waiting import DEADLINE, until

ENDLESS = ShutdownTimeouts(word=1000, sigint=1000, sigterm=1000)
"""Whoever waits for one of these to pass is not back before the test is stopped."""


def inhabitants(cwd: Path) -> list[int]:
    """Processes that work in a directory: whatever they did to their environment, their session or their parents."""
    found = []
    for pid in living_processes():
        with suppress(OSError):
            if Path(f"/proc/{pid}/cwd").readlink() == cwd:
                found.append(pid)
    return found


async def up(sessions: ProcessSessions, prompt: str, **parts: object) -> ProcessSession:
    """A session in the middle of a turn."""
    case = sessions.create(**parts)  # type: ignore[arg-type] # passed on as they are
    await case.worker.start()
    case.say(prompt)
    await case.holds(lambda: case.worker.busy and bool(case.view.open_calls or case.view.model == "fake-1"))
    return case


async def children_up(case: ProcessSession) -> None:
    def are() -> bool:
        blocks = [entry.event for entry in case.entries()]
        return any(Text("children are up") == getattr(event, "block", None) for event in blocks)

    await case.holds(are)
    await until(lambda: len(inhabitants(case.host.cwd)) >= 4)


async def test_an_interrupt_that_is_ignored_becomes_a_signal(sessions: ProcessSessions) -> None:
    """S000-19, S000-25, S000-26, FM-10, FM-31"""
    case = await up(sessions, "hold", timeouts=QUICK)
    await case.interrupt()
    done = await case.until(RunDone)
    assert done.ending == "interrupted_tools"
    assert case.status == "interrupted"
    assert case.events(ToolDone)[0].interrupted
    await case.holds(lambda: not case.worker.alive())
    exited = case.events(WorkerExited)[-1]
    # On a busy machine the next rung of the ladder may be reached before the first has had its effect.
    assert exited.signal in ("SIGINT", "SIGTERM") or exited.code


async def test_stop_during_a_long_command_ends_with_the_first_signal(sessions: ProcessSessions) -> None:
    """FM-31: what follows a signal that has its effect is not waited for."""
    case = await up(sessions, "hold", timeouts=ShutdownTimeouts(word=0.1, sigint=1000, sigterm=1000))
    async with asyncio.timeout(DEADLINE):
        await case.interrupt()
    assert case.status == "interrupted"
    assert case.events(RunDone)[0].ending == "interrupted_tools"


def test_the_first_signal_has_had_its_time_within_ten_seconds() -> None:
    """FM-31: with the patience that is usual."""
    usual = ShutdownTimeouts()
    assert usual.word + usual.sigint < 10


async def test_a_process_deaf_to_signals_is_killed_in_the_end(sessions: ProcessSessions) -> None:
    """S000-26"""
    case = await up(sessions, "unresponsive", timeouts=QUICK)
    await case.interrupt()
    await case.holds(lambda: not case.worker.alive())
    (exited,) = case.events(WorkerExited)
    assert (exited.signal, exited.why) == ("SIGKILL", "killed")
    assert len(case.events(RunDone)) == 1
    assert case.status == "interrupted"


async def test_force_does_not_wait(sessions: ProcessSessions) -> None:
    """S000-26"""
    case = await up(sessions, "unresponsive", timeouts=ENDLESS)
    async with asyncio.timeout(DEADLINE):
        await case.interrupt(force=True)
    assert case.events(WorkerExited)[-1].why == "killed"
    assert case.status == "interrupted"


@pytest.mark.parametrize("why", ["stopped", "killed"])
async def test_grandchildren_do_not_outlive_a_stop(sessions: ProcessSessions, why: str) -> None:
    """FM-29: in the group, in a session of their own, without an environment."""
    case = await up(sessions, "family", timeouts=QUICK)
    await children_up(case)
    await case.worker.stop(why)  # type: ignore[arg-type] # one of the three
    assert inhabitants(case.host.cwd) == []
    assert case.events(WorkerExited)[-1].why == why


async def test_what_an_engine_leaves_behind_when_it_dies_is_ended_too(sessions: ProcessSessions) -> None:
    """FM-29"""
    case = await up(sessions, "family", timeouts=QUICK)
    await children_up(case)
    os.kill(case.view.workers[0].pid, signal.SIGKILL)
    await case.until(WorkerExited)
    assert inhabitants(case.host.cwd) == []
    assert case.status == "failed"


async def test_abort_and_exit_at_once_end_the_turn_once(sessions: ProcessSessions) -> None:
    """FM-11"""
    for _ in range(3):
        case = await up(sessions, "hold", timeouts=QUICK)
        os.kill(case.view.workers[0].pid, signal.SIGKILL)
        await asyncio.gather(case.interrupt(), case.worker.interrupt(force=True), case.worker.stop())
        assert len(case.events(RunDone)) == 1
        assert len(case.events(WorkerExited)) == 1
        assert case.status in ("interrupted", "failed")


async def test_an_idle_worker_is_put_to_sleep_and_another_takes_up_the_session(sessions: ProcessSessions) -> None:
    """S004-12"""
    case = sessions.create()
    await case.worker.start()
    await case.turn("echo one")
    await case.worker.stop("asleep")
    await case.worker.stop("stopped")
    (exited,) = case.events(WorkerExited)
    assert exited.why == "asleep"
    assert case.status == "completed"
    again = sessions.around(case.session)
    again.say("argv")
    await again.worker.start()
    arguments = (await again.until(RunDone, 2)).text
    assert '"--resume", "11111111-2222-4333-8444-555555555555"' in arguments


async def test_a_session_waits_its_turn_among_those_that_may_run(sessions: ProcessSessions) -> None:
    capacity = Capacity(1)
    first = await up(sessions, "hold", capacity=capacity, timeouts=QUICK)
    second = sessions.create(capacity=capacity, timeouts=QUICK)
    await second.worker.start()
    second.say("echo two")
    assert capacity.waiting == 0
    await until(lambda: capacity.waiting)
    assert not second.worker.busy
    await first.worker.stop()
    assert (await second.until(RunDone)).text == "two"
    await second.worker.stop()
    assert capacity.running == 0


async def test_configurations_of_mcp_servers_are_private_and_removed(sessions: ProcessSessions) -> None:
    """S000-7, FM-54"""
    config = {"calc": {"command": "calc", "env": {"TOKEN": "t"}}}
    case = sessions.create(own=WorkerFiles(mcp_config=config))
    await case.worker.start()
    arguments = (await case.turn("argv")).text
    (file,) = (sessions.directory / "tmp").iterdir()
    assert str(file) in arguments
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text() == '{"mcpServers": {"calc": {"command": "calc", "env": {"TOKEN": "t"}}}}'
    await case.worker.stop()
    assert not file.exists()


SERVER = """
import asyncio, sys
from pathlib import Path
from tests.kit.process_sessions import ProcessSessions

async def main():
    case = ProcessSessions(Path(sys.argv[1])).create()
    await case.worker.start()
    case.say("family")
    await case.holds(lambda: len(case.view.open_calls) > 0)
    print(case.session.id, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_engines_end_with_a_server_that_is_killed(tmp_path: Path) -> None:
    """FM-28: what is still there when the next one starts is swept."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, str(tmp_path), stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    assert process.stdout is not None
    cwd = tmp_path / "work"
    try:
        async with asyncio.timeout(DEADLINE):
            session_id = (await process.stdout.readline()).decode().strip()
            while len(inhabitants(cwd)) < 4:
                await asyncio.sleep(0.02)
            process.kill()
            await process.wait()
            while inhabitants(cwd):
                await asyncio.sleep(0.05)
    finally:
        for pid in inhabitants(cwd):
            os.kill(pid, signal.SIGKILL)
    entries = list(LogReader(str(tmp_path / "sessions" / f"{session_id}.jsonl")).read())
    (left,) = find_orphans(session_id, entries)
    assert left.started.pid
    assert left.started.born
    (swept,) = await sweep([left])
    assert swept.outcome in ("gone", "stranger")


async def test_an_engine_whose_words_cannot_be_stored_is_ended(sessions: ProcessSessions) -> None:
    """Nothing happens that is not in the log."""
    case = await up(sessions, "hold", timeouts=QUICK)
    pid = case.view.workers[0].pid
    case.session.log.close()
    case.worker.nudge()
    await case.worker.interrupt()
    await until(lambda: not case.worker.alive())
    assert not Path(f"/proc/{pid}").exists()


async def test_a_prompt_nobody_took_up_is_not_called_done(sessions: ProcessSessions) -> None:
    """An engine that leaves just when it is spoken to: the words are not lost in silence."""
    case = sessions.create(("/bin/sh", "-c", "read -r first; read -r prompt; exit 0"))
    await case.worker.start()
    done = await case.turn("hello")
    assert done.ending == "failed"
    assert "Send it again" in done.text


async def test_a_worker_is_started_once(sessions: ProcessSessions) -> None:
    """S003-12"""
    case = sessions.create()
    await case.worker.start()
    with pytest.raises(WorkerError):
        await case.worker.start()
    await case.worker.stop()
    await case.worker.stop()
    with pytest.raises(WorkerError):
        await case.worker.start()
    assert len(case.events(WorkerExited)) == 1
