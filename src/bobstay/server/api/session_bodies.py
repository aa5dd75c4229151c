"""Request and response bodies of the session endpoints."""

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from bobstay.permissions.mode import ModeName
from bobstay.server.session_commands import Delivery
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.workflows import Workflow

MOST_SENT = 24 * 1024 * 1024
"""Maximum bytes of a message with its images."""
MOST_LISTED = 500


class ImagePart(Struct, frozen=True):
    """An image in base64 without line breaks."""

    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    data: str


class ArtifactReference(Struct, frozen=True):
    session_id: str
    id: str


Title: TypeAlias = Annotated[str, Meta(max_length=500)]
"""Limited, because it is in every list."""


class NewSession(Struct, frozen=True, forbid_unknown_fields=True):
    cwd: str
    prompt: str = ""
    images: tuple[ImagePart, ...] = ()
    title: Title = ""
    engine: str = "native"
    workflow: Workflow = "chat"
    model: str = ""
    permission_mode: Literal["", "default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"] = ""
    """Empty for the mode from the settings and the workflow."""
    max_turns: int = 100
    max_budget_usd: float | None = None
    system_prompt: str = ""
    append_system_prompt: str = ""
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    inputs: Literal["interactive", "queue", "locked"] = "interactive"
    live: bool = True
    """If false, an external engine is started for each prompt, runs without asking and exits."""
    output_format: Literal["stream-json", "json", "text"] = "stream-json"
    """Output of an external engine that is not `live`. Only stream-json shows tool calls and text while it works."""
    ephemeral: bool = False
    """A temporary session: an external engine stores nothing, and it is removed a day after its last entry."""
    bypass_minutes: Annotated[float, Meta(gt=0, le=24 * 60)] = 60
    """Duration of the mode `bypassPermissions`."""
    worktree: bool = False
    """Whether to work in a new worktree on a new branch."""
    branch: str = ""
    base: str = ""
    artifacts: Annotated[tuple[ArtifactReference, ...], Meta(max_length=20)] = ()
    """Artifacts of earlier sessions to include in the prompt."""
    env: dict[str, str] = {}
    """Environment variables of its processes; not stored in the log, and never shown."""
    mcp_config: dict[str, Any] = {}
    """MCP servers of an external engine; not stored in the log, and only their names are shown."""
    client_id: str = ""
    """Chosen by the client. The same request with the same id creates no second session, but returns the first."""


class SessionList(Struct, frozen=True):
    sessions: tuple[SessionView, ...]
    cursor: str | None = None
    """Send it as `cursor` for the next page; null on the last."""


class SessionListQuery(Struct, frozen=True):
    status: str = ""
    """Only sessions with one of these statuses, separated by commas; empty for all."""
    project: str = ""
    """Only sessions of this project or working directory; empty for all."""
    q: str = ""
    """Only sessions with this text in their title, first prompt or directory; empty for all."""
    archived: bool = False
    """List the archived sessions instead of the others."""
    leaves: bool = False
    """Leave out sessions that others continue."""
    cursor: str = ""
    """`cursor` of the previous page; empty for the first."""
    limit: Annotated[int, Meta(ge=1, le=MOST_LISTED)] = 100
    """Maximum number of sessions."""


class NewMessage(Struct, frozen=True, forbid_unknown_fields=True):
    content: str
    client_message_id: str = ""
    """Chosen by the client. A message repeated with the same id is delivered once."""
    images: tuple[ImagePart, ...] = ()
    delivery: Delivery = "queue"
    sender: Annotated[str, Meta(max_length=200)] = ""
    """Set by an agent, to name itself: the model reads the message as one of another agent, not of a person."""


class MessageAccepted(Struct, frozen=True):
    input_id: str
    session: SessionView


class ContinueBody(Struct, frozen=True, forbid_unknown_fields=True):
    prompt: str = ""
    client_id: str = ""
    """Chosen by the client. The same request with the same id creates no second session, but returns the first."""
    max_turns: int | None = None
    model: str | None = None
    workflow: Workflow | None = None
    permission_mode: ModeName | None = None


class ForkBody(Struct, frozen=True, forbid_unknown_fields=True):
    at: str = ""
    """Id of the last entry, prompt or message to copy; empty for all."""
    prompt: str = ""
    client_id: str = ""
    """Chosen by the client. The same request with the same id creates no second session, but returns the first."""


class SessionChange(Struct, frozen=True, forbid_unknown_fields=True):
    """Fields that are left out stay unchanged."""

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
