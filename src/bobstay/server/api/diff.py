"""What a session changed, over HTTP: files, hunks and numbers."""

from msgspec import Struct

from bobstay.server.api.table import Call, Endpoint
from bobstay.server.files.changes import Changes, changes
from bobstay.server.files.place import bounds_of, look


class DiffQuery(Struct, frozen=True):
    base: str = ""
    """A commit, branch or tag; empty for the one the session's work tree began from, else HEAD."""
    path: str = ""
    """A file or directory, relative to the session's; empty for all."""
    hunks: bool = True


async def show_diff(call: Call) -> Changes:
    """What is different from a commit, new files included."""
    view = call.console.registry.view(call.path["id"])
    base = call.query.base or (view.config.base if view.config.worktree else "")
    with look(view.cwd, bounds_of(call.console)) as place:
        environment = call.console.environment.children
        return await changes(place, environment, base=base, path=call.query.path, hunks=call.query.hunks)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET",
        "/sessions/{id}/diff",
        show_diff,
        query=DiffQuery,
        returns=Changes,
        errors=("not_found", "forbidden", "invalid", "not_supported", "conflict", "unavailable"),
    ),
)
