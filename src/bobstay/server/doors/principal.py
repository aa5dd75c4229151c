"""Who makes a request, and what they may do. Only the server says so; nothing a client sends adds to it."""

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

    def may(self, scope: Scope | None) -> bool:
        return scope is None or scope in self.scopes or "admin" in self.scopes


OWNER = Principal("owner", frozenset(SCOPES), "local")
"""The person who started the server, over a door only they can open."""
