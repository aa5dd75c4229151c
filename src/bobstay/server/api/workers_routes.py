"""Workers of a session over HTTP: list, stop and restart them."""

from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.api.services import Services
from bobstay.server.auth.principal import Scope
from bobstay.server.errors import ApiError, Code
from bobstay.server.sessions.session_status import AGENTS
from bobstay.server.sessions.session_view import Activity, CurrentTask
from bobstay.server.sessions.worker_view import UP, WorkerView
from bobstay.server.workers.worker import Kind


class WorkerState(Struct, frozen=True):
    """A worker with its supervision state."""

    worker: WorkerView
    alive: bool
    activity: Activity = "idle"
    """What the agent is doing."""
    current_task: CurrentTask | None = None
    """The task in progress of the agent's own list."""
    desired: str = ""
    """The desired state of a supervised worker: `running` or `asleep`."""
    heartbeat: float = 0.0
    """When it was last seen alive."""
    reconciled_at: float = 0.0
    """When the desired and the actual state were last compared."""
    failures: int = 0
    """How often it ended unexpectedly since it last worked."""


class Workers(Struct, frozen=True):
    workers: tuple[WorkerState, ...]


class WorkerHost(Protocol):
    """Stops and restarts workers of some kinds, see `HOSTS`."""

    async def stop(self, services: Services, session_id: str, worker: WorkerView) -> None:
        """End the worker, if it is running."""
        ...

    async def restart(self, services: Services, session_id: str, worker: WorkerView) -> None:
        """End the worker if it is running, and start it again with the same id and the next epoch."""
        ...


class AgentHost:
    """Agents, which the runner hosts."""

    async def stop(self, services: Services, session_id: str, worker: WorkerView) -> None:
        _require_own_session(services, session_id)
        await services.runner.stop_agent(session_id, "stopped")

    async def restart(self, services: Services, session_id: str, worker: WorkerView) -> None:
        await self.stop(services, session_id, worker)
        await services.runner.wake(session_id)


class AuxiliaryHost:
    """Terminals and diff watchers: they can be stopped only; new ones have their own endpoints."""

    async def stop(self, services: Services, session_id: str, worker: WorkerView) -> None:
        if worker.state in UP:
            await services.auxiliary_workers.stop(worker.id)

    async def restart(self, services: Services, session_id: str, worker: WorkerView) -> None:
        raise ApiError("not_supported", "A terminal cannot be restarted. Close it and open another one.")


HOSTS: dict[Kind, WorkerHost] = {
    "native": AgentHost(),
    "process": AgentHost(),
    "terminal": AuxiliaryHost(),
    "git_diff": AuxiliaryHost(),
}


async def listing(call: ApiCall) -> Workers:
    """List the workers of a session: its agent, terminals and watchers, including ended ones."""
    view = call.services.registry.view(call.path["id"])
    return Workers(tuple(_state(call.services, view.id, worker) for worker in view.workers))


async def stop(call: ApiCall) -> WorkerState:
    """End a worker; an agent needs `operate`, a terminal needs `terminal`."""
    if not call.principal.may("terminal"):
        _require_scope(call, "operate")  # checked first, so that the error reveals nothing about the workers
    worker = _worker(call)
    _require_scope(call, "terminal" if worker.kind == "terminal" else "operate")
    await _host(worker).stop(call.services, call.path["id"], worker)
    return _state(call.services, call.path["id"], _worker(call))


async def restart(call: ApiCall) -> WorkerState:
    """Restart a worker."""
    worker = _worker(call)
    await _host(worker).restart(call.services, call.path["id"], worker)
    return _state(call.services, call.path["id"], _worker(call))


def _require_scope(call: ApiCall, scope: Scope) -> None:
    if not call.principal.may(scope):
        raise ApiError("forbidden", f"To stop this, the scope `{scope}` is needed.", needed=scope)


def _worker(call: ApiCall) -> WorkerView:
    view = call.services.registry.view(call.path["id"])
    for worker in view.workers:
        if worker.id == call.path["worker_id"]:
            return worker
    raise ApiError("not_found", "There is no such worker in this session.")


def _host(worker: WorkerView) -> WorkerHost:
    host = HOSTS.get(worker.kind)
    if host is None:
        raise ApiError("not_supported", f"A worker of the kind {worker.kind} cannot be stopped or restarted here.")
    return host


def _require_own_session(services: Services, session_id: str) -> None:
    view = services.registry.view(session_id)
    if view.elsewhere:
        raise ApiError("busy_elsewhere", "Another process runs this session. Stop it there.", status=view.status)


def _state(services: Services, session_id: str, worker: WorkerView) -> WorkerState:
    state = WorkerState(worker, worker.state in UP)
    if worker.kind in AGENTS:
        view = services.registry.view(session_id)
        state = replace(state, activity=view.activity, current_task=view.current_task)
    slot = services.runner.slots.get(session_id)
    if slot is None or slot.worker.id != worker.id:
        return state
    return replace(
        state,
        alive=slot.worker.alive(),
        desired=slot.desired,
        heartbeat=slot.heartbeat,
        reconciled_at=slot.reconciled_at,
        failures=slot.failures,
    )


_ERRORS: tuple[Code, ...] = ("busy_elsewhere", "cannot_start", "not_supported", "wrong_state")
ENDPOINTS = (
    Endpoint("GET", "/sessions/{id}/workers", listing, returns=Workers),
    Endpoint("POST", "/sessions/{id}/workers/{worker_id}/stop", stop, "read", returns=WorkerState, errors=_ERRORS),
    Endpoint(
        "POST", "/sessions/{id}/workers/{worker_id}/restart", restart, "operate", returns=WorkerState, errors=_ERRORS
    ),
)
