"""Principals and scopes: the identity behind a request and its permissions, as the server determined them."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

Scope: TypeAlias = Literal["read", "operate", "approve", "terminal", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "operate", "approve", "terminal", "admin")


class Principal(Struct, frozen=True):
    name: str
    """The name recorded with decisions."""
    scopes: frozenset[Scope]
    client: str = ""
    """Id of the token or cookie; revoking it closes the connections that were opened with it."""
    confirmed: bool = True
    """False if the database could not be reached: a recently seen principal, without the admin scope."""

    def may(self, scope: Scope | None) -> bool:
        return scope is None or scope in self.scopes or "admin" in self.scopes


OWNER = Principal("owner", frozenset(SCOPES), "local")
"""The person who started the server, over the RPC socket that only they can open."""
ANONYMOUS = Principal("", frozenset())
"""A request without credentials, on a route that needs none."""


def scopes_of(names: Iterable[str]) -> frozenset[Scope]:
    """The scopes of these names.

    Raises:
        ValueError: a name is unknown, or there is none. The text is for people.
    """
    given = frozenset(name.strip() for name in names)
    found: frozenset[Scope] = frozenset(scope for scope in SCOPES if scope in given)
    if len(found) != len(given) or not found:
        wrong = ", ".join(sorted(given - set(SCOPES))[:5])[:100] or "nothing"
        raise ValueError(f"There is no scope {wrong}. Choose from: {', '.join(SCOPES)}.")
    return found


def scopes_text(scopes: Iterable[Scope]) -> str:
    """As stored and displayed: in the order of `SCOPES`, separated by commas."""
    given = frozenset(scopes)
    return ",".join(scope for scope in SCOPES if scope in given)
