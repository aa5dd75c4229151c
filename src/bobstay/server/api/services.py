"""The services of a running server, as endpoints and sockets use them."""

from msgspec import Struct

from bobstay.config.environment import Environment
from bobstay.server.api.session_owner import SessionOwners
from bobstay.server.auth.audit_port import AuditLog, Refusals
from bobstay.server.auth.authorization import Authorizer
from bobstay.server.auxiliary_workers import AuxiliaryWorkers
from bobstay.server.db.database import Database
from bobstay.server.deletion import SessionDeletion
from bobstay.server.inbox import Inbox
from bobstay.server.inventory.inventory_reader import InventoryReader
from bobstay.server.mcp_actions import McpActions
from bobstay.server.metrics import Metrics
from bobstay.server.notifications.notifier import Notifier
from bobstay.server.preflight import Preflight
from bobstay.server.revert.revert_undo import Undos
from bobstay.server.root_directories import RootDirectories
from bobstay.server.runner import Runner
from bobstay.server.server_options import ServerOptions
from bobstay.server.session_commands import SessionCommands
from bobstay.server.session_creation import SessionCreation
from bobstay.server.session_secrets import SessionSecrets
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.streams.subscription import Streams
from bobstay.server.workers.process.engine_version import EngineVersions
from bobstay.server.worktrees import Worktrees
from bobstay.system.named_locks import NamedLocks


class Services(Struct, frozen=True, kw_only=True):
    """Built once, complete, when the server is built. Services know each other by constructor arguments, never this."""

    options: ServerOptions
    environment: Environment
    registry: SessionRegistry
    streams: Streams
    owners: SessionOwners
    runner: Runner
    inbox: Inbox
    creation: SessionCreation
    commands: SessionCommands
    deletion: SessionDeletion
    preflight: Preflight
    auxiliary_workers: AuxiliaryWorkers
    worktrees: Worktrees
    roots: RootDirectories
    inventory: InventoryReader
    mcp: McpActions
    """Actions on the MCP servers of sessions."""
    database: Database
    auth: Authorizer
    audit: AuditLog
    """Records who did what."""
    refusals: Refusals
    """Records refused requests in the audit log, at a limited rate."""
    secrets: SessionSecrets
    """Environment variables and MCP configurations of single sessions."""
    versions: EngineVersions
    """Versions of the programs of external engines."""
    metrics: Metrics
    notifier: Notifier
    """Sends push notifications."""
    undos: Undos
    """Rejected changes that can be restored."""
    creating: NamedLocks
    """Locks by the id of a session that is being created."""
