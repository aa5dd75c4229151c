"""Configuration given at the start of the server."""

from typing import Literal

from msgspec import Struct, field


class ServerOptions(Struct, frozen=True):
    """Fixed while the server runs."""

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
