"""What lives in a session: to be looked at, stopped, started anew."""

from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.auth.principal import Scope
from bobstay.server.console import Console
from bobstay.server.errors import ApiError, Code
from bobstay.server.sessions.session_status import AGENTS
from bobstay.server.sessions.session_view import UP, Activity, CurrentTask, WorkerView
from bobstay.server.workers.worker import Kind


class WorkerState(Struct, frozen=True):
    """A worker, and how what should be and what is come together."""

    worker: WorkerView
    alive: bool
    activity: Activity = "idle"
    """What an agent is doing."""
    current_task: CurrentTask | None = None
    """The task of an agent's own list that is in progress."""
    desired: str = ""
    """`running` or `asleep`, for those somebody watches over."""
    heartbeat: float = 0.0
    """When it was last seen alive."""
    reconciled_at: float = 0.0
    """When what should be and what is were last compared."""
    failures: int = 0
    """How often it ended though it should run, since it last did what it was started for."""


class Workers(Struct, frozen=True):
    workers: tuple[WorkerState, ...]


class WorkerHost(Protocol):
    """Looks after the workers of some kinds. Other kinds than agents add theirs to `HOSTS`."""

    async def stop(self, console: Console, session_id: str, worker: WorkerView) -> None:
        """End the worker. One that is down already stays so."""
        ...

    async def restart(self, console: Console, session_id: str, worker: WorkerView) -> None:
        """End the worker if it is up, and start it anew: the same id, the next epoch."""
        ...


class AgentHost:
    """The agent of a session: the runner has it."""

    async def stop(self, console: Console, session_id: str, worker: WorkerView) -> None:
        _ours(console, session_id)
        await console.runner.rest(session_id, "stopped")

    async def restart(self, console: Console, session_id: str, worker: WorkerView) -> None:
        await self.stop(console, session_id, worker)
        await console.runner.wake(session_id)


class AuxiliaryHost:
    """Terminals and watchers: they can be closed; another one is opened by its own endpoint."""

    async def stop(self, console: Console, session_id: str, worker: WorkerView) -> None:
        if worker.state in UP:
            await console.crew.stop(worker.id)

    async def restart(self, console: Console, session_id: str, worker: WorkerView) -> None:
        raise ApiError("not_supported", "Close it and open another one: a terminal cannot be started anew.")


HOSTS: dict[Kind, WorkerHost] = {
    "native": AgentHost(),
    "process": AgentHost(),
    "terminal": AuxiliaryHost(),
    "git_diff": AuxiliaryHost(),
}


async def listing(call: ApiCall) -> Workers:
    """List the workers of a session: its agent and its terminals, with those that have ended."""
    view = call.console.registry.view(call.path["id"])
    return Workers(tuple(_state(call.console, view.id, worker) for worker in view.workers))


async def stop(call: ApiCall) -> WorkerState:
    """End a worker; an agent needs `operate`, a terminal needs `terminal`."""
    if not call.principal.may("terminal"):
        _needs(call, "operate")  # said before anything is told of which workers there are
    worker = _worker(call)
    _needs(call, "terminal" if worker.kind == "terminal" else "operate")
    await _host(worker).stop(call.console, call.path["id"], worker)
    return _state(call.console, call.path["id"], _worker(call))


async def restart(call: ApiCall) -> WorkerState:
    """End a worker and start it anew."""
    worker = _worker(call)
    await _host(worker).restart(call.console, call.path["id"], worker)
    return _state(call.console, call.path["id"], _worker(call))


def _needs(call: ApiCall, scope: Scope) -> None:
    if not call.principal.may(scope):
        raise ApiError("forbidden", f"To stop this, the scope `{scope}` is needed.", needed=scope)


def _worker(call: ApiCall) -> WorkerView:
    view = call.console.registry.view(call.path["id"])
    for worker in view.workers:
        if worker.id == call.path["worker_id"]:
            return worker
    raise ApiError("not_found", "There is no such worker in this session.")


def _host(worker: WorkerView) -> WorkerHost:
    host = HOSTS.get(worker.kind)
    if host is None:
        raise ApiError("not_supported", f"A worker of the kind {worker.kind} cannot be stopped or restarted here.")
    return host


def _ours(console: Console, session_id: str) -> None:
    view = console.registry.view(session_id)
    if view.elsewhere:
        raise ApiError("busy_elsewhere", "Another process runs this session: stop it there.", status=view.status)


def _state(console: Console, session_id: str, worker: WorkerView) -> WorkerState:
    state = WorkerState(worker, worker.state in UP)
    if worker.kind in AGENTS:
        view = console.registry.view(session_id)
        state = replace(state, activity=view.activity, current_task=view.current_task)
    post = console.runner.posts.get(session_id)
    if post is None or post.worker.id != worker.id:
        return state
    return replace(
        state,
        alive=post.worker.alive(),
        desired=post.desired,
        heartbeat=post.heartbeat,
        reconciled_at=post.reconciled_at,
        failures=post.failures,
    )


_ERRORS: tuple[Code, ...] = ("busy_elsewhere", "cannot_start", "not_supported", "wrong_state")
ENDPOINTS = (
    Endpoint("GET", "/sessions/{id}/workers", listing, returns=Workers),
    Endpoint("POST", "/sessions/{id}/workers/{worker_id}/stop", stop, "read", returns=WorkerState, errors=_ERRORS),
    Endpoint(
        "POST", "/sessions/{id}/workers/{worker_id}/restart", restart, "operate", returns=WorkerState, errors=_ERRORS
    ),
)
