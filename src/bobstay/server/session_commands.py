"""Commands on existing sessions, shared by all APIs: message, interrupt, answer, retry, configure."""

import logging
from typing import Literal, TypeAlias

from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InputDropped, InputQueued
from bobstay.model.ids import new_id
from bobstay.model.message import Block, Text
from bobstay.model.session_events import Configured, InterruptAsked, SessionChanged, SessionConfig
from bobstay.server.errors import ApiError
from bobstay.server.external_sessions import ExternalSessions
from bobstay.server.inbox import Deliver
from bobstay.server.preflight import check_mode
from bobstay.server.root_directories import RootDirectories
from bobstay.server.runner import Runner, close_orphaned
from bobstay.server.session_creation import UserMessage, known_input
from bobstay.server.sessions.abandoned_view import is_external
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_status import BUSY
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workers.worker import AgentWorker
from bobstay.server.workflows import allows_mode
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)
Delivery: TypeAlias = Literal["steer", "queue", "interrupt"]


class SessionCommands:
    def __init__(
        self,
        registry: SessionRegistry,
        runner: Runner,
        external: ExternalSessions,
        roots: RootDirectories,
    ) -> None:
        self._registry = registry
        self._runner = runner
        self._external = external
        self._roots = roots

    async def send_message(
        self,
        session_id: str,
        message: UserMessage,
        delivery: Delivery = "queue",
    ) -> str:
        """Send a message to a session; returns the id of the input. The same `client_id` twice is one message.

        Raises:
            ApiError, LogError
        """
        view = self._registry.view(session_id)
        _check_open(view, delivery)
        self._roots.check(view.cwd)
        sender = message.sender
        queued = InputQueued(
            new_id(), message.blocks, _how(delivery), message.client_id, verbatim=bool(sender), sender=sender
        )
        if is_external(view):
            return await self._external.send_message(session_id, queued)
        session = await self._registry.acquire(session_id)
        if message.client_id and (known := known_input(session, message.client_id)):
            self._runner.release(session_id)
            return known
        session.record(queued)
        if delivery == "interrupt" and session.view.status in ("running", "waiting_input"):
            await self.interrupt(session_id, by=message.by)
        await self._runner.wake(session_id)
        return queued.id

    async def interrupt(self, session_id: str, *, by: str = "", force: bool = False) -> SessionView:
        """End the turn of a session, even if its log cannot be written. Raises `wrong_state` if no turn runs."""
        view = self._registry.view(session_id)
        if view.status not in BUSY:
            raise ApiError("wrong_state", f"Nothing runs in this session: it is {view.status}.", status=view.status)
        if is_external(view):
            await self._external.interrupt(session_id)
            return view
        session = await self._registry.acquire(session_id)
        worker = self._runner.worker(session_id)
        if worker is not None:
            await self._stop_turn(session, worker, InterruptAsked(by, force))
        else:
            session.record(InterruptAsked(by, force))
            if not self._runner.is_moving(session_id):  # a worker that is starting finds the request
                close_orphaned(
                    session, "Interrupted.", by
                )  # no worker could start: queued inputs and open interactions are closed
                self._runner.release(session_id)
        return session.view

    async def _stop_turn(self, session: OpenSession, worker: AgentWorker, asked: InterruptAsked) -> None:
        try:
            session.record(asked)
        except LogError as error:
            log.warning("session %s is stopped, but its log cannot say so: %s", session.id, error)
            self._runner.close_later(session.id, asked.by)
        try:
            await worker.interrupt(force=asked.force)
        except LogError as error:
            log.warning("session %s is ended by force: %s", session.id, error)
            await self._runner.stop_agent(session.id, "killed")
        if not worker.alive():
            # The worker ended, not only its turn: queued inputs wait for the next message, and it is not restarted.
            await self._runner.stop_agent(session.id, "stopped")
            if session.view.status in BUSY:
                self._runner.close_later(session.id, asked.by)

    def answer_delivery(self, view: SessionView) -> Deliver | None:
        """How an answer is delivered if nothing waits for it in this process."""
        if is_external(view):
            return self._external.answer
        if self._runner.worker(view.id) is not None:
            return None

        async def wake(session_id: str, _: str, __: Answer) -> None:
            await self._runner.wake(session_id)

        return wake

    async def retry(self, session_id: str, *, by: str = "") -> SessionView:
        """Retry what failed: the queued messages, else the last turn."""
        view = self._registry.view(session_id)
        if view.status not in ("failed", "interrupted"):
            raise ApiError("wrong_state", f"There is nothing to retry: the session is {view.status}.")
        self._roots.check(view.cwd)
        if not view.queued:
            await self.send_message(session_id, UserMessage((Text("Go on."),), by))
        else:
            await self._runner.wake(session_id)
        return self._registry.view(session_id)

    async def drop_input(self, session_id: str, input_id: str) -> None:
        session = await self._registry.acquire(session_id)
        if all(entry.id != input_id for entry in session.view.queued):
            self._runner.release(session_id)
            raise ApiError("not_found", "There is no such input in the queue: the agent may have started on it.")
        session.record(InputDropped(input_id))
        self._runner.release(session_id)

    async def edit_input(self, session_id: str, input_id: str, blocks: tuple[Block, ...]) -> None:
        session = await self._registry.acquire(session_id)
        entry = next((entry for entry in session.view.queued if entry.id == input_id), None)
        if entry is None:
            self._runner.release(session_id)
            raise ApiError("not_found", "There is no such input in the queue: the agent may have started on it.")
        session.record(InputQueued(input_id, blocks, entry.how, entry.client_id))
        self._runner.release(session_id)

    async def change_metadata(self, session_id: str, change: SessionChanged) -> SessionView:
        """Change the title, or archive or pin a session."""
        session = await self._registry.acquire(session_id)
        session.record(change)
        self._runner.release(session_id)
        return session.view

    async def configure(self, session_id: str, config: SessionConfig, *, by: str = "") -> SessionView:
        """Change the configuration of a session. Mode and model apply to a running agent at once."""
        view = self._registry.view(session_id)
        before = view.config
        check_mode(config.permission_mode)
        if not allows_mode(config, config.permission_mode or view.permission_mode):
            raise ApiError("invalid", f"A session in {config.workflow} mode cannot be in {config.permission_mode}.")
        if config.workflow != before.workflow and view.status in BUSY:
            raise ApiError("wrong_state", "Stop the session before giving it another workflow.", status=view.status)
        session = await self._registry.acquire(session_id)
        session.record(Configured(config, by))
        if (config.workflow, config.max_turns) != (before.workflow, before.max_turns) and view.status not in BUSY:
            await self._runner.stop_agent(session_id)  # an agent's tools and limits are fixed when it starts
        worker = self._runner.worker(session_id)
        if worker is not None:
            mode = (config.permission_mode, config.bypass_until)
            if config.permission_mode and mode != (before.permission_mode, before.bypass_until):
                await worker.set_mode(config.permission_mode)
            if config.model and config.model != before.model:
                await worker.set_model(config.model)
        self._runner.release(session_id)
        return session.view


def _check_open(view: SessionView, delivery: str) -> None:
    if view.config.inputs == "locked" or (view.config.inputs == "queue" and delivery != "queue"):
        raise ApiError("forbidden", f"This session is {view.config.inputs}: it does not accept such messages.")
    if view.status == "discarded":
        raise ApiError("wrong_state", "This session was discarded.", status=view.status)


def _how(delivery: Delivery) -> Literal["steer", "queue"]:
    return "steer" if delivery == "steer" else "queue"
