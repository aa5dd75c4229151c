"""What lives in a session: to be looked at, stopped, started anew."""

from typing import Protocol

from msgspec import Struct

from bobstay.server.api.table import Call, Endpoint
from bobstay.server.console import Console
from bobstay.server.doors.principal import Scope
from bobstay.server.errors import ApiError, Code
from bobstay.server.sessions.view import WorkerView
from bobstay.server.workers.base import Kind


class WorkerState(Struct, frozen=True):
    """A worker, and how what should be and what is come together."""

    worker: WorkerView
    alive: bool
    desired: str = ""
    """`running` or `asleep`, for those somebody watches over."""
    heartbeat: float = 0.0
    reconciled_at: float = 0.0
    failures: int = 0


class Workers(Struct, frozen=True):
    workers: tuple[WorkerState, ...]


class Host(Protocol):
    """Looks after the workers of some kinds. Other kinds than agents add theirs to `HOSTS`."""

    async def stop(self, console: Console, session_id: str, worker: WorkerView) -> None:
        """End the worker. One that is down already stays so."""
        ...

    async def restart(self, console: Console, session_id: str, worker: WorkerView) -> None:
        """End the worker if it is up, and start it anew: the same id, the next epoch."""
        ...


class Agents:
    """The agent of a session: the runner has it."""

    async def stop(self, console: Console, session_id: str, worker: WorkerView) -> None:
        _ours(console, session_id)
        await console.runner.rest(session_id, "stopped")

    async def restart(self, console: Console, session_id: str, worker: WorkerView) -> None:
        await self.stop(console, session_id, worker)
        await console.runner.wake(session_id)


class Crew:
    """Terminals and watchers: they can be closed; another one is opened by its own endpoint."""

    async def stop(self, console: Console, session_id: str, worker: WorkerView) -> None:
        if worker.state in ("starting", "running"):
            await console.crew.stop(worker.id)

    async def restart(self, console: Console, session_id: str, worker: WorkerView) -> None:
        raise ApiError("not_supported", "Close it and open another one: a terminal cannot be started anew.")


HOSTS: dict[Kind, Host] = {"native": Agents(), "process": Agents(), "terminal": Crew(), "git_diff": Crew()}


async def listing(call: Call) -> Workers:
    """All that lives or lived in a session."""
    view = call.console.registry.view(call.path["id"])
    return Workers(tuple(_state(call.console, view.id, worker) for worker in view.workers))


async def stop(call: Call) -> WorkerState:
    """End a worker: an agent needs `operate`, a terminal needs `terminal`. What it was doing can be gone on with."""
    if not call.principal.may("terminal"):
        _needs(call, "operate")  # said before anything is told of which workers there are
    worker = _worker(call)
    _needs(call, "terminal" if worker.kind == "terminal" else "operate")
    await _host(worker).stop(call.console, call.path["id"], worker)
    return _state(call.console, call.path["id"], _worker(call))


async def restart(call: Call) -> WorkerState:
    """End a worker and start it anew."""
    worker = _worker(call)
    await _host(worker).restart(call.console, call.path["id"], worker)
    return _state(call.console, call.path["id"], _worker(call))


def _needs(call: Call, scope: Scope) -> None:
    if not call.principal.may(scope):
        raise ApiError("forbidden", f"To stop this, the scope `{scope}` is needed.", needed=scope)


def _worker(call: Call) -> WorkerView:
    view = call.console.registry.view(call.path["id"])
    for worker in view.workers:
        if worker.id == call.path["worker_id"]:
            return worker
    raise ApiError("not_found", "There is no such worker in this session.")


def _host(worker: WorkerView) -> Host:
    host = HOSTS.get(worker.kind)
    if host is None:
        raise ApiError("not_supported", f"A worker of the kind {worker.kind} cannot be stopped or restarted here.")
    return host


def _ours(console: Console, session_id: str) -> None:
    view = console.registry.view(session_id)
    if view.elsewhere:
        raise ApiError("busy_elsewhere", "Another process runs this session: stop it there.", status=view.status)


def _state(console: Console, session_id: str, worker: WorkerView) -> WorkerState:
    post = console.runner.posts.get(session_id)
    if post is None or post.worker.id != worker.id:
        return WorkerState(worker, worker.state in ("starting", "running"))
    return WorkerState(worker, post.worker.alive(), post.desired, post.heartbeat, post.reconciled_at, post.failures)


_ERRORS: tuple[Code, ...] = ("busy_elsewhere", "cannot_start", "not_supported", "wrong_state")
ENDPOINTS = (
    Endpoint("GET", "/sessions/{id}/workers", listing, returns=Workers),
    Endpoint("POST", "/sessions/{id}/workers/{worker_id}/stop", stop, "read", returns=WorkerState, errors=_ERRORS),
    Endpoint(
        "POST", "/sessions/{id}/workers/{worker_id}/restart", restart, "operate", returns=WorkerState, errors=_ERRORS
    ),
)
