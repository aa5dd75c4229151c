"""Sessions of external engines: a process worker each, a fake engine by default, and waiting for their events."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

from bobstay.config.environment import Environment
from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore
from bobstay.engine.engine_ports import Answer
from bobstay.model.event import Envelope, InputQueued, InteractionOpened, RunDone
from bobstay.model.ids import new_id
from bobstay.model.live_events import Live
from bobstay.model.message import Text
from bobstay.model.session_events import InterruptAsked, SessionConfig
from bobstay.server.capacity import Capacity
from bobstay.server.inbox import Inbox
from bobstay.server.sessions.open_interactions import input_hash
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workers.process.engine_process import ShutdownTimeouts
from bobstay.server.workers.process.process_worker import ProcessWorker
from bobstay.server.workers.process.spawner import NOTHING, ProcessServices, WorkerFiles
from bobstay.sessions.log_store import LogStore
from tests.kit.environments import engine_variables
from tests.kit.watched_sessions import WatchedSessions, new_registry
from tests.modelserver import ModelServer

FAKE = (sys.executable, "-S", str(Path(__file__).with_name("fake_engine.py")))
QUICK = ShutdownTimeouts(word=0.3, sigint=0.3, sigterm=0.3)
Kind = TypeVar("Kind")


class ProcessSession:
    """One session. Its log is watched from the start; live events are in `shown`."""

    def __init__(
        self,
        host: "ProcessSessions",
        session: OpenSession,
        command: tuple[str, ...],
        parts: ProcessServices,
        own: WorkerFiles = NOTHING,
    ) -> None:
        self.host = host
        self.session = session
        self.worker = ProcessWorker("agent-1", 1, session, command, parts, own)
        self.shown: list[Live] = []
        show = session.show

        def watch(event: Live, parent_call: str = "") -> None:
            self.shown.append(event)
            show(event, parent_call)

        session.show = watch  # type: ignore[method-assign] # looks on, and lets it pass

    @property
    def view(self) -> SessionView:
        return self.session.view

    @property
    def status(self) -> str:
        return self.view.status

    def say(self, text: str, how: Any = "queue") -> str:
        id = new_id()
        self.session.record(InputQueued(id, (Text(text),), how))
        if self.worker.alive():
            self.worker.nudge()
        return id

    async def interrupt(self, *, force: bool = False) -> None:
        self.session.record(InterruptAsked("somebody", force))
        await self.worker.interrupt(force=force)

    def entries(self) -> list[Envelope]:
        return list(self.session.read())

    def events(self, kind: type[Kind]) -> list[Kind]:
        return [envelope.event for envelope in self.entries() if isinstance(envelope.event, kind)]

    async def until(self, kind: type[Kind], count: int = 1) -> Kind:
        """Wait for the `count`th event of a kind in the log."""
        await self.holds(lambda: len(self.events(kind)) >= count)
        return self.events(kind)[count - 1]

    async def holds(self, condition: Callable[[], bool]) -> None:
        """Wait until something is so, looking whenever the log grows."""
        try:
            await self.host.until_holds(condition)
        except TimeoutError:
            raise AssertionError(f"never: {[type(entry.event).__name__ for entry in self.entries()]}") from None

    async def asked(self, count: int = 1) -> InteractionOpened:
        return await self.until(InteractionOpened, count)

    async def answer(self, opened: InteractionOpened, answer: Answer) -> None:
        await self.host.inbox.decide(opened.id, answer, input_hash(opened.call))

    async def turn(self, text: str) -> RunDone:
        """Say something and wait for the end of the turn."""
        before = len(self.events(RunDone))
        self.say(text)
        return await self.until(RunDone, before + 1)


class ProcessSessions(WatchedSessions):
    """One server's sessions. `create` gives each a worker."""

    def __init__(
        self, directory: Path, model: ModelServer | None = None, *, trusted: bool = True, **variables: str
    ) -> None:
        self.directory = directory
        self.cwd = directory / "work"
        self.cwd.mkdir(exist_ok=True)
        self.inbox = Inbox()
        store = LogStore(str(directory / "sessions"))
        self.watch(new_registry(store), store)
        self.registry.listeners.append(self._update_inbox)
        self.sessions: list[ProcessSession] = []
        self.environment = Environment.read({**engine_variables(directory / "home", model), **variables})
        if trusted:  # an engine nobody knows starts in no other folder
            self.trust()

    def trust(self) -> None:
        TrustStore(self.environment.paths.bobstay).put(str(self.cwd), executable_parts(str(self.cwd)))

    def create(self, command: tuple[str, ...] = FAKE, *, config: Any = None, **parts: Any) -> ProcessSession:
        """A new session; `config` are fields of its configuration, `parts` of the services of its worker."""
        session = self.registry.create(str(self.cwd), SessionConfig(engine="fake", **(config or {})))
        return self.around(session, command, **parts)

    def around(self, session: OpenSession, command: tuple[str, ...] = FAKE, **parts: Any) -> ProcessSession:
        """A worker for an open session."""
        own = parts.pop("own", NOTHING)
        shared = ProcessServices(
            self.environment, self.inbox, parts.pop("capacity", Capacity(8)), str(self.directory / "tmp"), **parts
        )
        self.sessions.append(ProcessSession(self, session, command, shared, own))
        return self.sessions[-1]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        for session in self.sessions:
            await session.worker.stop("killed")

    def _update_inbox(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        self.inbox.observe(after.id, envelope.event)
