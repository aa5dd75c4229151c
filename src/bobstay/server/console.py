"""The parts of a running server, put together once and handed to whoever needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from bobstay.server.auth.audit_port import AuditLog, NoAuditLog, Refusals
from bobstay.server.revert.revert_undo import Undos
from bobstay.system.named_locks import Locks

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
    """What whoever starts the server decides."""

    state: str
    """The directory that holds everything of this server: `${BOBSTAY_HOME}/server`."""
    host: str = "127.0.0.1"
    port: int = 3001
    database: str = ""
    """A URL; SQLite in the state directory if empty."""
    roots: tuple[str, ...] = ()
    """Directories sessions may work in; none given means the home directory and where the server was started."""
    most_running: int = 8
    idle_seconds: float = 900.0
    """After so long without a prompt an engine is put to sleep."""
    archive_after_days: float = 0.0
    """Logs of archived sessions that did not change for so long are packed away; 0 leaves them. Nothing is deleted."""
    heartbeat: float = 15.0
    engines: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"claude": ("claude",)})
    """External commands by the name of their engine. Only whoever starts the server names them."""
    push_to_loopback: bool = False
    """Whether notifications may go to services on this very machine. For tests only: whoever may read names them."""
    pass_keys: bool = True
    """Whether external engines get the keys of model providers, or use a log-in of their own."""
    questions: Literal["permission", "hook"] = "permission"
    """How questions of external engines come: as requests for permission, or by a hook before the tool."""
    public_urls: tuple[str, ...] = ()
    """Origins under which a reverse proxy shows this server."""
    user_header: str = ""
    """The header in which a trusted reverse proxy names the user; empty means none is believed."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of trusted reverse proxies; none named means this machine."""


class Console(Struct):
    config: Config
    environment: Environment
    registry: SessionRegistry
    hub: Hub
    inbox: Inbox
    runner: Runner
    database: Database
    doors: Authorizer
    outside: ExternalSessions
    crew: AuxiliaryWorkers
    slots: Capacity | None = None
    """How many sessions work, and how many wait for a place."""
    audit: AuditLog = field(default_factory=NoAuditLog)
    """Where it is written down who did what."""
    refusals: Refusals = field(default_factory=Refusals)
    """The part of it that is about those who might not."""
    variables: SessionSecrets | None = None
    """What single sessions are run with beside the common environment."""
    versions: EngineVersions | None = None
    """Which versions the programs of external engines are."""
    meter: Metrics | None = None
    """Counts what happens, for the metrics."""
    added_roots: tuple[str, ...] = ()
    """Directories that people added in the page to those of the configuration."""
    undos: Undos = field(default_factory=Undos)
    """Rejected changes that can be put back."""
    making: Locks = field(default_factory=Locks)
    """By the id of a session that is being made: nobody else makes it meanwhile."""
    bell: Notifier | None = None
    """Tells devices of people who do not look."""
