"""Commands on sessions, shared by all APIs: create, message, interrupt, continue, configure."""

import asyncio
import logging
import os
from contextlib import suppress
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bobstay.config.trust import trust_worktree
from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InputDropped, InputQueued
from bobstay.model.ids import new_id
from bobstay.model.message import Block, Text
from bobstay.model.session_events import Configured, InterruptAsked, SessionChanged, SessionConfig
from bobstay.server.api.worktrees_routes import worktrees_of
from bobstay.server.console import Console
from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import allowed_roots, resolve_allowed
from bobstay.server.inbox import Deliver
from bobstay.server.preflight import check_mode, check_startable
from bobstay.server.runner import close_orphaned
from bobstay.server.sessions.external_sessions import is_external
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_status import BUSY, ENDED
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workers.worker import AgentWorker
from bobstay.server.workflows import allows_mode
from bobstay.server.worktrees import Worktree
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)
Delivery: TypeAlias = Literal["steer", "queue", "interrupt"]


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


class WorktreeRequest(Struct, frozen=True):
    """A request for a worktree of its own; names that are not given are generated."""

    branch: str = ""
    base: str = ""


async def launch(
    console: Console,
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
    where = working_directory(console, cwd)
    await check_startable(console, where, config, runs=bool(message.blocks))
    session_id = id or new_id()
    made: Worktree | None = None
    if tree is not None:
        made = await worktrees_of(console).add(where, session_id, tree.branch, tree.base)
        where = made.path
        config = replace(config, worktree=made.path, branch=made.branch, base=made.base, project=made.project)
    try:
        if made is not None:
            await asyncio.to_thread(trust_worktree, made.path, made.project, console.environment.paths)
        if (message.variables or message.mcp_config) and console.variables is not None:
            await console.variables.set(console.database, session_id, message.variables, message.mcp_config)
        session = console.registry.create(where, config, title=title, by=message.by, id=session_id)
    except BaseException:  # without a session nothing else would remove its secrets and its worktree
        if console.variables is not None:
            await console.variables.delete(console.database, session_id)
        if made is not None:
            with suppress(ApiError):
                await worktrees_of(console).undo_add(made)
        raise
    if message.blocks:
        session.record(InputQueued(new_id(), message.blocks, "queue", message.client_id))
        await console.runner.wake(session.id)
    console.runner.release(session.id)
    return session.view


async def send_first_message(console: Console, session_id: str, message: UserMessage) -> SessionView:
    """Send a session its first message again, if a crash or a full disk prevented that.

    Raises:
        ApiError, LogError
    """
    view = console.registry.view(session_id)
    if not message.blocks or view.status in BUSY or view.elsewhere or view.stored:
        return view
    session = await console.registry.acquire(session_id)
    if not _known_input(session, message.client_id):
        session.record(InputQueued(new_id(), message.blocks, "queue", message.client_id))
        await console.runner.wake(session_id)
    console.runner.release(session_id)
    return session.view


async def send_message(
    console: Console,
    session_id: str,
    message: UserMessage,
    delivery: Delivery = "queue",
) -> str:
    """Send a message to a session; returns the id of the input. The same `client_id` twice is one message.

    Raises:
        ApiError, LogError
    """
    view = console.registry.view(session_id)
    _check_open(view, delivery)
    check_bounds(console, view)
    if is_external(view):
        return await console.outside.send_message(session_id, message.blocks, _how(delivery), message.client_id)
    session = await console.registry.acquire(session_id)
    if message.client_id and (known := _known_input(session, message.client_id)):
        console.runner.release(session_id)
        return known
    queued = InputQueued(new_id(), message.blocks, _how(delivery), message.client_id)
    session.record(queued)
    if delivery == "interrupt" and session.view.status in ("running", "waiting_input"):
        await interrupt(console, session_id, by=message.by)
    await console.runner.wake(session_id)
    return queued.id


async def interrupt(console: Console, session_id: str, *, by: str = "", force: bool = False) -> SessionView:
    """End the turn of a session, even if its log cannot be written. Raises `wrong_state` if no turn runs."""
    view = console.registry.view(session_id)
    if view.status not in BUSY:
        raise ApiError("wrong_state", f"Nothing runs in this session: it is {view.status}.", status=view.status)
    if is_external(view):
        await console.outside.interrupt(session_id)
        return view
    session = await console.registry.acquire(session_id)
    worker = console.runner.worker(session_id)
    if worker is not None:
        await _stop_turn(console, session, worker, InterruptAsked(by, force))
    else:
        session.record(InterruptAsked(by, force))
        if not console.runner.is_moving(session_id):  # a worker that is starting finds the request
            close_orphaned(
                session, "Interrupted.", by
            )  # no worker could start: queued inputs and open interactions are closed
            console.runner.release(session_id)
    return session.view


async def _stop_turn(console: Console, session: OpenSession, worker: AgentWorker, asked: InterruptAsked) -> None:
    try:
        session.record(asked)
    except LogError as error:
        log.warning("session %s is stopped, but its log cannot say so: %s", session.id, error)
        console.runner.close_later(session.id, asked.by)
    try:
        await worker.interrupt(force=asked.force)
    except LogError as error:
        log.warning("session %s is ended by force: %s", session.id, error)
        await console.runner.stop_agent(session.id, "killed")
    if not worker.alive():
        # The worker ended, not only its turn: queued inputs wait for the next message, and it is not restarted.
        await console.runner.stop_agent(session.id, "stopped")
        if session.view.status in BUSY:
            console.runner.close_later(session.id, asked.by)


def answer_delivery(console: Console, view: SessionView) -> Deliver | None:
    """How an answer is delivered if nothing waits for it in this process."""
    if is_external(view):
        return console.outside.answer
    if console.runner.worker(view.id) is not None:
        return None

    async def wake(session_id: str, _: str, __: Answer) -> None:
        await console.runner.wake(session_id)

    return wake


async def continue_session(
    console: Console,
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
    view = console.registry.view(session_id)
    if state_checked and view.status not in ENDED:
        raise ApiError("wrong_state", f"Cannot continue session with status {view.status}", status=view.status)
    check_bounds(console, view)
    settings = config or replace(view.config, max_turns=SessionConfig().max_turns)
    await check_startable(console, view.cwd, settings, runs=bool(message.blocks))
    child = await console.registry.branch_off(session_id, at, settings, by=message.by, id=id)
    if console.variables is not None:
        await console.variables.copy(console.database, session_id, child.id)
    if message.blocks:
        child = await console.registry.acquire(child.id)
        child.record(InputQueued(new_id(), message.blocks, "queue", message.client_id))
        await console.runner.wake(child.id)
    console.runner.release(child.id)
    return child.view


async def retry(console: Console, session_id: str, *, by: str = "") -> SessionView:
    """Retry what failed: the queued messages, else the last turn."""
    view = console.registry.view(session_id)
    if view.status not in ("failed", "interrupted"):
        raise ApiError("wrong_state", f"There is nothing to retry: the session is {view.status}.")
    check_bounds(console, view)
    if not view.queued:
        await send_message(console, session_id, UserMessage((Text("Go on."),), by))
    else:
        await console.runner.wake(session_id)
    return console.registry.view(session_id)


async def drop_input(console: Console, session_id: str, input_id: str) -> None:
    session = await console.registry.acquire(session_id)
    if all(entry.id != input_id for entry in session.view.queued):
        console.runner.release(session_id)
        raise ApiError("not_found", "There is no such input in the queue: the agent may have started on it.")
    session.record(InputDropped(input_id))
    console.runner.release(session_id)


async def edit_input(console: Console, session_id: str, input_id: str, blocks: tuple[Block, ...]) -> None:
    session = await console.registry.acquire(session_id)
    entry = next((entry for entry in session.view.queued if entry.id == input_id), None)
    if entry is None:
        console.runner.release(session_id)
        raise ApiError("not_found", "There is no such input in the queue: the agent may have started on it.")
    session.record(InputQueued(input_id, blocks, entry.how, entry.client_id))
    console.runner.release(session_id)


async def change_metadata(console: Console, session_id: str, change: SessionChanged) -> SessionView:
    """Change the title, or archive or pin a session."""
    session = await console.registry.acquire(session_id)
    session.record(change)
    console.runner.release(session_id)
    return session.view


async def configure(console: Console, session_id: str, config: SessionConfig, *, by: str = "") -> SessionView:
    """Change the configuration of a session. Mode and model apply to a running agent at once."""
    view = console.registry.view(session_id)
    before = view.config
    check_mode(config.permission_mode)
    if not allows_mode(config, config.permission_mode or view.permission_mode):
        raise ApiError("invalid", f"A session in {config.workflow} mode cannot be in {config.permission_mode}.")
    if config.workflow != before.workflow and view.status in BUSY:
        raise ApiError("wrong_state", "Stop the session before giving it another workflow.", status=view.status)
    session = await console.registry.acquire(session_id)
    session.record(Configured(config, by))
    if (config.workflow, config.max_turns) != (before.workflow, before.max_turns) and view.status not in BUSY:
        await console.runner.stop_agent(session_id)  # an agent's tools and limits are fixed when it starts
    worker = console.runner.worker(session_id)
    if worker is not None:
        mode = (config.permission_mode, config.bypass_until)
        if config.permission_mode and mode != (before.permission_mode, before.bypass_until):
            await worker.set_mode(config.permission_mode)
        if config.model and config.model != before.model:
            await worker.set_model(config.model)
    console.runner.release(session_id)
    return session.view


def working_directory(console: Console, cwd: str) -> str:
    """The directory a session may work in.

    Raises:
        ApiError: invalid, not_found, forbidden
    """
    return resolve_allowed(os.path.expanduser(cwd), allowed_roots(console))


def check_bounds(console: Console, view: SessionView) -> None:
    """Refuse sessions outside the directories of this server, wherever they were created.

    Raises:
        ApiError: forbidden
    """
    try:
        working_directory(console, view.cwd)
    except ApiError as error:
        if error.problem.code == "forbidden":
            raise  # a missing directory is reported when an agent starts there


def _check_open(view: SessionView, delivery: str) -> None:
    if view.config.inputs == "locked" or (view.config.inputs == "queue" and delivery != "queue"):
        raise ApiError("forbidden", f"This session is {view.config.inputs}: it does not accept such messages.")
    if view.status == "discarded":
        raise ApiError("wrong_state", "This session was discarded.", status=view.status)


def _how(delivery: Delivery) -> Literal["steer", "queue"]:
    return "steer" if delivery == "steer" else "queue"


def _known_input(session: OpenSession, client_id: str) -> str:
    for entry in session.view.queued:
        if entry.client_id == client_id:
            return entry.id
    return session.inputs.get(client_id, "")
