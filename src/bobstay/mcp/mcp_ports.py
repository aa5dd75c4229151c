"""Ports of the MCP client: what a session provides to its servers, and what it is told about them."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from bobstay.http.network import Network
from bobstay.mcp.host_channel import SendToHost
from bobstay.mcp.server_config import McpServerConfig

if TYPE_CHECKING:
    import httpx2

    from bobstay.mcp.listing_store import ListingStore


class ElicitationRequest(Struct, frozen=True):
    """A server asks the person something."""

    server: str
    message: str
    mode: Literal["form", "url"] = "form"
    schema: dict[str, Any] = {}
    """JSON schema of the answer, for a form."""
    url: str = ""
    """The address to open, for the mode `url`."""
    elicitation_id: str = ""


class ElicitationAnswer(Struct, frozen=True):
    action: Literal["accept", "decline", "cancel"] = "cancel"
    content: dict[str, Any] | None = None


Elicit: TypeAlias = Callable[[ElicitationRequest], Awaitable[ElicitationAnswer]]
Sample: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""Asks whether a server may use the model: its name and the parameters of `sampling/createMessage`. Returns the result
of that method, or None to refuse."""


class McpPorts(Struct, frozen=True):
    elicit: Elicit | None = None
    """Without it every question of a server is cancelled."""
    sample: Sample | None = None
    """Without it servers are told that sampling is not supported."""
    send_to_host: SendToHost | None = None
    """For servers of the type `sdk`."""
    auth: "Callable[[McpServerConfig], httpx2.Auth | None] | None" = None
    """Makes what authenticates requests to a server; called when the SDK is loaded."""
    notice: Callable[[str], None] | None = None
    """Receives what a person should know; each text once."""


class Backoff(Struct, frozen=True):
    """Seconds between attempts to reach a server again, and when to give up."""

    first: float = 1.0
    longest: float = 30.0
    attempts: int = 5
    total: float = 600.0

    def delay(self, attempt: int) -> float:
        """The pause before an attempt, counted from 1."""
        return float(min(self.longest, self.first * 2 ** (attempt - 1)))


class McpOptions(Struct, frozen=True):
    """What all connections of a session share."""

    cwd: str
    environment: Mapping[str, str]
    """Variables of server processes, without keys."""
    session_id: str
    directories: Callable[[], tuple[Path, ...]]
    """The working directories, which servers see as roots."""
    network: Network = Network()
    connect_timeout: float = 30.0
    tool_timeout: float = 3_600.0
    output_tokens: int = 25_000
    """Tokens of a result that are shown to the model; the rest is saved in a file."""
    backoff: Backoff = Backoff()
    denies: Callable[[str], bool] = lambda _: False
    """Whether a rule denies all tools of a name; a server that is denied has neither resources nor skills."""
    store: "ListingStore | None" = None
    """Remembers what servers offered; without it a session knows of nothing before they are connected."""
