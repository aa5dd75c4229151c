"""The worktree of a session over HTTP: show, commit, merge and remove it."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from bobstay.config.trust_store import TrustStore
from bobstay.model.session_events import Configured, SessionConfig
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.errors import ApiError, Code
from bobstay.server.sessions.session_status import BUSY
from bobstay.server.worktrees import LONGEST_MESSAGE, Strategy, WorktreeState

Message = Annotated[str, Meta(max_length=LONGEST_MESSAGE)]


class CommitBody(Struct, frozen=True, forbid_unknown_fields=True):
    message: Message


class MergeBody(Struct, frozen=True, forbid_unknown_fields=True):
    strategy: Strategy = "merge"
    message: Message = ""
    """Message of the merge commit; git's default if empty."""


class RemoveQuery(Struct, frozen=True):
    force: bool = False
    """Discard uncommitted changes. The branch is kept if it has unmerged commits."""


class Committed(Struct, frozen=True):
    commit: str
    worktree: WorktreeState


async def show_worktree(call: ApiCall) -> WorktreeState:
    """Show the state of a session's worktree: commits ahead and behind, changes, and conflicts of a merge."""
    config = _config(call)
    return await call.services.worktrees.state(config.worktree, config.project, config.base)


async def commit_worktree(call: ApiCall) -> Committed:
    """Commit all changes in a session's worktree."""
    config = _config(call)
    trees = call.services.worktrees
    commit = await trees.commit(config.worktree, call.body.message)
    return Committed(commit, await trees.state(config.worktree, config.project, config.base))


async def merge_worktree(call: ApiCall) -> Committed:
    """Merge a session's worktree into the branch checked out in its project."""
    config = _config(call)
    trees = call.services.worktrees
    commit = await trees.merge(config.worktree, config.project, call.body.strategy, call.body.message)
    return Committed(commit, await trees.state(config.worktree, config.project, config.base))


async def remove_worktree(call: ApiCall) -> None:
    """Remove a session's worktree; refused if changes would be lost, unless forced."""
    config = _config(call)
    session_id = call.path["id"]
    view = call.services.registry.view(session_id)
    if view.status in BUSY:
        raise ApiError("wrong_state", f"The session is {view.status}. Stop it before removing its worktree.")
    await call.services.worktrees.remove(config.worktree, config.project, force=call.query.force)
    await asyncio.to_thread(TrustStore(call.services.environment.paths.bobstay).remove, config.worktree)
    left = replace(config, worktree="", branch="", base="")
    (await call.services.registry.acquire(session_id)).record(Configured(left, call.principal.name))
    call.services.runner.release(session_id)


def _config(call: ApiCall) -> SessionConfig:
    config = call.services.registry.view(call.path["id"]).config
    if not config.worktree:
        raise ApiError("not_found", "This session has no worktree of its own.")
    return config


_REFUSALS: tuple[Code, ...] = ("not_found", "wrong_state", "conflict", "not_supported", "unavailable")
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/sessions/{id}/worktree", show_worktree, returns=WorktreeState, errors=_REFUSALS),
    Endpoint(
        "POST",
        "/sessions/{id}/worktree/commit",
        commit_worktree,
        "operate",
        body=CommitBody,
        returns=Committed,
        errors=_REFUSALS,
    ),
    Endpoint(
        "POST",
        "/sessions/{id}/worktree/merge",
        merge_worktree,
        "operate",
        body=MergeBody,
        returns=Committed,
        errors=_REFUSALS,
    ),
    Endpoint(
        "DELETE",
        "/sessions/{id}/worktree",
        remove_worktree,
        "operate",
        query=RemoveQuery,
        status=204,
        errors=_REFUSALS,
    ),
)
