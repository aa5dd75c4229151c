"""After a crash, orphaned processes of workers are ended, and no others."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

import pytest

from bobstay.model.event import Envelope
from bobstay.model.ids import new_id
from bobstay.model.session_events import WorkerExited, WorkerStarted
from bobstay.server.sessions.orphan_sweep import MARKER, Orphan, find_orphans, start_moment, sweep
from tests.kit.process_sessions import ProcessSessions
from tests.kit.processes import is_alive

SESSION = "0f0f0f0f-aaaa-4bbb-8ccc-"


class Nursery:
    """Processes that stand for what a crashed server left."""

    def __init__(self) -> None:
        self.session = SESSION + new_id()[-12:]
        self.started: list[subprocess.Popen[bytes]] = []

    def sleeper(self, *before: str, marked: bool = True) -> int:
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")} | ({MARKER: self.session} if marked else {})
        process = subprocess.Popen([*before, "sleep", "654"], env=environment, start_new_session=True)
        self.started.append(process)
        return process.pid

    def left(self, pid: int, moment: str | None = None) -> Orphan:
        return Orphan(
            self.session, WorkerStarted("agent-1", "process", 2, pid, start_moment(pid) if moment is None else moment)
        )


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    for process in made.started:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        process.wait()


async def test_an_orphan_and_what_it_started_are_ended(nursery: Nursery) -> None:
    """FM-28"""
    leader, _ = nursery.sleeper(), nursery.sleeper("setsid", "--wait")
    (swept,) = await sweep([nursery.left(leader)])
    assert swept.outcome == "killed"
    assert leader in swept.pids
    assert len(swept.pids) >= 2
    assert not any(map(is_alive, swept.pids))
    assert swept.exited == WorkerExited("agent-1", "process", 2, why="lost")


async def test_children_of_a_leader_that_is_gone_are_ended(nursery: Nursery) -> None:
    """FM-28"""
    child = nursery.sleeper()
    gone = nursery.sleeper(marked=False)
    left = nursery.left(gone)
    nursery.started[-1].kill()
    nursery.started[-1].wait()
    (swept,) = await sweep([left])
    assert swept.pids == (child,)
    assert not is_alive(child)


async def test_a_stranger_with_the_same_number_is_left_alone(nursery: Nursery) -> None:
    """FM-30"""
    stranger = nursery.sleeper(marked=False)
    (swept,) = await sweep([nursery.left(stranger, "another-boot/1")])
    assert (swept.outcome, swept.pids) == ("stranger", ())
    assert is_alive(stranger)


async def test_a_process_of_another_session_is_left_alone(nursery: Nursery) -> None:
    """FM-30: the number and even the moment may be right; without the mark it is not ours."""
    other = Nursery()
    pid = other.sleeper()
    try:
        (swept,) = await sweep([nursery.left(pid)])
        assert (swept.outcome, swept.pids) == ("unknown", ())
        assert is_alive(pid)
        assert "may still run" in swept.exited.error
    finally:
        other.started[0].kill()
        other.started[0].wait()


def test_a_process_that_cannot_be_looked_at_is_left_alone(nursery: Nursery) -> None:
    """FM-32: probed by somebody who may not read its environment."""
    pid = nursery.sleeper() if os.getuid() == 0 else 1
    left = nursery.left(pid)
    reader, writer = os.pipe()
    prober = os.fork()
    if prober == 0:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            (swept,) = asyncio.run(sweep([left]))
            os.write(writer, f"{swept.outcome} {swept.pids}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(prober, 0)
    output = os.read(reader, 1_000)
    os.close(reader)
    assert output == b"unknown ()"
    assert is_alive(pid)


async def test_a_worker_without_a_process_is_gone(nursery: Nursery) -> None:
    (swept,) = await sweep([nursery.left(0, "")])
    assert (swept.outcome, swept.pids) == ("gone", ())


async def test_the_sweeper_and_its_ancestors_are_spared(nursery: Nursery) -> None:
    """A server may be started again from a terminal of its own."""
    script = (
        "import asyncio, os\n"
        "from bobstay.model.session_events import WorkerStarted\n"
        "from bobstay.server.sessions.orphan_sweep import Orphan, sweep\n"
        f"left = Orphan({nursery.session!r}, WorkerStarted('agent-1', 'process', 1, 0, ''))\n"
        "print(asyncio.run(sweep([left]))[0].pids)"
    )
    environment = {**os.environ, MARKER: nursery.session}
    command = ["/bin/sh", "-c", '"$0" -c "$1"; echo still here', sys.executable, script]
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, errors = await process.communicate()
    assert out.decode().splitlines() == ["()", "still here"], errors.decode()


async def test_a_session_taken_up_again_before_the_sweep_is_spared(sessions: ProcessSessions) -> None:
    case = sessions.create()
    await case.worker.start()
    case.say("family")
    await case.holds(lambda: bool(case.view.open_calls))
    pid = case.view.workers[0].pid
    (swept,) = await sweep([Orphan(case.session.id, WorkerStarted("agent-1", "process", 1, 0, "x"))])
    assert swept.pids == ()
    assert is_alive(pid)
    assert case.worker.alive()


def test_what_started_and_did_not_exit_is_left() -> None:
    events: list[WorkerStarted | WorkerExited] = [
        WorkerStarted("a", "process", 1, 10, "x"),
        WorkerStarted("b", "terminal", 1, 11, "y"),
        WorkerExited("a", "process", 1),
        WorkerStarted("a", "process", 2, 12, "z"),
        WorkerStarted("a", "process", 2, 12, "z", "known"),
        WorkerExited("b", "terminal", 1),
    ]
    entries = [Envelope(seq, str(seq), "", 0.0, event) for seq, event in enumerate(events, 1)]
    assert find_orphans("s", entries) == [Orphan("s", WorkerStarted("a", "process", 2, 12, "z", "known"))]
