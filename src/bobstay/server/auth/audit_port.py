"""Whoever keeps the book of what happened at the doors."""

from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

MOST_REFUSALS = 60
"""Entries a minute."""


class AuditLog(Protocol):
    def record(self, who: str, what: str, detail: dict[str, Any], session: str = "") -> None:
        """Write an entry, soon. `detail` never holds a secret."""
        ...


class NoAuditLog:
    """For parts that are tried without a book."""

    def record(self, who: str, what: str, detail: dict[str, Any], session: str = "") -> None:
        return


class Refusals:
    """Writes down who was refused what, but not more often than anybody would read: the rest is counted."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._until = 0.0
        self._count = 0

    def record(self, audit: AuditLog, who: str, what: str, detail: dict[str, Any], session: str = "") -> None:
        now = self._clock()
        if now >= self._until:
            if self._count > MOST_REFUSALS:
                audit.record("", "refused", {"not_listed": self._count - MOST_REFUSALS})
            self._until, self._count = now + 60.0, 0
        self._count += 1
        if self._count <= MOST_REFUSALS:
            audit.record(who, "refused", {"what": what, **detail}, session)
