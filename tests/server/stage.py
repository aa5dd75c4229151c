"""A console with its real parts, but for doors and tables: sessions, engine, inbox, runner, and a scripted model."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from bobstay.config.environment import Environment
from bobstay.engine.engine_ports import Answer
from bobstay.model.event import Envelope
from bobstay.model.message import Text
from bobstay.model.session_events import SessionConfig
from bobstay.server.capacity import Capacity
from bobstay.server.crash_recovery import CrashRecovery
from bobstay.server.external_sessions import ExternalSessions
from bobstay.server.inbox import Inbox
from bobstay.server.preflight import Preflight
from bobstay.server.root_directories import RootDirectories
from bobstay.server.runner import Runner, WorkerFactory
from bobstay.server.server_options import ServerOptions
from bobstay.server.session_commands import SessionCommands
from bobstay.server.session_creation import SessionCreation, UserMessage
from bobstay.server.session_secrets import SessionSecrets
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_index import NoIndex
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.stream_publisher import StreamPublisher
from bobstay.server.workers.native_worker import NativeServices, NativeWorker
from bobstay.server.workers.worker import AgentWorker
from bobstay.server.worktrees import Worktrees
from bobstay.sessions.log_store import LogStore
from tests.deadline import DEADLINE
from tests.modelserver.server import ModelServer


class Stage:
    """Made again on the same folder it is the next life of the same server."""

    def __init__(
        self, model: ModelServer, folder: Path, most_running: int = 8, key: str = "dummy", **watch: float
    ) -> None:
        """`watch` are times of the runner that looks after the agents, in seconds."""
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        variables = {
            "HOME": str(folder),
            "BOBSTAY_HOME": str(folder / "bobstay"),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": key,
            "BOBSTAY_MODEL": "sonnet",
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "IS_SANDBOX": "1",
        }
        environment = Environment.read(variables)
        self.hub = Hub()
        self.registry = SessionRegistry(LogStore(environment.paths.sessions), StreamPublisher(self.hub), NoIndex())
        self.inbox = Inbox()
        self.slots = Capacity(most_running)
        self.registry.listeners.append(self._heard)
        parts = NativeServices(environment, self.inbox, self.slots)

        def make(id: str, epoch: int, session: OpenSession) -> NativeWorker:
            return NativeWorker(id, epoch, session, parts)

        self.make_worker: WorkerFactory = make
        """Creates the agents; a test may put another one here."""
        self.runner = Runner(self.registry, self._make, **watch)
        options = ServerOptions(state=str(folder / "bobstay" / "server"), roots=(str(folder),))
        no_database: Any = None  # sessions without secrets of their own do not use it
        secrets, paths = SessionSecrets(no_database), environment.paths
        self.external = ExternalSessions(self.registry, self.inbox, paths.control_sockets)
        self.recovery = CrashRecovery(self.registry, self.runner, self.inbox)
        self.environment = environment
        roots = RootDirectories(options, paths)
        preflight = Preflight(options.engines, environment)
        worktrees = Worktrees(str(folder / "worktrees"), environment.children)
        self.creation = SessionCreation(self.registry, self.runner, secrets, preflight, worktrees, roots, paths)
        self.commands = SessionCommands(self.registry, self.runner, self.external, roots)
        self.variables = variables
        self.seen: list[tuple[str, Envelope]] = []
        self._changed = asyncio.Condition()

    def _make(self, id: str, epoch: int, session: OpenSession) -> AgentWorker:
        return self.make_worker(id, epoch, session)

    async def start(self) -> Self:
        logs = Path(self.registry.store.directory).glob("*.jsonl")
        self.registry.pending.update((log.stem, None) for log in logs if log.is_file())
        for session_id in tuple(self.registry.pending):
            with suppress(OSError):  # no session
                self.registry.view(session_id)
        await self.recovery.recover()
        await self.external.begin()
        return self

    async def close(self) -> None:
        await self.external.close()
        await self.runner.close()

    async def launch(self, prompt: str, **config: Any) -> SessionView:
        words = UserMessage((Text(prompt),) if prompt else (), "ada")
        return await self.creation.launch(str(self.work), SessionConfig(**config), words)

    async def say(self, session_id: str, prompt: str, **more: Any) -> str:
        return await self.commands.send_message(session_id, UserMessage((Text(prompt),), "ada"), **more)

    async def until(self, session_id: str, condition: Callable[[SessionView], bool]) -> SessionView:
        """Wait until a session's view is as wanted."""
        async with asyncio.timeout(DEADLINE), self._changed:
            while not condition(self.registry.view(session_id)):
                await self._changed.wait()
        return self.registry.view(session_id)

    async def until_status(self, session_id: str, *statuses: str) -> SessionView:
        return await self.until(session_id, lambda view: view.status in statuses)

    async def answer(self, view: SessionView, answer: Answer) -> None:
        entry = view.interactions[0]
        await self.inbox.decide(entry.id, answer, entry.input_sha256)

    def events(self, session_id: str) -> list[Any]:
        return [envelope.event for envelope in self.registry.reader(session_id).read()]

    def _heard(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        self.seen.append((after.id, envelope))
        self.inbox.observe(after.id, envelope.event)
        asyncio.ensure_future(self._notify())  # noqa: RUF006 - it ends at once

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()
