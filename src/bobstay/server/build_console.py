"""Builds the server from its services; the only module that knows all of them."""

import os

from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import BaseRoute

from bobstay.config.environment import Environment
from bobstay.model.event import Envelope
from bobstay.redaction.redactor import Redactor
from bobstay.server.api.browser_socket import websocket_route
from bobstay.server.api.endpoints import ENDPOINTS
from bobstay.server.api.services import Services
from bobstay.server.api.session_owner import LocalOwner
from bobstay.server.api.socket_admission import admit_to_socket
from bobstay.server.api.terminal_socket import terminal_route
from bobstay.server.app import make_app
from bobstay.server.auth.audit_port import Refusals
from bobstay.server.auth.auth_middleware import AuthMiddleware
from bobstay.server.auth.auth_settings import AuthSettings
from bobstay.server.auth.authorization import Authorizer
from bobstay.server.auth.principal import Principal, Scope
from bobstay.server.auth.private_files import private_folder
from bobstay.server.auxiliary_workers import AuxiliaryWorkers
from bobstay.server.capacity import Capacity
from bobstay.server.compat.compat_routes import routes as compat_routes
from bobstay.server.crash_recovery import CrashRecovery
from bobstay.server.db.database import Database
from bobstay.server.deletion import SessionDeletion
from bobstay.server.external_sessions import ExternalSessions
from bobstay.server.files.session_directory import WORKTREES
from bobstay.server.inbox import Inbox
from bobstay.server.inventory.inventory_reader import InventoryReader
from bobstay.server.mcp_actions import McpActions
from bobstay.server.memory_trimming import MemoryTrimming
from bobstay.server.metrics import Metrics
from bobstay.server.notifications.notifier import Notifier
from bobstay.server.preflight import Preflight
from bobstay.server.revert.revert_undo import Undos
from bobstay.server.root_directories import RootDirectories
from bobstay.server.rpc.rpc_bridge import RpcBridge
from bobstay.server.rpc.rpc_server import NAME as RPC_SOCKET
from bobstay.server.rpc.rpc_server import RpcServer
from bobstay.server.runner import Runner
from bobstay.server.server_lifespan import BackgroundServices, ServerLifespan
from bobstay.server.server_options import ServerOptions
from bobstay.server.session_commands import SessionCommands
from bobstay.server.session_creation import SessionCreation
from bobstay.server.session_expiry import SessionExpiry
from bobstay.server.session_loading import SessionLoading
from bobstay.server.session_secrets import SessionSecrets
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_trash import Trash
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.stream_publisher import StreamPublisher
from bobstay.server.streams.stream_timing import StreamTiming
from bobstay.server.streams.subscription import Streams
from bobstay.server.worker_factory import SessionWorkerFactory
from bobstay.server.workers.native_worker import NativeServices
from bobstay.server.workers.process.engine_version import EngineVersions
from bobstay.server.worktrees import Worktrees
from bobstay.sessions.log_store import LogStore
from bobstay.system.named_locks import NamedLocks
from bobstay.version import __version__


class ConsoleServer(Struct, frozen=True):
    """A server that is ready to start; the lifespan of `app` starts and stops its services."""

    services: Services
    app: AuthMiddleware
    inner: Starlette
    background: BackgroundServices


async def build_console(
    options: ServerOptions, environment: Environment, rules: AuthSettings | None = None
) -> ConsoleServer:
    """Open the database and create all services and the application.

    Raises:
        DatabaseProblem, BadAddress: with a text for people.
    """
    private_folder(options.state)
    store = LogStore(environment.paths.sessions)
    database = await Database.open(options.database, options.state, store)
    secrets = SessionSecrets(database)
    await secrets.load()
    external, services = _build_services(options, environment, store, database, secrets, rules)
    MemoryTrimming(services.registry)
    rpc = RpcServer(services.streams, RpcBridge(ENDPOINTS, services), os.path.join(options.state, RPC_SOCKET))
    background = _background_services(services, external, rpc)
    lifespan = ServerLifespan(services, background)
    inner = make_app(services, _socket_routes(services), lifespan.begin, lifespan.end)
    return ConsoleServer(services, AuthMiddleware(inner, services.auth.origin_policy), inner, background)


def _build_services(
    options: ServerOptions,
    environment: Environment,
    store: LogStore,
    database: Database,
    secrets: SessionSecrets,
    rules: AuthSettings | None,
) -> tuple[ExternalSessions, Services]:
    hub, inbox, paths = Hub(), Inbox(), environment.paths
    publisher = StreamPublisher(hub)
    registry = SessionRegistry(store, publisher, database)
    capacity, roots = Capacity(options.most_running), RootDirectories(options, paths)
    make_worker = SessionWorkerFactory(options, NativeServices(environment, inbox, capacity), secrets, roots)
    runner = Runner(registry, make_worker, idle_seconds=options.idle_seconds)
    external = ExternalSessions(registry, store, inbox, paths.control_sockets)
    auxiliary = AuxiliaryWorkers(registry, runner, hub, roots, secrets, environment, options.engines)
    preflight = Preflight(options.engines, environment)
    worktrees = Worktrees(os.path.join(paths.bobstay, WORKTREES), environment.children)
    creation = SessionCreation(registry, runner, secrets, preflight, worktrees, roots, paths)
    trash = Trash(os.path.join(options.state, "trash"), store)
    auth = Authorizer(database.engine, rules or AuthSettings.of(options), database.audit)
    auth.track_connections(lambda: {client.principal.client for client in hub.clients()}, hub.revoke)
    _observe_inbox(registry, inbox)
    inventory = InventoryReader(database, environment, options.engines, roots, secrets)
    return external, Services(
        options=options,
        environment=environment,
        registry=registry,
        streams=Streams(registry, hub, publisher, timing=StreamTiming.of(options.heartbeat)),
        owners=LocalOwner(),
        runner=runner,
        inbox=inbox,
        creation=creation,
        commands=SessionCommands(registry, runner, external, roots),
        deletion=SessionDeletion(registry, runner, auxiliary, secrets, database, trash=trash, home=paths.bobstay),
        preflight=preflight,
        auxiliary_workers=auxiliary,
        worktrees=worktrees,
        roots=roots,
        inventory=inventory,
        mcp=McpActions(environment, inventory, runner, publisher),
        database=database,
        auth=auth,
        audit=database.audit,
        refusals=Refusals(database.audit),
        secrets=secrets,
        versions=EngineVersions(environment, options.state),
        metrics=Metrics(registry, runner, capacity, hub, database),
        notifier=_build_notifier(options, environment, registry, database, auth),
        undos=Undos(),
        creating=NamedLocks(),
    )


def _observe_inbox(registry: SessionRegistry, inbox: Inbox) -> None:
    """Keep the inbox up to date with the entries of all open sessions."""

    def observe(_: SessionView, after: SessionView, envelope: Envelope) -> None:
        inbox.observe(after.id, envelope.event)

    registry.listeners.append(observe)


def _background_services(services: Services, external: ExternalSessions, rpc: RpcServer) -> BackgroundServices:
    registry, runner, database = services.registry, services.runner, services.database
    return BackgroundServices(
        loading=SessionLoading(registry, database.store, database, services.streams.hub),
        recovery=CrashRecovery(registry, runner, services.inbox),
        expiry=SessionExpiry(
            registry,
            runner,
            services.auxiliary_workers,
            services.deletion,
            database,
            services.environment.paths,
            archive_after_days=services.options.archive_after_days,
        ),
        external=external,
        rpc=rpc,
    )


def _build_notifier(
    options: ServerOptions,
    environment: Environment,
    registry: SessionRegistry,
    database: Database,
    auth: Authorizer,
) -> Notifier:
    """The notifier for changes of all sessions; it drops subscriptions of revoked clients."""

    def is_open(session_id: str, interaction: str) -> bool:
        view = registry.views.get(session_id)
        return view is not None and any(entry.id == interaction for entry in view.interactions)

    public = next((url for url in options.public_urls if url.startswith("https://")), "mailto:console@bobstay.example")
    notifier = Notifier(
        database,
        options.state,
        Redactor(environment.secrets),
        # Otherwise anybody with the scope read could make this server send requests to other programs of this machine.
        loopback=options.push_to_loopback,
        subject=public,
        is_open=is_open,
        network=environment.network,
    )
    registry.view_listeners.append(notifier.update)
    registry.forgotten.append(notifier.forget)
    auth.track_connections(notifier.subscribed_clients, notifier.remove_client)
    return notifier


def _socket_routes(services: Services) -> tuple[BaseRoute, ...]:
    async def admit(socket: HTTPConnection, scope: Scope | None = "read") -> Principal:
        return await admit_to_socket(services, socket, scope)

    return (
        websocket_route(services.streams, admit, version=__version__),
        terminal_route(services.streams.hub, services.auxiliary_workers.terminal, admit),
        *compat_routes(services),
    )
