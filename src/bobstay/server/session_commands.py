"""What people and programs may do with sessions, whichever door they come through."""

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
from bobstay.server.files.session_directory import allowed, bounds_of
from bobstay.server.inbox import Deliver
from bobstay.server.preflight import check_mode, check_startable
from bobstay.server.runner import settle
from bobstay.server.sessions.external_sessions import is_outside
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_status import BUSY, ENDED
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workers.worker import AgentWorker
from bobstay.server.workflows import may_be_in
from bobstay.server.worktrees import Worktree
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)
Delivery: TypeAlias = Literal["steer", "queue", "interrupt"]


class UserMessage(Struct, frozen=True):
    """What is said to a session, and by whom."""

    blocks: tuple[Block, ...] = ()
    by: str = ""
    client_id: str = ""
    """The sender's own id for it: said twice, it is heard once."""
    variables: dict[str, str] = {}
    """Of a session that begins: what its processes find in their environment."""
    mcp_config: dict[str, Any] = {}
    """Of a session that begins: the MCP servers of its engine."""


class WorktreeRequest(Struct, frozen=True):
    """A work tree of its own is wanted; with names that are made up if not given."""

    branch: str = ""
    base: str = ""


async def launch(
    console: Console,
    cwd: str,
    config: SessionConfig,
    words: UserMessage,
    *,
    title: str = "",
    tree: WorktreeRequest | None = None,
    id: str = "",
) -> SessionView:
    """Begin a session, under this id if one is given; with words, its agent sets to work on them.

    Raises:
        ApiError, LogError
    """
    where = working_directory(console, cwd)
    await check_startable(console, where, config, runs=bool(words.blocks))
    session_id = id or new_id()
    made: Worktree | None = None
    if tree is not None:
        made = await worktrees_of(console).add(where, session_id, tree.branch, tree.base)
        where = made.path
        config = replace(config, worktree=made.path, branch=made.branch, base=made.base, project=made.project)
    try:
        if made is not None:
            await asyncio.to_thread(trust_worktree, made.path, made.project, console.environment.paths)
        if (words.variables or words.mcp_config) and console.variables is not None:
            await console.variables.give(console.database, session_id, words.variables, words.mcp_config)
        session = console.registry.create(where, config, title=title, by=words.by, id=session_id)
    except BaseException:  # whatever it was: without a session nobody would remove its secrets and its work tree
        if console.variables is not None:
            await console.variables.take_away(console.database, session_id)
        if made is not None:
            with suppress(ApiError):
                await worktrees_of(console).take_back(made)
        raise
    if words.blocks:
        session.record(InputQueued(new_id(), words.blocks, "queue", words.client_id))
        await console.runner.wake(session.id)
    console.runner.let_go(session.id)
    return session.view


async def say_first(console: Console, session_id: str, words: UserMessage) -> SessionView:
    """Give a session the words it was begun with, if a crash or a full disk kept them from it.

    Raises:
        ApiError, LogError
    """
    view = console.registry.view(session_id)
    if not words.blocks or view.status in BUSY or view.elsewhere or view.stored:
        return view
    session = await console.registry.take(session_id)
    if not _known_input(session, words.client_id):
        session.record(InputQueued(new_id(), words.blocks, "queue", words.client_id))
        await console.runner.wake(session_id)
    console.runner.let_go(session_id)
    return session.view


async def message(
    console: Console,
    session_id: str,
    words: UserMessage,
    delivery: Delivery = "queue",
) -> str:
    """Give words to a session; returns the id of the input. The same `client_id` twice is one message (FM-7).

    Raises:
        ApiError, LogError
    """
    view = console.registry.view(session_id)
    _check_open(view, delivery)
    check_bounds(console, view)
    if is_outside(view):
        return await console.outside.say(session_id, words.blocks, _how(delivery), words.client_id)
    session = await console.registry.take(session_id)
    if words.client_id and (known := _known_input(session, words.client_id)):
        console.runner.let_go(session_id)
        return known
    queued = InputQueued(new_id(), words.blocks, _how(delivery), words.client_id)
    session.record(queued)
    if delivery == "interrupt" and session.view.status in ("running", "waiting_input"):
        await interrupt(console, session_id, by=words.by)
    await console.runner.wake(session_id)
    return queued.id


async def interrupt(console: Console, session_id: str, *, by: str = "", force: bool = False) -> SessionView:
    """End the turn of a session, even if nothing can be written. Raises `wrong_state` if none is under way."""
    view = console.registry.view(session_id)
    if view.status not in BUSY:
        raise ApiError("wrong_state", f"Nothing runs in this session: it is {view.status}.", status=view.status)
    if is_outside(view):
        await console.outside.interrupt(session_id)
        return view
    session = await console.registry.take(session_id)
    worker = console.runner.worker(session_id)
    if worker is not None:
        await _stop_turn(console, session, worker, InterruptAsked(by, force))
    else:
        session.record(InterruptAsked(by, force))
        if not console.runner.is_moving(session_id):  # one that is coming up finds the wish
            settle(session, "Interrupted.", by)  # none could come up: what waits for it, or for a person, is given up
            console.runner.let_go(session_id)
    return session.view


async def _stop_turn(console: Console, session: OpenSession, worker: AgentWorker, asked: InterruptAsked) -> None:
    try:
        session.record(asked)
    except LogError as error:
        log.warning("session %s is stopped, but its log cannot say so: %s", session.id, error)
        console.runner.settle_later(session.id, asked.by)
    try:
        await worker.interrupt(force=asked.force)
    except LogError as error:
        log.warning("session %s is ended by force: %s", session.id, error)
        await console.runner.rest(session.id, "killed")
    if not worker.alive():
        # It was ended, not only its turn: what is queued waits for the next message, and nobody starts it again.
        await console.runner.rest(session.id, "stopped")
        if session.view.status in BUSY:
            console.runner.settle_later(session.id, asked.by)


def delivery(console: Console, view: SessionView) -> Deliver | None:
    """How an answer reaches who asked, where nobody waits for it in this process."""
    if is_outside(view):
        return console.outside.answer
    if console.runner.worker(view.id) is not None:
        return None

    async def wake(session_id: str, _: str, __: Answer) -> None:
        await console.runner.wake(session_id)

    return wake


async def follow_on(
    console: Console,
    session_id: str,
    words: UserMessage,
    config: SessionConfig | None = None,
    *,
    at: str = "",
    state_checked: bool = True,
    id: str = "",
) -> SessionView:
    """Go on from a session in a child of it; `at` names the entry after which it goes another way.

    The child gets this `id`, if one is given.
    """
    view = console.registry.view(session_id)
    if state_checked and view.status not in ENDED:
        raise ApiError("wrong_state", f"Cannot continue session with status {view.status}", status=view.status)
    check_bounds(console, view)
    settings = config or replace(view.config, max_turns=SessionConfig().max_turns)
    await check_startable(console, view.cwd, settings, runs=bool(words.blocks))
    child = await console.registry.branch_off(session_id, at, settings, by=words.by, id=id)
    if console.variables is not None:
        await console.variables.hand_on(console.database, session_id, child.id)
    if words.blocks:
        child = await console.registry.take(child.id)
        child.record(InputQueued(new_id(), words.blocks, "queue", words.client_id))
        await console.runner.wake(child.id)
    console.runner.let_go(child.id)
    return child.view


async def retry(console: Console, session_id: str, *, by: str = "") -> SessionView:
    """Try again what failed: the words that wait in the queue, else the last ones."""
    view = console.registry.view(session_id)
    if view.status not in ("failed", "interrupted"):
        raise ApiError("wrong_state", f"There is nothing to try again: the session is {view.status}.")
    check_bounds(console, view)
    if not view.queued:
        await message(console, session_id, UserMessage((Text("Go on."),), by))
    else:
        await console.runner.wake(session_id)
    return console.registry.view(session_id)


async def drop_input(console: Console, session_id: str, input_id: str) -> None:
    session = await console.registry.take(session_id)
    if all(entry.id != input_id for entry in session.view.queued):
        console.runner.let_go(session_id)
        raise ApiError("not_found", "There is no such input in the queue: it may have been taken up.")
    session.record(InputDropped(input_id))
    console.runner.let_go(session_id)


async def edit_input(console: Console, session_id: str, input_id: str, blocks: tuple[Block, ...]) -> None:
    session = await console.registry.take(session_id)
    entry = next((entry for entry in session.view.queued if entry.id == input_id), None)
    if entry is None:
        console.runner.let_go(session_id)
        raise ApiError("not_found", "There is no such input in the queue: it may have been taken up.")
    session.record(InputQueued(input_id, blocks, entry.how, entry.client_id))
    console.runner.let_go(session_id)


async def describe(console: Console, session_id: str, change: SessionChanged) -> SessionView:
    """Title, archive, pin."""
    session = await console.registry.take(session_id)
    session.record(change)
    console.runner.let_go(session_id)
    return session.view


async def configure(console: Console, session_id: str, config: SessionConfig, *, by: str = "") -> SessionView:
    """Change how a session is run. Mode and model reach an agent that is up at once."""
    view = console.registry.view(session_id)
    before = view.config
    check_mode(config.permission_mode)
    if not may_be_in(config, config.permission_mode or view.permission_mode):
        raise ApiError("invalid", f"A session in {config.workflow} mode cannot be in {config.permission_mode}.")
    if config.workflow != before.workflow and view.status in BUSY:
        raise ApiError("wrong_state", "Stop the session before giving it another workflow.", status=view.status)
    session = await console.registry.take(session_id)
    session.record(Configured(config, by))
    if (config.workflow, config.max_turns) != (before.workflow, before.max_turns) and view.status not in BUSY:
        await console.runner.rest(session_id)  # an agent has its tools and its limits from its start on
    worker = console.runner.worker(session_id)
    if worker is not None:
        mode = (config.permission_mode, config.bypass_until)
        if config.permission_mode and mode != (before.permission_mode, before.bypass_until):
            await worker.set_mode(config.permission_mode)
        if config.model and config.model != before.model:
            await worker.set_model(config.model)
    console.runner.let_go(session_id)
    return session.view


def working_directory(console: Console, cwd: str) -> str:
    """The directory a session may work in.

    Raises:
        ApiError: invalid, not_found, forbidden
    """
    return allowed(os.path.expanduser(cwd), bounds_of(console))


def check_bounds(console: Console, view: SessionView) -> None:
    """No agent sets to work outside the directories of this server, wherever its session was begun.

    Raises:
        ApiError: forbidden
    """
    try:
        working_directory(console, view.cwd)
    except ApiError as error:
        if error.problem.code == "forbidden":
            raise  # that a directory is gone is told by whoever starts there


def _check_open(view: SessionView, delivery: str) -> None:
    if view.config.inputs == "locked" or (view.config.inputs == "queue" and delivery != "queue"):
        raise ApiError("forbidden", f"This session is {view.config.inputs}: it does not take such messages.")
    if view.status == "discarded":
        raise ApiError("wrong_state", "This session was discarded.", status=view.status)


def _how(delivery: Delivery) -> Literal["steer", "queue"]:
    return "steer" if delivery == "steer" else "queue"


def _known_input(session: OpenSession, client_id: str) -> str:
    for entry in session.view.queued:
        if entry.client_id == client_id:
            return entry.id
    return session.inputs.get(client_id, "")
