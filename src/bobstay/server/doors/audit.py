"""Whoever keeps the book of what happened at the doors."""

from typing import Any, Protocol


class Audit(Protocol):
    def record(self, who: str, what: str, detail: dict[str, Any]) -> None:
        """Write an entry, soon. `detail` never holds a secret."""
        ...


class NoAudit:
    """For parts that are tried without a book."""

    def record(self, who: str, what: str, detail: dict[str, Any]) -> None:
        return
