"""What is sent and answered about sessions over HTTP."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from bobstay.permissions.mode import ModeName
from bobstay.server.session_commands import Delivery
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workflows import Workflow

MOST_SENT = 24 * 1024 * 1024
"""Bytes of a message, its pictures included."""
MOST_LISTED = 500


class ImagePart(Struct, frozen=True):
    """A picture, base64 without line breaks."""

    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    data: str


class ArtifactReference(Struct, frozen=True):
    session_id: str
    id: str


Title: TypeAlias = Annotated[str, Meta(max_length=500)]
"""It is in every list."""


class NewSession(Struct, frozen=True, forbid_unknown_fields=True):
    cwd: str
    prompt: str = ""
    images: tuple[ImagePart, ...] = ()
    title: Title = ""
    engine: str = "native"
    workflow: Workflow = "chat"
    model: str = ""
    permission_mode: Literal["", "default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"] = ""
    """Empty: as the settings and the workflow say."""
    max_turns: int = 100
    max_budget_usd: float | None = None
    system_prompt: str = ""
    append_system_prompt: str = ""
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    inputs: Literal["interactive", "queue", "locked"] = "interactive"
    live: bool = True
    """False: an external engine is started once for each prompt, asks nobody and ends."""
    output_format: Literal["stream-json", "json", "text"] = "stream-json"
    """What an external engine that is not `live` writes. Only stream-json shows calls and words while they happen."""
    ephemeral: bool = False
    """A throw-away session: an external engine keeps nothing of it, and it is removed a day after its last entry."""
    bypass_minutes: Annotated[float, Meta(gt=0, le=24 * 60)] = 60
    """How long permission is bypassed, where the permission mode says so."""
    worktree: bool = False
    """Work in a work tree of its own, on a branch of its own."""
    branch: str = ""
    base: str = ""
    artifacts: Annotated[tuple[ArtifactReference, ...], Meta(max_length=20)] = ()
    """What earlier sessions left, to be handed over with the prompt."""
    env: dict[str, str] = {}
    """Variables for its processes; kept apart from the log, and never shown."""
    mcp_config: dict[str, Any] = {}
    """MCP servers for an external engine; kept apart from the log, and only their names are shown."""
    client_id: str = ""
    """Chosen by the client. The same request with the same id makes no second session: the first one is answered."""


class SessionList(Struct, frozen=True):
    sessions: tuple[SessionView, ...]
    cursor: str | None = None
    """Give it back as `cursor` for the next page; null on the last."""


class SessionListQuery(Struct, frozen=True):
    status: str = ""
    """Only sessions in one of these states, with commas between them; empty for all."""
    project: str = ""
    """Only sessions that belong to this directory, or work in it; empty for all."""
    q: str = ""
    """Only sessions with this text in their title, first prompt or directory."""
    archived: bool = False
    """The archived sessions, instead of the others."""
    leaves: bool = False
    """Leave out sessions that others go on from."""
    cursor: str = ""
    """`cursor` of the page that was answered last; empty for the first page."""
    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED)] = 100
    """Sessions on a page at most."""


class NewMessage(Struct, frozen=True, forbid_unknown_fields=True):
    content: str
    client_message_id: str = ""
    """Chosen by the client. A message sent again with the same id is heard once."""
    images: tuple[ImagePart, ...] = ()
    delivery: Delivery = "queue"


class MessageAccepted(Struct, frozen=True):
    input_id: str
    session: SessionView


class ContinueBody(Struct, frozen=True, forbid_unknown_fields=True):
    prompt: str = ""
    client_id: str = ""
    """Chosen by the client. The same request with the same id makes no second session: the first one is answered."""
    max_turns: int | None = None
    model: str | None = None
    workflow: Workflow | None = None
    permission_mode: ModeName | None = None


class ForkBody(Struct, frozen=True, forbid_unknown_fields=True):
    at: str = ""
    """Id of the entry, prompt or message after which the copy goes its own way; empty for all of it."""
    prompt: str = ""
    client_id: str = ""
    """Chosen by the client. The same request with the same id makes no second session: the first one is answered."""


class SessionChange(Struct, frozen=True, forbid_unknown_fields=True):
    """What is left out stays as it is."""

    title: Title | UnsetType = UNSET
    archived: bool | UnsetType = UNSET
    pinned: bool | UnsetType = UNSET
    model: str | UnsetType = UNSET
    permission_mode: ModeName | UnsetType = UNSET
    workflow: Workflow | UnsetType = UNSET
    max_turns: int | UnsetType = UNSET
    inputs: Literal["interactive", "queue", "locked"] | UnsetType = UNSET
    bypass_minutes: Annotated[float, Meta(gt=0, le=24 * 60)] = 60


class InputChange(Struct, frozen=True, forbid_unknown_fields=True):
    content: str
