"""Workers in the view of a session: the state of each one, folded from its events."""

from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.model.session_events import WorkerExited, WorkerStarted

ProcessState: TypeAlias = Literal["starting", "running", "stopped", "exited", "error"]
UP: frozenset[ProcessState] = frozenset({"starting", "running"})
"""States of a worker that has not ended."""
MOST_ENDED_SHOWN = 4
"""How many ended terminals and diff watchers stay in the view of a session."""


class WorkerView(Struct, frozen=True, omit_defaults=True):
    id: str
    kind: Literal["native", "process", "terminal", "git_diff"]
    state: ProcessState
    epoch: int
    pid: int = 0
    engine_session: str = ""
    error: str = ""
    at: float = 0.0
    """When it entered this state."""


def workers_after(
    event: WorkerStarted | WorkerExited, workers: tuple[WorkerView, ...], at: float
) -> tuple[WorkerView, ...]:
    """The workers of a session after `event`, which happened at `at`."""
    others = tuple(worker for worker in workers if worker.id != event.worker)
    before = next((worker for worker in workers if worker.id == event.worker), None)
    if isinstance(event, WorkerStarted):
        engine = event.engine_session or (before.engine_session if before else "")
        state: ProcessState = "running" if event.ready else "starting"
        return (*others, WorkerView(event.worker, event.kind, state, event.epoch, event.pid, engine, at=at))
    state = "error" if event.error else "exited" if event.why == "exit" else "stopped"
    engine = before.engine_session if before else ""
    return _without_old((*others, WorkerView(event.worker, event.kind, state, event.epoch, 0, engine, event.error, at)))


def _without_old(workers: tuple[WorkerView, ...]) -> tuple[WorkerView, ...]:
    """Drop the terminals and diff watchers that ended first, because they would accumulate."""
    ended = [one.id for one in workers if one.kind in ("terminal", "git_diff") and one.state not in UP]
    old = frozenset(ended[: max(len(ended) - MOST_ENDED_SHOWN, 0)])
    return tuple(one for one in workers if one.id not in old)
