"""Ends what workers of a server that crashed left running, and nobody else.

A process is known by its number together with the moment it began, and by the session it carries in its environment.
A number alone may belong to a stranger by now (FM-30); a process that cannot be looked at is left alone (FM-32).
"""

import asyncio
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.model.event import Envelope
from bobstay.model.session_events import WorkerExited, WorkerStarted
from bobstay.system.process_marker import tag_of, tag_worn_by
from bobstay.system.process_tree import MARK, send
from bobstay.system.watchdog import mark_of_this_process

MARKER = "BOBSTAY_SESSION_ID"
"""The variable by which everything that was started for a session can be found."""
GRACE = 0.5
"""Seconds between asking and killing."""
LIMIT = 3.0
ROUNDS = 5
PAUSE = 0.05
"""Between two looks: a process that just becomes another program carries nothing for a moment."""
SHORTEST = 8
"""An id with fewer letters might be part of another's."""

Outcome: TypeAlias = Literal["gone", "killed", "stranger", "unknown"]


class Orphan(Struct, frozen=True):
    """A worker that, as far as its log says, still runs."""

    session_id: str
    started: WorkerStarted


class SweepReport(Struct, frozen=True):
    """What became of it."""

    session_id: str
    started: WorkerStarted
    outcome: Outcome
    """`gone` before we looked; `killed` by us; a `stranger` has its number; `unknown`: nobody can tell whose it is."""
    pids: tuple[int, ...] = ()
    """Whom we killed."""

    @property
    def exited(self) -> WorkerExited:
        """What is to be recorded."""
        started = self.started
        words = "" if self.outcome != "unknown" else f"Process {started.pid} may still run: it cannot be looked at."
        return WorkerExited(started.worker, started.kind, started.epoch, why="lost", error=words)


class _Process(Struct, frozen=True):
    pid: int
    parent: int
    started: int
    sessions: frozenset[str] = frozenset()
    """Those it carries in its environment."""
    tag: str = ""
    """What it wears, where it carries nothing."""


def left_running(session_id: str, entries: Iterable[Envelope]) -> list[Orphan]:
    """The workers of a session that started and did not exit."""
    open_workers: dict[str, WorkerStarted] = {}
    for envelope in entries:
        match envelope.event:
            case WorkerStarted() as started:
                open_workers[started.worker] = started
            case WorkerExited(worker=worker):
                open_workers.pop(worker, None)
            case _:
                continue
    return [Orphan(session_id, started) for started in open_workers.values()]


def born(pid: int) -> str:
    """When a process began, as the system counts, and in which of its lives; empty if it cannot be told."""
    process = _process(pid)
    return _moment(process.started) if process is not None else ""


async def sweep(left: Iterable[Orphan]) -> list[SweepReport]:
    """End every process of these workers that still runs, with all that came from it."""
    workers = list(left)
    if not workers:
        return []
    before = table = _table()
    killed: dict[str, list[int]] = {worker.session_id: [] for worker in workers}
    for again in range(ROUNDS):
        doomed = _of_sessions(killed, table)
        if again and not doomed:
            break
        for process, session_id in doomed:
            killed[session_id].append(process.pid)
        await _end([process for process, _ in doomed])
        await asyncio.sleep(PAUSE)
        table = _table()
    found: list[SweepReport] = []
    for worker in workers:
        pids = tuple(killed[worker.session_id])
        outcome = "killed" if pids else _look(worker, before)
        found.append(SweepReport(worker.session_id, worker.started, outcome, pids))
    return found


def _of_sessions(sessions: Iterable[str], table: dict[int, _Process]) -> list[tuple[_Process, str]]:
    kin = _kin(table)
    others = [process for process in table.values() if process.pid not in kin]
    tags = {tag_of(f"0:{session_id}")[9:]: session_id for session_id in sessions}
    known = set(tags.values())
    found = []
    for process in others:
        carried = process.sessions & known
        session_id = next(iter(carried)) if carried else tags.get(process.tag, "")
        if session_id:
            found.append((process, session_id))
    return found


def _look(worker: Orphan, table: dict[int, _Process]) -> Outcome:
    process = table.get(worker.started.pid)
    if process is None:
        return "gone"
    return "unknown" if worker.started.born == _moment(process.started) else "stranger"


def _kin(table: dict[int, _Process]) -> set[int]:
    """This process and those it came from: a server may have been started in a session of another."""
    found: set[int] = set()
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        process = table.get(pid)
        pid = process.parent if process is not None else 0
    return found


async def _end(doomed: list[_Process]) -> None:
    loop = asyncio.get_running_loop()
    for number, limit in ((signal.SIGTERM, GRACE), (signal.SIGKILL, LIMIT)):
        for process in doomed:
            send(process.pid, number, process.started)
        deadline = loop.time() + limit
        while doomed := [process for process in doomed if _lives(process)]:
            if loop.time() > deadline:
                break
            await asyncio.sleep(0.02)


def _lives(process: _Process) -> bool:
    with suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)
    fields = _stat(process.pid)
    return len(fields) >= 20 and fields[0] != b"Z" and int(fields[19]) == process.started


def _table() -> dict[int, _Process]:
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return {}
    return {pid: process for pid in pids if (process := _process(pid)) is not None}


def _process(pid: int) -> _Process | None:
    fields = _stat(pid)
    if len(fields) < 20 or fields[0] == b"Z":
        return None
    environ = _read(f"/proc/{pid}/environ")
    if environ is None:
        return _Process(pid, int(fields[1]), int(fields[19]))
    sessions, tag = _carried(environ), tag_worn_by(pid)
    if f"{MARK}=".encode() in environ or tag.startswith(tag_of(mark_of_this_process())):
        tag = ""
    return _Process(pid, int(fields[1]), int(fields[19]), sessions, tag[9:15])


def _carried(environ: bytes) -> frozenset[str]:
    """The sessions named in an environment: by the marker, and by the marks of calls and of processes within.

    None, if this very server started it: a session may have been taken up again before the sweep.
    """
    if f"{mark_of_this_process()}:".encode() in environ:
        return frozenset()
    found: set[str] = set()
    for entry in environ.split(b"\0"):
        name, _, value = entry.decode(errors="replace").partition("=")
        if name == MARKER:
            found.add(value)
        elif name == MARK:
            found.update(mark.split(":")[1] for mark in value.split("/") if ":" in mark)
    return frozenset(session for session in found if len(session) >= SHORTEST)


def _stat(pid: int) -> list[bytes]:
    return (_read(f"/proc/{pid}/stat") or b"").rpartition(b")")[2].split()


def _moment(started: int) -> str:
    boot = (_read("/proc/sys/kernel/random/boot_id") or b"").decode().strip()
    return f"{boot}/{started}"


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return None
