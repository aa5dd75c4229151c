"""What the engine needs from outside, as narrow protocols. Assembly passes the objects."""

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.event import Event, InteractionOpened
from bobstay.model.message import Usage
from bobstay.permissions.access import Access, PolicyDecision
from bobstay.providers.base import Provider
from bobstay.providers.thinking import EFFORTS, Effort, Thinks


class Answer(Struct, frozen=True):
    """What whoever was asked said."""

    allow: bool
    message: str = ""
    """Why not; the model reads it."""
    input: dict[str, Any] | None = None
    """Replaces the call's input wholly."""
    updates: tuple[dict[str, Any], ...] = ()
    """Changes to rules, directories or mode, in the wire's shape (SPEC 6.1)."""
    interrupt: bool = False
    """The whole run shall end, not only this call."""
    by: str = "person"


class Approver(Protocol):
    """Whoever answers interactions: a keypress, an HTTP call, a host program, or a flat no."""

    can_ask: bool

    async def ask(self, opened: InteractionOpened) -> Answer:
        """Wait for the answer. Cancelled when the run is interrupted: the question is then withdrawn."""
        ...


class PermissionJudge(Protocol):
    """The permission policy of a session. It follows the log: `apply` sees each event as it is stored."""

    @property
    def mode(self) -> str: ...

    def judge(
        self, tool: str, accesses: tuple[Access, ...], input: dict[str, Any], *, read_only: bool
    ) -> PolicyDecision: ...

    def suggest(self, tool: str, accesses: tuple[Access, ...], input: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Permission updates that would let this call through next time, narrowest first."""
        ...

    def apply(self, event: Event) -> None: ...


class Route(Struct, frozen=True):
    """How a model is reached, and what it can do."""

    name: str
    """As people and programs are told."""
    model: str
    """As its vendor calls it."""
    provider: Provider
    window: int
    max_output: int
    price: Callable[[Usage], float]
    thinks: Thinks = "adaptive"
    efforts: tuple[Effort, ...] = EFFORTS
    """Those the model accepts."""
    local: bool = False
    """It runs on the user's own machine."""


class Models(Protocol):
    def route(self, name: str) -> Route:
        """Find the way to a model.

        Raises:
            ValueError: no such provider, or no key for it; the text says what to do.
        """
        ...


class TurnEndGuard(Protocol):
    """Whoever may object when a run wants to end."""

    async def before_end(self, last_text: str, *, again: bool) -> HookOutcome: ...
