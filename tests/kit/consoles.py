"""Consoles in this process: complete on a real port, or without authentication, tables and HTTP.

The only module of the tests that builds a console.
"""

import asyncio
import os
import socket
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeAlias

import uvicorn

from bobstay.config.environment import Environment
from bobstay.engine.engine_ports import Answer
from bobstay.model.event import Envelope
from bobstay.model.message import Text
from bobstay.model.session_events import SessionConfig
from bobstay.server.api.services import Services
from bobstay.server.api.session_owner import LocalOwner
from bobstay.server.auth.audit_port import NoAuditLog, Refusals
from bobstay.server.auth.principal import SCOPES, Scope
from bobstay.server.build_console import build_console
from bobstay.server.capacity import Capacity
from bobstay.server.crash_recovery import CrashRecovery
from bobstay.server.external_sessions import ExternalSessions
from bobstay.server.files.session_directory import WORKTREES
from bobstay.server.inbox import Inbox
from bobstay.server.preflight import Preflight
from bobstay.server.revert.revert_undo import Undos
from bobstay.server.root_directories import RootDirectories
from bobstay.server.runner import Runner, WorkerFactory
from bobstay.server.server_options import ServerOptions
from bobstay.server.session_commands import SessionCommands
from bobstay.server.session_creation import SessionCreation, UserMessage
from bobstay.server.session_secrets import SessionSecrets
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.stream_publisher import StreamPublisher
from bobstay.server.streams.stream_server import StreamServer, server_options
from bobstay.server.streams.stream_timing import StreamTiming
from bobstay.server.workers.native_worker import NativeServices, NativeWorker
from bobstay.server.workers.worker import AgentWorker
from bobstay.server.worktrees import Worktrees
from bobstay.sessions.log_store import LogStore
from tests.kit.environments import console_variables
from tests.kit.http_exchange import HttpReply, ask
from tests.kit.waiting import DEADLINE, until
from tests.kit.watched_sessions import WatchedSessions, new_registry
from tests.modelserver.server import ModelServer


def console_options(folder: Path, **options: Any) -> ServerOptions:
    return ServerOptions(state=str(folder / "bobstay" / "server"), roots=(str(folder),), **options)


def partial_services(options: ServerOptions, environment: Environment, **services: Any) -> Services:
    """Only these services, for endpoints that need no others; all requests are admitted and run here."""
    usual = {"audit": NoAuditLog(), "refusals": Refusals(NoAuditLog()), "owners": LocalOwner(), "undos": Undos()}
    given = {**dict.fromkeys(Services.__struct_fields__), **usual, **services}
    return Services(**{**given, "options": options, "environment": environment})


class BareConsole(WatchedSessions):
    """Sessions, native agents, inbox and runner. Made again on the same folder it is the next life of the server."""

    def __init__(
        self, model: ModelServer, folder: Path, most_running: int = 8, key: str = "dummy", **times: float
    ) -> None:
        """`times` are those of the runner, in seconds."""
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        self.variables = {**console_variables(folder, model, key), "IS_SANDBOX": "1"}
        self.environment = Environment.read(self.variables)
        self.hub = Hub()
        store = LogStore(str(self.environment.paths.sessions))
        self.watch(new_registry(store, StreamPublisher(self.hub)), store)
        self.inbox = Inbox()
        self.capacity = Capacity(most_running)
        self.registry.listeners.append(self._update_inbox)
        parts = NativeServices(self.environment, self.inbox, self.capacity)
        self.host_workers(lambda id, epoch, session: NativeWorker(id, epoch, session, parts))
        self.runner = Runner(self.registry, self._make_worker, **times)
        self.recovery = CrashRecovery(self.registry, self.runner, self.inbox)
        self._build_commands(console_options(folder))

    def _build_commands(self, options: ServerOptions) -> None:
        no_database: Any = None  # sessions without secrets of their own do not use it
        paths, secrets = self.environment.paths, SessionSecrets(no_database)
        roots = RootDirectories(options, paths)
        preflight = Preflight(options.engines, self.environment)
        worktrees = Worktrees(os.path.join(paths.bobstay, WORKTREES), self.environment.children)
        self.external = ExternalSessions(self.registry, self.store, self.inbox, paths.control_sockets)
        self.creation = SessionCreation(self.registry, self.runner, secrets, preflight, worktrees, roots, paths)
        self.commands = SessionCommands(self.registry, self.runner, self.external, roots)

    def host_workers(self, make: WorkerFactory) -> None:
        """Use workers of another kind from now on."""
        self._make = make

    def _make_worker(self, id: str, epoch: int, session: OpenSession) -> AgentWorker:
        return self._make(id, epoch, session)

    async def start(self) -> Self:
        logs = Path(self.store.directory).glob("*.jsonl")
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
        message = UserMessage((Text(prompt),) if prompt else (), "ada")
        return await self.creation.launch(str(self.work), SessionConfig(**config), message)

    async def say(self, session_id: str, prompt: str, **more: Any) -> str:
        message = UserMessage((Text(prompt),), "ada")
        return await self.commands.send_message(session_id, message, **more)

    async def answer(self, view: SessionView, answer: Answer) -> None:
        entry = view.interactions[0]
        await self.inbox.decide(entry.id, answer, entry.input_sha256)

    def _update_inbox(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        self.inbox.observe(after.id, envelope.event)


StartConsole: TypeAlias = Callable[..., Awaitable[BareConsole]]
"""Starts a console with these options; it ends with the test."""


class RunningConsole(WatchedSessions):
    """`async with RunningConsole(model, folder) as server`: all of `bobstay serve` but its command line."""

    def __init__(self, model: ModelServer, folder: Path, **options: Any) -> None:
        self.model = model
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"
        self.stream_url = f"ws://{self.host}/api/v1/ws"
        self.headers: dict[str, str] = {}
        """Of a token that may do everything."""
        options.setdefault("push_to_loopback", True)  # the push services of tests are on this machine
        self.options = console_options(folder, port=self.port, **options)
        self.environment = Environment.read(console_variables(folder, model))

    async def __aenter__(self) -> Self:
        built = await build_console(self.options, self.environment)
        self.services, self.expiry = built.services, built.background.expiry
        self.streams = self.services.streams
        self.watch(self.services.registry, self.services.database.store)
        self.hub, self.runner, self.auth = self.streams.hub, self.services.runner, self.services.auth
        self.database, self.auxiliary_workers = self.services.database, self.services.auxiliary_workers
        self.notifier = self.services.notifier
        options = server_options(StreamTiming.of(self.options.heartbeat))
        settings = uvicorn.Config(built.app, lifespan="on", log_config=None, **options)
        self.server = StreamServer(settings, self.hub)
        self._serving = asyncio.create_task(self.server.serve(sockets=[self.socket]))
        await until(lambda: self.server.started or self._serving.done())
        assert not self._serving.done(), "the server did not start"
        self.headers = await self.token(*SCOPES)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.should_exit = True
        await self._serving

    async def launch(self, prompt: str = "", **config: Any) -> str:
        """The id of a new session."""
        reply = await self.post("/api/v1/sessions", {"cwd": str(self.work), "prompt": prompt, **config})
        assert reply.status == 201, reply.body
        return str(reply.json["id"])

    async def token(self, *scopes: Scope) -> dict[str, str]:
        """The header of a new token."""
        _, secret = await self.auth.clients.create("token", "ada", scopes, label="test", by="test", lifetime=None)
        return {"Authorization": f"Bearer {secret}"}

    async def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> HttpReply:
        """One request; with the token that has all scopes, unless `headers` are given."""
        given = self.headers if headers is None else headers
        return await ask(self.port, method, path, {**given, "Host": self.host}, body)

    async def get(self, path: str, **more: Any) -> HttpReply:
        return await self.ask("GET", path, **more)

    async def post(self, path: str, body: Any = None, **more: Any) -> HttpReply:
        return await self.ask("POST", path, {} if body is None else body, **more)


@contextmanager
def console_in_a_thread(model: ModelServer, folder: Path) -> Generator[RunningConsole]:
    """A console with its own event loop in a thread, for blocking clients."""
    ready: threading.Event = threading.Event()
    found: list[Any] = []

    async def run() -> None:
        async with RunningConsole(model, folder) as server:
            stop = asyncio.Event()
            found[:] = [server, asyncio.get_running_loop(), stop]
            ready.set()
            await stop.wait()

    def work() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:  # the thread's boundary: passed on to the caller
            found[:] = [error]
            raise
        finally:
            ready.set()

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(DEADLINE)
    try:
        assert len(found) == 3, found
        yield found[0]
    finally:
        if len(found) == 3:
            found[1].call_soon_threadsafe(found[2].set)
        thread.join(DEADLINE)
