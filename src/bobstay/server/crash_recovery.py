"""Recovery after a crash: ends what an earlier server left running, and settles the sessions it was cut off in."""

import asyncio
import logging

from bobstay.model.session_events import WorkerExited
from bobstay.server.console import Console
from bobstay.server.errors import ApiError
from bobstay.server.runner import SERVER_ENDED, settle, waits_for_a_person
from bobstay.server.sessions.log_reader import LogReader, questions
from bobstay.server.sessions.orphan_sweep import Orphan, SweepReport, left_running, sweep
from bobstay.server.sessions.session_status import AGENTS, BUSY
from bobstay.server.sessions.session_view import UP
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)
LEFT_BEHIND = ("process", "terminal")
"""Kinds of workers that are processes of their own: they may outlive their server."""
WITHIN_SERVER = ("native", "git_diff")
"""Kinds that end with their server. Older versions noted watchers in the log."""


async def sweep_up(console: Console) -> None:
    """End what earlier servers started and left behind: by group, start time and mark, so that no stranger is hit.

    All that carries the mark of such a session goes: nothing must be started in it before this is done.
    """
    left: list[Orphan] = []
    for view in tuple(console.registry.views.values()):
        if any(worker.state in UP and worker.kind in LEFT_BEHIND for worker in view.workers):
            left += await asyncio.to_thread(_left, console.registry.reader(view.id), view.id)
    for swept in await sweep(left):
        if swept.outcome in ("killed", "unknown"):
            log.warning("session %s: worker %s of an earlier server: %s", *_told(swept))
        if swept.started.kind == "terminal" or console.registry.view(swept.session_id).status not in BUSY:
            await _note_exit(console, swept)


def _left(reader: LogReader, session_id: str) -> list[Orphan]:
    return [left for left in left_running(session_id, reader.read()) if left.started.kind in LEFT_BEHIND]


async def _note_exit(console: Console, swept: SweepReport) -> None:
    """A terminal, or an agent that idled; of agents at work `recover` tells."""
    try:
        (await console.registry.take(swept.session_id)).record(swept.exited)
        console.runner.let_go(swept.session_id)
    except LogError as error:
        log.warning("session %s: %s", swept.session_id, error)


def _told(swept: SweepReport) -> tuple[str, str, str]:
    return swept.session_id, swept.started.worker, swept.outcome


async def recover(console: Console) -> list[str]:
    """Take up what waited for a person; mark as interrupted what was cut off. Returns the ids of the sessions."""
    cut_off = [view for view in console.registry.views.values() if view.status in BUSY and not view.elsewhere]
    for view in cut_off:
        if console.runner.worker(view.id) is not None or console.runner.is_moving(view.id):
            continue  # somebody was faster: it runs again, and is not to be ended under their hands
        try:
            await _one(console, view.id)
        except (ApiError, LogError) as error:
            log.warning("session %s cannot be taken up: %s", view.id, error)
        except Exception:  # the boundary of one session: the others get their way out all the same
            log.exception("session %s cannot be taken up", view.id)
        await asyncio.sleep(0)
    await _settle_finished(console)
    return [view.id for view in cut_off]


async def _settle_finished(console: Console) -> None:
    """Note the end of workers without a process of their own that the log of a finished session has as running."""
    for view in tuple(console.registry.views.values()):
        left = [worker for worker in view.workers if worker.state in UP and worker.kind in WITHIN_SERVER]
        if not left or view.status in BUSY or view.elsewhere or view.stored:
            continue
        if console.runner.worker(view.id) is not None or console.runner.is_moving(view.id):
            continue  # it is up again
        try:
            session = await console.registry.take(view.id)
            if session.view.status not in BUSY and console.runner.worker(view.id) is None:
                for worker in left:
                    session.record(WorkerExited(worker.id, worker.kind, worker.epoch, why="lost"))
            console.runner.let_go(view.id)
        except LogError as error:
            log.warning("session %s: %s", view.id, error)


async def _one(console: Console, session_id: str) -> None:
    session = await console.registry.take(session_id)
    if await waits_for_a_person(session):
        for opened in await asyncio.to_thread(questions, session.reader, session.view.interactions):
            console.inbox.heard(session_id, opened)
        await console.runner.wake(session_id)
        return
    if session.view.queued and session.view.status == "starting":
        await console.runner.wake(session_id)
        return
    session = await console.registry.take(session_id)  # somebody may have let it go meanwhile
    settle(session, SERVER_ENDED, gone=(*AGENTS, "git_diff"))
    console.runner.let_go(session_id)
