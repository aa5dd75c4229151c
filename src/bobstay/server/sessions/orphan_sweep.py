"""Ends orphaned processes of a crashed server, and no others.

A process is identified by its pid together with its start time, and by the session in its environment. A pid alone may
have been reused; a process that cannot be inspected is left alone.
"""

import asyncio
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.model.agent_events import AgentEvent
from bobstay.model.background_events import BackgroundEvent
from bobstay.model.event import ConversationEvent, Envelope, InteractionEvent, NoticeEvent, SettingsEvent, ToolEvent
from bobstay.model.session_events import SessionEvent, WorkerExited, WorkerStarted
from bobstay.system.process_marker import read_tag, tag_of
from bobstay.system.process_tree import MARK, send_signal
from bobstay.system.watchdog import mark_of_this_process

MARKER = "BOBSTAY_SESSION_ID"
"""The environment variable that marks everything started for a session."""
GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL."""
LIMIT = 3.0
ROUNDS = 5
PAUSE = 0.05
"""Seconds between two rounds: during exec a process has no environment for a moment."""
SHORTEST = 8
"""A shorter id might be part of another one."""

Outcome: TypeAlias = Literal["gone", "killed", "stranger", "unknown"]


class Orphan(Struct, frozen=True):
    """A worker that still runs, according to its log."""

    session_id: str
    started: WorkerStarted


class SweepReport(Struct, frozen=True):
    """The outcome for one orphaned worker."""

    session_id: str
    started: WorkerStarted
    outcome: Outcome
    """`gone`: had ended; `killed`: by this sweep; `stranger`: the pid was reused; `unknown`: cannot be identified."""
    pids: tuple[int, ...] = ()
    """Processes that were killed."""

    @property
    def exited(self) -> WorkerExited:
        """The event to record."""
        started = self.started
        text = "" if self.outcome != "unknown" else f"Process {started.pid} may still run: it cannot be inspected."
        return WorkerExited(started.worker, started.kind, started.epoch, why="lost", error=text)


class _Process(Struct, frozen=True):
    pid: int
    parent: int
    started: int
    sessions: frozenset[str] = frozenset()
    """Sessions that mark its environment."""
    tag: str = ""
    """Its process tag, if the environment has no mark."""
    own: bool = False
    """Whether this server started it."""


def find_orphans(session_id: str, entries: Iterable[Envelope]) -> list[Orphan]:
    """The workers of a session that started and did not exit."""
    open_workers: dict[str, WorkerStarted] = {}
    for envelope in entries:
        match envelope.event:
            case WorkerStarted() as started:
                open_workers[started.worker] = started
            case WorkerExited(worker=worker):
                open_workers.pop(worker, None)
            case ConversationEvent() | InteractionEvent() | ToolEvent() | SettingsEvent():
                continue
            case SessionEvent() | BackgroundEvent() | AgentEvent() | NoticeEvent():
                continue
    return [Orphan(session_id, started) for started in open_workers.values()]


def start_moment(pid: int) -> str:
    """The boot id and start time of a process; empty if they cannot be read."""
    process = _process(pid)
    return _moment(process.started) if process is not None else ""


async def sweep(left: Iterable[Orphan]) -> list[SweepReport]:
    """End every process of these workers that still runs, with its descendants.

    Workers that this server has started are no orphans: they are left alone, and nothing is reported about them.
    """
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
        await _end_processes([process for process, _ in doomed])
        await asyncio.sleep(PAUSE)
        table = _table()
    found: list[SweepReport] = []
    for worker in workers:
        if _is_own(worker, before):
            continue
        pids = tuple(killed[worker.session_id])
        outcome = "killed" if pids else _find_outcome(worker, before)
        found.append(SweepReport(worker.session_id, worker.started, outcome, pids))
    return found


def _of_sessions(sessions: Iterable[str], table: dict[int, _Process]) -> list[tuple[_Process, str]]:
    kin = _ancestors(table)
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


def _find_outcome(worker: Orphan, table: dict[int, _Process]) -> Outcome:
    process = table.get(worker.started.pid)
    if process is None:
        return "gone"
    return "unknown" if worker.started.born == _moment(process.started) else "stranger"


def _is_own(worker: Orphan, table: dict[int, _Process]) -> bool:
    process = table.get(worker.started.pid)
    return process is not None and process.own and worker.started.born == _moment(process.started)


def _ancestors(table: dict[int, _Process]) -> set[int]:
    """This process and its ancestors: a server may have been started in a session of another server."""
    found: set[int] = set()
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        process = table.get(pid)
        pid = process.parent if process is not None else 0
    return found


async def _end_processes(doomed: list[_Process]) -> None:
    loop = asyncio.get_running_loop()
    for number, limit in ((signal.SIGTERM, GRACE), (signal.SIGKILL, LIMIT)):
        for process in doomed:
            send_signal(process.pid, number, process.started)
        deadline = loop.time() + limit
        while doomed := [process for process in doomed if _is_alive(process)]:
            if loop.time() > deadline:
                break
            await asyncio.sleep(0.02)


def _is_alive(process: _Process) -> bool:
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
    sessions, tag = _marked_sessions(environ), read_tag(pid)
    if f"{MARK}=".encode() in environ or tag.startswith(tag_of(mark_of_this_process())):
        tag = ""
    return _Process(pid, int(fields[1]), int(fields[19]), sessions, tag[9:15], _has_own_mark(environ))


def _marked_sessions(environ: bytes) -> frozenset[str]:
    """The sessions named in an environment, by the marker and by the marks of calls and processes.

    None if this server started the process: a session may have been resumed before the sweep.
    """
    if _has_own_mark(environ):
        return frozenset()
    found: set[str] = set()
    for entry in environ.split(b"\0"):
        name, _, value = entry.decode(errors="replace").partition("=")
        if name == MARKER:
            found.add(value)
        elif name == MARK:
            found.update(mark.split(":")[1] for mark in value.split("/") if ":" in mark)
    return frozenset(session for session in found if len(session) >= SHORTEST)


def _has_own_mark(environ: bytes) -> bool:
    return f"{mark_of_this_process()}:".encode() in environ


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
