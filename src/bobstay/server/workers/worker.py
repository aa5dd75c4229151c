"""What lives in a session, seen from outside: all kinds of workers have this face."""

from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from bobstay.server.errors import ApiError

Kind: TypeAlias = Literal["native", "process", "terminal", "git_diff"]


class WorkerError(Exception):
    """A worker cannot do what it should. The text is for a person: what happened, and what to do."""


class Worker(Protocol):
    """Anything that lives in a session. It records what it does in the session's log and nowhere else."""

    id: str
    kind: Kind
    epoch: int

    async def start(self) -> None:
        """Come up; `WorkerStarted` is in the log when this returns.

        Raises:
            WorkerError: it cannot.
        """
        ...

    async def stop(self, why: Literal["stopped", "asleep", "killed"] = "stopped") -> None:
        """End it and all it started; `WorkerExited` is in the log when this returns. Twice does nothing."""
        ...

    def alive(self) -> bool:
        """Whether it is up. A worker that cannot be asked counts as alive (FM-32)."""
        ...


class AgentWorker(Worker, Protocol):
    """A worker that talks with a model: `native` or `process`."""

    async def stop(self, why: Literal["stopped", "asleep", "killed"] = "stopped", reason: str = "") -> None:
        """As above; `reason` is what a person reads of work that this cut off without being asked to."""
        ...

    @property
    def busy(self) -> bool:
        """In a turn."""
        ...

    def nudge(self) -> None:
        """There is something new in the session's queue; take it up when free, or at once where it is to steer."""
        ...

    async def interrupt(self, *, force: bool = False) -> None:
        """End the running turn. `force` does not wait for anybody's good will."""
        ...

    async def set_mode(self, mode: str) -> None: ...

    async def set_model(self, model: str) -> None: ...


@runtime_checkable
class Patient(Protocol):
    """A worker whose open questions outlive the server."""

    async def leave(self) -> bool:
        """End without a word if somebody is asked; whether it did."""
        ...


@runtime_checkable
class Renewable(Protocol):
    """A worker that was started with something that can change under it."""

    async def is_outdated(self) -> bool:
        """Whether it would be started differently now; between two turns it is then started anew."""
        ...


@runtime_checkable
class Expecting(Protocol):
    """A worker that may run commands in the background whose end begins a turn."""

    @property
    def expects_notice(self) -> bool:
        """Such a command runs, so the worker must stay up."""
        ...


def refuse(what: str) -> Any:
    """S004-8: some workers have no screen, others no prompt."""
    raise ApiError("not_supported", f"This kind of worker has no {what}.")
