"""Worker protocols: the interface of everything that runs in a session."""

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from bobstay.server.errors import ApiError

if TYPE_CHECKING:
    from bobstay.mcp.mcp_servers import McpServers

Kind: TypeAlias = Literal["native", "process", "terminal", "git_diff"]


class WorkerError(Exception):
    """A worker failed. The message is for a person: what happened, and what to do."""


class Worker(Protocol):
    """Something that runs in a session. It records its actions in the session's log and nowhere else."""

    id: str
    kind: Kind
    epoch: int

    async def start(self) -> None:
        """Start; `WorkerStarted` is in the log when this returns.

        Raises:
            WorkerError: it cannot be started.
        """
        ...

    async def stop(self, why: Literal["stopped", "asleep", "killed"] = "stopped") -> None:
        """End it and all it started; `WorkerExited` is in the log when this returns. Idempotent."""
        ...

    def alive(self) -> bool:
        """Whether it runs. A worker whose state cannot be determined counts as alive."""
        ...


class AgentWorker(Worker, Protocol):
    """A worker that runs an agent: `native` or `process`."""

    async def stop(self, why: Literal["stopped", "asleep", "killed"] = "stopped", reason: str = "") -> None:
        """As above; `reason` is shown to people if running work is cut off without their request."""
        ...

    @property
    def busy(self) -> bool:
        """Whether a turn runs."""
        ...

    def nudge(self) -> None:
        """The session's queue has changed: process it when idle, or at once for inputs that steer."""
        ...

    async def interrupt(self, *, force: bool = False) -> None:
        """End the running turn. `force` kills the engine."""
        ...

    async def set_mode(self, mode: str) -> None: ...

    async def set_model(self, model: str) -> None: ...


@runtime_checkable
class Suspendable(Protocol):
    """A worker whose open interactions outlive the server."""

    async def suspend(self) -> bool:
        """End without recording it if an interaction is open; returns whether it did."""
        ...


@runtime_checkable
class Renewable(Protocol):
    """A worker that was started with settings that may change while it runs."""

    async def is_outdated(self) -> bool:
        """Whether it would be started differently now; it is then restarted between two turns."""
        ...


@runtime_checkable
class AwaitsNotice(Protocol):
    """A worker that may run background commands whose end starts a turn."""

    @property
    def expects_notice(self) -> bool:
        """Whether such a command runs, so that the worker must stay up."""
        ...


@runtime_checkable
class StopsBackground(Protocol):
    """A worker that can stop single sub-agents and background commands."""

    async def stop_background(self, id: str) -> bool:
        """Stop one for a person; the model is told with the next prompt. False if it is not running."""
        ...


@runtime_checkable
class HoldsServers(Protocol):
    """A worker that is connected to MCP servers."""

    @property
    def servers(self) -> "McpServers | None":
        """The servers, if there are any."""
        ...


def refuse(what: str) -> Any:
    """Refuse an operation: some workers have no screen, others no prompt."""
    raise ApiError("not_supported", f"This kind of worker has no {what}.")
