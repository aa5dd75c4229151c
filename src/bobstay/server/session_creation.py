"""Creates sessions, and sessions that continue others, with worktrees and secrets of their own."""

import asyncio
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bobstay.config.paths import Paths
from bobstay.config.trust import trust_worktree
from bobstay.model.event import InputQueued
from bobstay.model.ids import new_id
from bobstay.model.message import Block
from bobstay.model.session_events import SessionConfig
from bobstay.repositories.worktree import Worktree
from bobstay.server.errors import ApiError
from bobstay.server.preflight import Preflight
from bobstay.server.root_directories import RootDirectories
from bobstay.server.runner import Runner
from bobstay.server.session_secrets import SessionSecrets
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_status import BUSY, ENDED
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.worktrees import Worktrees


class UserMessage(Struct, frozen=True):
    """A message to a session, with its sender."""

    blocks: tuple[Block, ...] = ()
    by: str = ""
    client_id: str = ""
    """The sender's own id for it: a message that is sent twice is processed once."""
    variables: dict[str, str] = {}
    """For a new session: environment variables of its processes."""
    mcp_config: dict[str, Any] = {}
    """For a new session: the MCP servers of its engine."""
    sender: str = ""
    """The agent that sent it; empty for a person."""


class WorktreeRequest(Struct, frozen=True):
    """A request for a worktree of its own; names that are not given are generated."""

    branch: str = ""
    base: str = ""


class SessionCreation:
    def __init__(
        self,
        registry: SessionRegistry,
        runner: Runner,
        secrets: SessionSecrets,
        preflight: Preflight,
        worktrees: Worktrees,
        roots: RootDirectories,
        paths: Paths,
    ) -> None:
        self._registry = registry
        self._runner = runner
        self._secrets = secrets
        self._preflight = preflight
        self._worktrees = worktrees
        self._roots = roots
        self._paths = paths

    async def launch(
        self,
        cwd: str,
        config: SessionConfig,
        message: UserMessage,
        *,
        title: str = "",
        tree: WorktreeRequest | None = None,
        id: str = "",
    ) -> SessionView:
        """Create a session, with this id if one is given; with a message, its agent starts at once.

        Raises:
            ApiError, LogError
        """
        where = self._roots.resolve(cwd)
        await self._preflight.check(where, config, runs=bool(message.blocks))
        session_id = id or new_id()
        made: Worktree | None = None
        if tree is not None:
            made = await self._worktrees.add(where, session_id, tree.branch, tree.base)
            where = made.path
            config = replace(config, worktree=made.path, branch=made.branch, base=made.base, project=made.project)
        try:
            if made is not None:
                await asyncio.to_thread(trust_worktree, made.path, made.project, self._paths)
            if message.variables or message.mcp_config:
                await self._secrets.set(session_id, message.variables, message.mcp_config)
            session = self._registry.create(where, config, title=title, by=message.by, id=session_id)
        except BaseException:  # without a session nothing else would remove its secrets and its worktree
            await self._secrets.delete(session_id)
            if made is not None:
                with suppress(ApiError):
                    await self._worktrees.undo_add(made)
            raise
        if message.blocks:
            session.record(InputQueued(new_id(), message.blocks, "queue", message.client_id))
            await self._runner.wake(session.id)
        self._runner.release(session.id)
        return session.view

    async def send_first_message(self, session_id: str, message: UserMessage) -> SessionView:
        """Send a session its first message again, if a crash or a full disk prevented that.

        Raises:
            ApiError, LogError
        """
        view = self._registry.view(session_id)
        if not message.blocks or view.status in BUSY or view.elsewhere or view.stored:
            return view
        session = await self._registry.acquire(session_id)
        if not known_input(session, message.client_id):
            session.record(InputQueued(new_id(), message.blocks, "queue", message.client_id))
            await self._runner.wake(session_id)
        self._runner.release(session_id)
        return session.view

    async def continue_session(
        self,
        session_id: str,
        message: UserMessage,
        config: SessionConfig | None = None,
        *,
        at: str = "",
        state_checked: bool = True,
        id: str = "",
    ) -> SessionView:
        """Continue a session in a child session; `at` names the entry after which it branches off.

        The child gets this `id`, if one is given.
        """
        view = self._registry.view(session_id)
        if state_checked and view.status not in ENDED:
            raise ApiError("wrong_state", f"Cannot continue session with status {view.status}", status=view.status)
        self._roots.check(view.cwd)
        settings = config or replace(view.config, max_turns=SessionConfig().max_turns)
        await self._preflight.check(view.cwd, settings, runs=bool(message.blocks))
        child = await self._registry.branch_off(session_id, at, settings, by=message.by, id=id)
        await self._secrets.copy(session_id, child.id)
        if message.blocks:
            child = await self._registry.acquire(child.id)
            child.record(InputQueued(new_id(), message.blocks, "queue", message.client_id))
            await self._runner.wake(child.id)
        self._runner.release(child.id)
        return child.view


def known_input(session: OpenSession, client_id: str) -> str:
    for entry in session.view.queued:
        if entry.client_id == client_id:
            return entry.id
    return session.inputs.get(client_id, "")
