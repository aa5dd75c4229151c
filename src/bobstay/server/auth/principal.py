"""Who makes a request, and what they may do. Only the server says so; nothing a client sends adds to it."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

Scope: TypeAlias = Literal["read", "operate", "approve", "terminal", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "operate", "approve", "terminal", "admin")


class Principal(Struct, frozen=True):
    name: str
    """What is written beside a decision."""
    scopes: frozenset[Scope]
    client: str = ""
    """Id of the token or cookie it came with; revoking that closes what was opened with it."""
    confirmed: bool = True
    """False where the database could not be asked: somebody who came in lately, without what only admins may do."""

    def may(self, scope: Scope | None) -> bool:
        return scope is None or scope in self.scopes or "admin" in self.scopes


OWNER = Principal("owner", frozenset(SCOPES), "local")
"""The person who started the server, over a door only they can open."""
ANONYMOUS = Principal("", frozenset())
"""Somebody who showed nothing, on a route that asks nobody."""


def scopes_of(names: Iterable[str]) -> frozenset[Scope]:
    """The scopes of these names.

    Raises:
        ValueError: one of them is none, or there is not a single one. The text is for a person.
    """
    given = frozenset(name.strip() for name in names)
    found: frozenset[Scope] = frozenset(scope for scope in SCOPES if scope in given)
    if len(found) != len(given) or not found:
        wrong = ", ".join(sorted(given - set(SCOPES))[:5])[:100] or "nothing"
        raise ValueError(f"There is no scope {wrong}. Choose from: {', '.join(SCOPES)}.")
    return found


def scopes_text(scopes: Iterable[Scope]) -> str:
    """As stored and shown: in their usual order, with commas."""
    given = frozenset(scopes)
    return ",".join(scope for scope in SCOPES if scope in given)
