"""Ports of the engine: narrow protocols for what it needs from outside. Assembly passes the objects."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from msgspec import Struct

from bobstay.model.event import Event, InteractionOpened
from bobstay.model.message import Usage
from bobstay.permissions.access import Access, PolicyDecision
from bobstay.providers.base import Provider
from bobstay.providers.thinking import EFFORTS, Effort, ThinkingSupport


class Answer(Struct, frozen=True):
    """The answer to an interaction."""

    allow: bool
    message: str = ""
    """Why it was denied; the model reads it."""
    input: dict[str, Any] | None = None
    """Replaces the call's whole input."""
    updates: tuple[dict[str, Any], ...] = ()
    """Changes to rules, directories or mode, in the shape of the wire's permission updates."""
    interrupt: bool = False
    """End the whole run, not only this call."""
    by: str = "person"


class Approver(Protocol):
    """Answers interactions: by a keypress, an HTTP call, a host program, or a fixed denial."""

    @property
    def can_ask(self) -> bool:
        """Whether there is anybody to ask now."""
        ...

    async def ask(self, opened: InteractionOpened) -> Answer:
        """Wait for the answer. Cancelled when the run is interrupted: the request is then withdrawn."""
        ...


class PermissionJudge(Protocol):
    """The permission policy of a session, kept up to date by `apply`, which gets each event as it is stored."""

    @property
    def mode(self) -> str: ...

    def judge(
        self, tool: str, accesses: tuple[Access, ...], input: dict[str, Any], *, read_only: bool
    ) -> PolicyDecision: ...

    def suggest(self, tool: str, accesses: tuple[Access, ...], input: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Return permission updates that would allow this call next time, narrowest first."""
        ...

    def grant(self, rules: Iterable[str]) -> Callable[[], None]:
        """Allow what these rules allow until the returned function is called. Invalid rules are ignored."""
        ...

    def apply(self, event: Event) -> None: ...


class Route(Struct, frozen=True):
    """How a model is reached, and what it can do."""

    name: str
    """The name shown to people and programs."""
    model: str
    """The vendor's name for it."""
    provider: Provider
    window: int
    max_output: int
    price: Callable[[Usage], float]
    thinks: ThinkingSupport = "adaptive"
    efforts: tuple[Effort, ...] = EFFORTS
    """The effort levels the model accepts."""
    local: bool = False
    """It runs on the user's own machine."""


class Models(Protocol):
    def route(self, name: str) -> Route:
        """Resolve a model name to its route.

        Raises:
            ValueError: no such provider, or no key for it; the text says what to do.
        """
        ...
