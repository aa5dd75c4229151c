"""Builds the server from its services; the only module that knows all of them."""

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
from bobstay.server.crash_recovery import end_orphans, recover
from bobstay.server.db import state_tables
from bobstay.server.db.database import Database
from bobstay.server.db.database_errors import DatabaseProblem
from bobstay.server.db.retention import DAY
from bobstay.server.files.session_directory import build_allowed_roots, is_allowed
from bobstay.server.inbox import Inbox
from bobstay.server.memory_trimming import MemoryTrimming
from bobstay.server.metrics import Metrics
from bobstay.server.notifications.notifier import Notifier
from bobstay.server.rpc.rpc_bridge import RpcBridge
from bobstay.server.rpc.rpc_server import NAME as RPC_SOCKET
from bobstay.server.rpc.rpc_server import RpcServer
from bobstay.server.runner import Runner, WorkerFactory
from bobstay.server.session_expiry import expire_sessions
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
from bobstay.server.workers.native_worker import NativeServices, NativeWorker
from bobstay.server.workers.process.engine_command_line import clear_mcp_configs
from bobstay.server.workers.process.engine_version import EngineVersions
from bobstay.server.workers.process.process_worker import ProcessWorker
from bobstay.server.workers.process.spawner import ProcessServices, WorkerFiles
from bobstay.server.workers.worker import AgentWorker, WorkerError
from bobstay.sessions.log_store import LogStore
from bobstay.version import __version__

log = logging.getLogger(__name__)


class ConsoleServer(Struct):
    """A server that is ready to start; the lifespan of `app` starts and stops its services."""

    console: Console
    streams: Streams
    app: AuthMiddleware
    inner: Starlette
    rpc: RpcServer


async def build_console(config: Config, environment: Environment, rules: AuthSettings | None = None) -> ConsoleServer:
    """Open the database and create all services and the application.

    Raises:
        DatabaseProblem, BadAddress: with a text for people.
    """
    private_folder(config.state)
    store = LogStore(environment.paths.sessions)
    database = await Database.open(config.database, config.state, store)
    hub, inbox, auxiliary_workers = Hub(), Inbox(), AuxiliaryWorkers()
    registry = SessionRegistry(store, hub, database)
    slots, variables = Capacity(config.most_running), SessionSecrets()
    await variables.load(database)
    auth = Authorizer(database.engine, rules or AuthSettings.of(config), database.audit)
    auth.track_connections(lambda: {client.principal.client for client in hub.clients()}, hub.revoke)
    runner = Runner(
        registry,
        _worker_factory(config, NativeServices(environment, inbox, slots), variables),
        idle_seconds=config.idle_seconds,
    )
    outside = ExternalSessions(registry, inbox, environment.paths.control_sockets)
    console = Console(
        config, environment, registry, hub, inbox, runner, database, auth, outside, auxiliary_workers, slots
    )
    console.audit = database.audit
    console.added_roots = read_roots(config.state)
    console.variables = variables
    console.versions = EngineVersions(environment, config.state)
    console.metrics = Metrics(registry)
    console.notifier = _build_notifier(console)
    auxiliary_workers.console = console

    def update_inbox(_: SessionView, after: SessionView, envelope: Envelope) -> None:
        inbox.observe(after.id, envelope.event)

    registry.listeners.append(update_inbox)
    MemoryTrimming(registry)
    streams = Streams(registry, timing=StreamTiming.of(config.heartbeat))
    lifespan = _Lifespan(console)
    inner = make_app(console, _socket_routes(console, streams), lifespan.begin, lifespan.end)
    inner.state.streams = streams
    rpc = RpcServer(streams, RpcBridge(ENDPOINTS, console, inner), os.path.join(config.state, RPC_SOCKET))
    lifespan.rpc = rpc
    return ConsoleServer(console, streams, AuthMiddleware(inner, auth.origin_policy), inner, rpc)


class _Lifespan:
    """Starts the services in order, and stops them in reverse."""

    rpc: RpcServer

    def __init__(self, console: Console) -> None:
        self._console = console
        self._loading = SessionLoading(console.registry, console.database)
        self._recovering: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        console = self._console
        await state_tables.delete_unfinished_requests(console.database)
        await self._loading.begin()
        if console.notifier is not None:
            await console.notifier.begin(console.registry.views.values())
        await self._sweep()
        await console.auth.start()
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
        await console.auxiliary_workers.close()
        await console.runner.close()
        if console.versions is not None:
            await console.versions.close()
        if console.notifier is not None:
            await console.notifier.close()
        await console.auth.close()
        await console.database.close()

    async def _sweep(self) -> None:
        """Clean up after an earlier server, before clients can start anything that looks like its remains."""
        try:
            await end_orphans(self._console)
        except Exception:  # a boundary: remains of an earlier server must not prevent the start
            log.exception("cleaning up after an earlier server failed")

    async def _recover(self) -> None:
        late = bool(self._console.registry.pending)
        try:
            await self._loading.finish()
        except DatabaseProblem as problem:  # the logs are complete; the tables catch up when they can be written
            log.warning("the database is behind: %s", problem)
        if late:
            await self._sweep()
        recovered = await recover(self._console)
        if recovered:
            log.info("recovered %d interrupted sessions", len(recovered))
        await self._prune()
        while True:
            await expire_sessions(self._console)
            await asyncio.sleep(DAY)

    async def _prune(self) -> None:
        """Remove worktrees without changes whose session no longer exists."""
        console = self._console
        known = {view.config.worktree for view in console.registry.views.values() if view.config.worktree}
        gone, kept = await worktrees_of(console).prune(known)
        if gone or kept:
            log.info("worktrees without a session: %d removed, %d kept for their changes", len(gone), len(kept))


def _build_notifier(console: Console) -> Notifier:
    """The notifier for changes of all sessions; it drops subscriptions of revoked clients."""
    config, registry = console.config, console.registry
    public = next((url for url in config.public_urls if url.startswith("https://")), "mailto:console@bobstay.example")
    redactor = Redactor(console.environment.secrets)
    # Otherwise anybody with the scope read could make this server send requests to other programs of this machine.
    local, network = config.push_to_loopback, console.environment.network
    notifier = Notifier(console.database, config.state, redactor, loopback=local, subject=public, network=network)

    def is_open(session_id: str, interaction: str) -> bool:
        view = registry.views.get(session_id)
        return view is not None and any(entry.id == interaction for entry in view.interactions)

    notifier.is_open = is_open
    registry.changes.listeners.append(notifier.update)
    registry.forgotten.append(notifier.forget)
    console.auth.track_connections(notifier.subscribed_clients, notifier.remove_client)
    return notifier


def _worker_factory(config: Config, native: NativeServices, variables: SessionSecrets) -> WorkerFactory:
    temporary = os.path.join(config.state, "temporary")
    os.makedirs(temporary, 0o700, exist_ok=True)
    clear_mcp_configs(temporary)
    process = ProcessServices(
        native.environment,
        native.inbox,
        native.capacity,
        temporary,
        pass_keys=config.pass_keys,
        questions=config.questions,
    )

    def make(id: str, epoch: int, session: OpenSession) -> AgentWorker:
        # Checked here because every start of a worker passes through: a prompt, an answer, a restart of the server.
        bounds = build_allowed_roots(config, native.environment.paths, read_roots(config.state))
        if not is_allowed(os.path.realpath(session.view.cwd), bounds):
            text = f"{session.view.cwd[:500]} is outside the directories in which sessions of this server may work."
            raise WorkerError(f"{text} An administrator can add it in Settings, Directories.")
        engine = session.view.config.engine
        own = variables.variables_of(session.id)
        if engine == "native":
            return NativeWorker(id, epoch, session, _with_session_variables(native, own) if own else native)
        command = config.engines.get(engine)
        if command is None:
            text = f"This server has no engine {engine!r}. Start it with --engine {engine}=COMMAND."
            raise WorkerError(text)
        return ProcessWorker(id, epoch, session, command, process, WorkerFiles(own, variables.mcp_config(session.id)))

    return make


def _with_session_variables(parts: NativeServices, own: dict[str, str]) -> NativeServices:
    """The same with the variables of one session, which its commands get and which are redacted."""
    environment = parts.environment
    secrets = {**environment.secrets, **secret_values(own)}
    environment = replace(environment, children={**environment.children, **own}, secrets=secrets)
    return replace(parts, environment=environment)


def _socket_routes(console: Console, streams: Streams) -> tuple[BaseRoute, ...]:
    from starlette.requests import HTTPConnection

    from bobstay.server.auth.principal import Principal, Scope

    async def admit(socket: HTTPConnection, scope: Scope | None = "read") -> Principal:
        return await admit_to_socket(console, socket, scope)

    return (
        websocket_route(streams, admit, version=__version__),
        terminal_route(console.hub, console.auxiliary_workers.terminal, admit),
        *compat_routes(console, streams),
    )
