"""Puts a server together: the only place of it that knows every part."""

import asyncio
import logging
import os

from msgspec import Struct
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from bobstay.config.environment import Environment
from bobstay.config.secret_variables import secret_values
from bobstay.model.event import Envelope
from bobstay.redaction.redactor import Redactor
from bobstay.server.added_roots import read_roots
from bobstay.server.api.endpoints import ENDPOINTS
from bobstay.server.api.worktrees_routes import worktrees_of
from bobstay.server.app import make_app
from bobstay.server.auth.auth_middleware import AuthMiddleware
from bobstay.server.auth.auth_settings import AuthSettings
from bobstay.server.auth.authorization import Authorizer
from bobstay.server.auth.private_files import private_folder
from bobstay.server.auxiliary_workers import AuxiliaryWorkers
from bobstay.server.capacity import Capacity
from bobstay.server.compat.compat_routes import routes as compat_routes
from bobstay.server.console import Config, Console
from bobstay.server.crash_recovery import recover, sweep_up
from bobstay.server.db import state_tables
from bobstay.server.db.database import Database
from bobstay.server.db.database_errors import DatabaseProblem
from bobstay.server.db.retention import DAY
from bobstay.server.files.session_directory import bounds_for, permitted
from bobstay.server.inbox import Inbox
from bobstay.server.memory_trimming import MemoryTrimming
from bobstay.server.metrics import Metrics
from bobstay.server.notifications.notifier import Notifier
from bobstay.server.rpc.rpc_bridge import RpcBridge
from bobstay.server.rpc.rpc_server import NAME as RPC_SOCKET
from bobstay.server.rpc.rpc_server import RpcServer
from bobstay.server.runner import Maker, Runner
from bobstay.server.session_expiry import tidy_up
from bobstay.server.session_loading import SessionLoading
from bobstay.server.session_secrets import SessionSecrets
from bobstay.server.sessions.external_sessions import ExternalSessions
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.socket_admission import admit_to_socket
from bobstay.server.streams.browser_socket import websocket_route
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.stream_timing import StreamTiming
from bobstay.server.streams.subscription import Streams
from bobstay.server.streams.terminal_socket import terminal_route
from bobstay.server.workers.native_worker import NativeParts, NativeWorker
from bobstay.server.workers.process.engine_command_line import clear_mcp_configs
from bobstay.server.workers.process.engine_version import EngineVersions
from bobstay.server.workers.process.process_worker import ProcessWorker
from bobstay.server.workers.process.spawner import ProcessParts, WorkerFiles
from bobstay.server.workers.worker import AgentWorker, WorkerError
from bobstay.sessions.log_store import LogStore
from bobstay.version import __version__

log = logging.getLogger(__name__)


class Built(Struct):
    """A server that is ready to be started; `app` starts and stops all of it with its lifespan."""

    console: Console
    streams: Streams
    app: AuthMiddleware
    inner: Starlette
    rpc: RpcServer


async def build(config: Config, environment: Environment, rules: AuthSettings | None = None) -> Built:
    """Open the database, learn the sessions, and make the application.

    Raises:
        DatabaseProblem, BadAddress: with a text for a person.
    """
    private_folder(config.state)
    store = LogStore(environment.paths.sessions)
    database = await Database.open(config.database, config.state, store)
    hub, inbox, crew = Hub(), Inbox(), AuxiliaryWorkers()
    registry = SessionRegistry(store, hub, database)
    slots, variables = Capacity(config.most_running), SessionSecrets()
    await variables.load(database)
    doors = Authorizer(database.engine, rules or AuthSettings.of(config), database.audit)
    doors.attend(lambda: {client.principal.client for client in hub.clients()}, hub.revoke)
    runner = Runner(
        registry, _maker(config, NativeParts(environment, inbox, slots), variables), idle_seconds=config.idle_seconds
    )
    outside = ExternalSessions(registry, inbox, environment.paths.contacts)
    console = Console(config, environment, registry, hub, inbox, runner, database, doors, outside, crew, slots)
    console.audit = database.audit
    console.added_roots = read_roots(config.state)
    console.variables = variables
    console.versions = EngineVersions(environment, config.state)
    console.meter = Metrics(registry)
    console.bell = _bell(console)
    crew.console = console

    def heard(_: SessionView, after: SessionView, envelope: Envelope) -> None:
        inbox.heard(after.id, envelope.event)

    registry.listeners.append(heard)
    MemoryTrimming(registry)
    streams = Streams(registry, timing=StreamTiming.of(config.heartbeat))
    life = _Life(console)
    inner = make_app(console, _sockets(console, streams), life.begin, life.end)
    inner.state.streams = streams
    rpc = RpcServer(streams, RpcBridge(ENDPOINTS, console, inner), os.path.join(config.state, RPC_SOCKET))
    life.rpc = rpc
    return Built(console, streams, AuthMiddleware(inner, doors.threshold), inner, rpc)


class _Life:
    """What happens when the server starts and when it stops, in this order and back."""

    rpc: RpcServer

    def __init__(self, console: Console) -> None:
        self._console = console
        self._loading = SessionLoading(console.registry, console.database)
        self._recovering: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        console = self._console
        await state_tables.forget_unfinished(console.database)
        await self._loading.begin()
        if console.bell is not None:
            await console.bell.begin(console.registry.views.values())
        await self._sweep()
        await console.doors.start()
        await console.outside.begin()
        await self.rpc.start()
        console.runner.begin()
        self._recovering = asyncio.create_task(self._recover())

    async def end(self) -> None:
        console = self._console
        if self._recovering is not None:
            self._recovering.cancel()
            await asyncio.wait([self._recovering])
        await self.rpc.close()
        await console.outside.close()
        await console.crew.close()
        await console.runner.close()
        if console.versions is not None:
            await console.versions.close()
        if console.bell is not None:
            await console.bell.close()
        await console.doors.close()
        await console.database.close()

    async def _sweep(self) -> None:
        """Before anybody is let in: what they start must not be taken for what was left."""
        try:
            await sweep_up(self._console)
        except Exception:  # a boundary: whatever is wrong with what others left, the server starts
            log.exception("looking for what an earlier server left broke")

    async def _recover(self) -> None:
        late = bool(self._console.registry.pending)
        try:
            await self._loading.finish()
        except DatabaseProblem as found:  # the logs are there; the tables follow when they can be written
            log.warning("the index is behind: %s", found)
        if late:
            await self._sweep()
        taken_up = await recover(self._console)
        if taken_up:
            log.info("%d sessions had been cut off", len(taken_up))
        await self._prune()
        while True:
            await tidy_up(self._console)
            await asyncio.sleep(DAY)

    async def _prune(self) -> None:
        """Clean work trees of sessions that are no more go; those with changes stay."""
        console = self._console
        known = {view.config.worktree for view in console.registry.views.values() if view.config.worktree}
        gone, kept = await worktrees_of(console).prune(known)
        if gone or kept:
            log.info("work trees of no session: %d removed, %d kept for their changes", len(gone), len(kept))


def _bell(console: Console) -> Notifier:
    """Notifications: of every session there is, to devices of clients that are not revoked."""
    config, registry = console.config, console.registry
    public = next((url for url in config.public_urls if url.startswith("https://")), "mailto:console@bobstay.example")
    mask = Redactor(console.environment.secrets)
    # Otherwise anybody who may read could have requests sent to other programs of this machine.
    local, network = config.push_to_loopback, console.environment.network
    bell = Notifier(console.database, config.state, mask, loopback=local, subject=public, network=network)

    def is_open(session_id: str, interaction: str) -> bool:
        view = registry.views.get(session_id)
        return view is not None and any(entry.id == interaction for entry in view.interactions)

    bell.is_open = is_open
    registry.changes.listeners.append(bell.see)
    registry.forgotten.append(bell.forget)
    console.doors.attend(bell.owners, bell.revoked)
    return bell


def _maker(config: Config, native: NativeParts, variables: SessionSecrets) -> Maker:
    temporary = os.path.join(config.state, "temporary")
    os.makedirs(temporary, 0o700, exist_ok=True)
    clear_mcp_configs(temporary)
    process = ProcessParts(
        native.environment,
        native.inbox,
        native.slots,
        temporary,
        pass_keys=config.pass_keys,
        questions=config.questions,
    )

    def make(id: str, epoch: int, session: OpenSession) -> AgentWorker:
        # Whatever wakes an agent comes through here: a person, an answer, a restart of the server.
        bounds = bounds_for(config, native.environment.paths, read_roots(config.state))
        if not permitted(os.path.realpath(session.view.cwd), bounds):
            text = f"{session.view.cwd[:500]} is outside the directories in which sessions of this server may work."
            raise WorkerError(f"{text} An administrator can add it in Settings, Directories.")
        engine = session.view.config.engine
        own = variables.of(session.id)
        if engine == "native":
            return NativeWorker(id, epoch, session, _with_own(native, own) if own else native)
        command = config.engines.get(engine)
        if command is None:
            text = f"This server has no engine {engine!r}. Start it with --engine {engine}=COMMAND."
            raise WorkerError(text)
        return ProcessWorker(id, epoch, session, command, process, WorkerFiles(own, variables.mcp_config(session.id)))

    return make


def _with_own(parts: NativeParts, own: dict[str, str]) -> NativeParts:
    """The same with variables of a session's own, which its commands get and nobody is shown."""
    environment = parts.environment
    secrets = {**environment.secrets, **secret_values(own)}
    environment = replace(environment, children={**environment.children, **own}, secrets=secrets)
    return replace(parts, environment=environment)


def _sockets(console: Console, streams: Streams) -> tuple[BaseRoute, ...]:
    from starlette.requests import HTTPConnection

    from bobstay.server.auth.principal import Principal, Scope

    async def admit(socket: HTTPConnection, scope: Scope | None = "read") -> Principal:
        return await admit_to_socket(console, socket, scope)

    return (
        websocket_route(streams, admit, version=__version__),
        terminal_route(console.hub, console.crew.terminal, admit),
        *compat_routes(console, streams),
    )
