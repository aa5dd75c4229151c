"""Configuration and services of a running server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from bobstay.server.auth.audit_port import AuditLog, NoAuditLog, Refusals
from bobstay.server.revert.revert_undo import Undos
from bobstay.system.named_locks import NamedLocks

if TYPE_CHECKING:
    from bobstay.config.environment import Environment
    from bobstay.server.auth.authorization import Authorizer
    from bobstay.server.auxiliary_workers import AuxiliaryWorkers
    from bobstay.server.capacity import Capacity
    from bobstay.server.db.database import Database
    from bobstay.server.inbox import Inbox
    from bobstay.server.metrics import Metrics
    from bobstay.server.notifications.notifier import Notifier
    from bobstay.server.runner import Runner
    from bobstay.server.session_secrets import SessionSecrets
    from bobstay.server.sessions.external_sessions import ExternalSessions
    from bobstay.server.sessions.session_registry import SessionRegistry
    from bobstay.server.streams.hub import Hub
    from bobstay.server.workers.process.engine_version import EngineVersions


class Config(Struct, frozen=True):
    """Configuration given at the start of the server."""

    state: str
    """The directory with all state of this server: `${BOBSTAY_HOME}/server`."""
    host: str = "127.0.0.1"
    port: int = 3001
    database: str = ""
    """A URL; SQLite in the state directory if empty."""
    roots: tuple[str, ...] = ()
    """Directories sessions may work in; if empty, the home directory and where the server was started."""
    most_running: int = 8
    idle_seconds: float = 900.0
    """An engine without a prompt for so long is stopped."""
    archive_after_days: float = 0.0
    """Logs of archived sessions that did not change for so long are compressed; 0 disables it. Nothing is deleted."""
    heartbeat: float = 15.0
    engines: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"claude": ("claude",)})
    """Commands of external engines by name. They can be set only at the start of the server."""
    push_to_loopback: bool = False
    """Whether push services on this machine are allowed. For tests only: anybody with the scope read can name one."""
    pass_keys: bool = True
    """Whether external engines get the API keys of model providers, or use their own login."""
    questions: Literal["permission", "hook"] = "permission"
    """How external engines send questions: as permission requests, or through a hook before the tool."""
    public_urls: tuple[str, ...] = ()
    """Origins under which a reverse proxy publishes this server."""
    user_header: str = ""
    """The header in which a trusted reverse proxy names the user; empty disables it."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of trusted reverse proxies; if empty, this machine only."""


class Console(Struct):
    config: Config
    environment: Environment
    registry: SessionRegistry
    hub: Hub
    inbox: Inbox
    runner: Runner
    database: Database
    auth: Authorizer
    outside: ExternalSessions
    auxiliary_workers: AuxiliaryWorkers
    slots: Capacity | None = None
    """How many sessions run, and how many wait for a slot."""
    audit: AuditLog = field(default_factory=NoAuditLog)
    """Records who did what."""
    refusals: Refusals = field(default_factory=Refusals)
    """Records refused requests in the audit log, at a limited rate."""
    variables: SessionSecrets | None = None
    """Environment variables and MCP configurations of single sessions."""
    versions: EngineVersions | None = None
    """Versions of the programs of external engines."""
    metrics: Metrics | None = None
    """Counters for `/metrics`."""
    added_roots: tuple[str, ...] = ()
    """Directories that people added in the page, beside those of the configuration."""
    undos: Undos = field(default_factory=Undos)
    """Rejected changes that can be restored."""
    creating: NamedLocks = field(default_factory=NamedLocks)
    """Locks by the id of a session that is being created."""
    notifier: Notifier | None = None
    """Sends push notifications."""
