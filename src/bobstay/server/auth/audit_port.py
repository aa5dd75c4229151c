"""Protocol of the audit log, and the rate limit on entries about refused requests."""

from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

MOST_REFUSALS = 60
"""Entries per minute."""


class AuditLog(Protocol):
    def record(self, who: str, what: str, detail: dict[str, Any], session: str = "") -> None:
        """Write an entry asynchronously. `detail` never holds a secret."""
        ...


class NoAuditLog:
    """Discards all entries; for tests and tools that have no database."""

    def record(self, who: str, what: str, detail: dict[str, Any], session: str = "") -> None:
        return


class Refusals:
    """Records refused requests in the audit log, up to a number per minute; the rest is only counted."""

    def __init__(self, audit: AuditLog, clock: Callable[[], float] = monotonic) -> None:
        self._audit = audit
        self._clock = clock
        self._until = 0.0
        self._count = 0

    def record(self, who: str, what: str, detail: dict[str, Any], session: str = "") -> None:
        now = self._clock()
        if now >= self._until:
            if self._count > MOST_REFUSALS:
                self._audit.record("", "refused", {"not_listed": self._count - MOST_REFUSALS})
            self._until, self._count = now + 60.0, 0
        self._count += 1
        if self._count <= MOST_REFUSALS:
            self._audit.record(who, "refused", {"what": what, **detail}, session)
