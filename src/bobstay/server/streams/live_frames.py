"""Types of all transient frames, for the schemas and generated clients.

The frames themselves are built where they arise, with `stream_frames.live`; a test validates them against these types.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from bobstay.server.db.task_table import TaskRow
from bobstay.server.errors import Code
from bobstay.server.files.git_diff_parser import Change
from bobstay.server.sessions.open_interactions import InteractionView
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.stream_timing import StreamTiming

PartKind: TypeAlias = Literal["text", "thinking", "tool_input"]


class OfSession(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    topic: str
    session_id: str


class OfTopic(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    topic: str


class OfConnection(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type"):
    pass


# ---------------------------------------------------------------- live parts


class BegunPart(Struct, frozen=True, forbid_unknown_fields=True):
    message_id: str
    index: int
    kind: PartKind
    name: str
    """Name of a tool; else empty."""
    call_id: str
    parent_call: str
    """The call that started the sub-agent whose part it is; else empty."""


class PartPiece(Struct, frozen=True, forbid_unknown_fields=True):
    message_id: str
    index: int
    kind: PartKind
    offset: int
    """Characters of this part before this text."""
    text: str


class PartName(Struct, frozen=True, forbid_unknown_fields=True):
    message_id: str
    index: int
    kind: PartKind


class OutputPiece(Struct, frozen=True, forbid_unknown_fields=True):
    call_id: str
    offset: int
    """Characters before this text. It may jump: only the end of long output is sent."""
    text: str


class OpenPart(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An unfinished part, as far as it was sent. Output of a command has a `call_id` and no `message_id`."""

    offset: int
    text: str
    message_id: str = ""
    index: int = 0
    kind: PartKind = "text"
    name: str = ""
    call_id: str = ""
    parent_call: str = ""


class ModelNamed(Struct, frozen=True, forbid_unknown_fields=True):
    model: str


class Retry(Struct, frozen=True, forbid_unknown_fields=True):
    attempt: int
    attempts: int
    delay: float
    """Seconds until the retry."""
    status: int | None
    error: str


class PartBeganFrame(OfSession, frozen=True, tag="part.began"):
    data: BegunPart


class PartDeltaFrame(OfSession, frozen=True, tag="part.delta"):
    data: PartPiece


class PartDroppedFrame(OfSession, frozen=True, tag="part.dropped"):
    """The model request is retried: the unfinished part is void."""

    data: PartName


class ToolOutputFrame(OfSession, frozen=True, tag="tool.output"):
    data: OutputPiece


class ModelRequestedFrame(OfSession, frozen=True, tag="model.requested"):
    data: ModelNamed


class ModelRetryingFrame(OfSession, frozen=True, tag="model.retrying"):
    data: Retry


# ---------------------------------------------------------------- changes


class ChangedFile(Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    status: Change
    added: int
    removed: int


class ChangedFiles(Struct, frozen=True, forbid_unknown_fields=True):
    files: tuple[ChangedFile, ...]
    """At most 500 files."""
    total: int
    base: str


class TaskList(Struct, frozen=True, forbid_unknown_fields=True):
    tasks: tuple[TaskRow, ...]


class ChangedSession(Struct, frozen=True, forbid_unknown_fields=True):
    session: SessionView


class DeletedSession(Struct, frozen=True, forbid_unknown_fields=True):
    id: str


class OpenedInteraction(Struct, frozen=True, forbid_unknown_fields=True):
    session_id: str
    interaction: InteractionView


class LoadingSessions(Struct, frozen=True, forbid_unknown_fields=True):
    left: int
    total: int


class ResolvedInteraction(Struct, frozen=True, forbid_unknown_fields=True):
    session_id: str
    id: str
    outcome: str
    by: str


class DiffChangedFrame(OfSession, frozen=True, tag="diff.changed"):
    data: ChangedFiles


class NoDetails(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class InventoryChangedFrame(OfSession, frozen=True, tag="inventory.changed"):
    """Commands or MCP servers of the session changed: `GET /sessions/{id}/surroundings` has them."""

    data: NoDetails


class TasksChangedFrame(OfSession, frozen=True, tag="tasks.changed"):
    data: TaskList


class SessionChangedFrame(OfTopic, frozen=True, tag="session.changed"):
    data: ChangedSession


class SessionDeletedFrame(OfTopic, frozen=True, tag="session.deleted"):
    data: DeletedSession


class SessionsLoadingFrame(OfTopic, frozen=True, tag="sessions.loading"):
    """Progress of loading sessions after a start of the server."""

    data: LoadingSessions


class InteractionOpenedFrame(OfTopic, frozen=True, tag="interaction.opened"):
    """Sent on the topic `app`; the session's topic has the stored event."""

    data: OpenedInteraction


class InteractionResolvedFrame(OfTopic, frozen=True, tag="interaction.resolved"):
    data: ResolvedInteraction


# ---------------------------------------------------------------- positions of streams


class StreamState(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """State of a topic. A session has `seq`, `epoch`, `session`, `parts`; `app` has `sessions`, `total`,
    `interactions`, `loading`; `*` has a `cursor`. Other fields are left out.
    """

    topic: str
    seq: int | None = None
    epoch: str | None = None
    session: SessionView | None = None
    parts: tuple[OpenPart, ...] | None = None
    sessions: tuple[SessionView, ...] | None = None
    total: int | None = None
    interactions: tuple[OpenedInteraction, ...] | None = None
    loading: int | None = None
    """Sessions that are not loaded yet after a start."""
    cursor: str | None = None


class StreamMoved(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    topic: str
    reason: Literal["other_epoch", "future_cursor", "unknown_cursor", "other_server", "too_old"]
    seq: int | None = None
    """The entry from which it continues."""
    epoch: str | None = None


class LeftTopic(Struct, frozen=True, forbid_unknown_fields=True):
    topic: str
    id: str


class StreamSynchronizedFrame(OfTopic, frozen=True, tag="stream.synchronized", omit_defaults=True):
    data: StreamState
    session_id: str = ""


class StreamResetFrame(OfTopic, frozen=True, tag="stream.reset", omit_defaults=True):
    data: StreamMoved
    session_id: str = ""


class StreamLeftFrame(OfTopic, frozen=True, tag="stream.left"):
    data: LeftTopic


# ---------------------------------------------------------------- the connection


class HelloFacts(StreamTiming, frozen=True, kw_only=True, forbid_unknown_fields=True):
    server_id: str
    """Id of this run of the server."""
    protocol: int
    now: float
    """The server's clock in seconds since 1970, because a client's clock may differ."""
    version: str = ""


class Beat(Struct, frozen=True, forbid_unknown_fields=True):
    ts: str


class Echo(Struct, frozen=True, forbid_unknown_fields=True):
    id: str


class StreamProblem(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    code: Code
    message: str
    details: dict[str, Any] | None = None
    id: str = ""
    """Id of the client's frame that caused it."""


class ServerHelloFrame(OfConnection, frozen=True, tag="server.hello"):
    data: HelloFacts


class ServerHeartbeatFrame(OfConnection, frozen=True, tag="server.heartbeat"):
    data: Beat


class PongFrame(OfConnection, frozen=True, tag="pong"):
    data: Echo


class ErrorFrame(OfConnection, frozen=True, tag="error", omit_defaults=True):
    data: StreamProblem
    topic: str = ""


AnyLive: TypeAlias = (
    PartBeganFrame
    | PartDeltaFrame
    | PartDroppedFrame
    | ToolOutputFrame
    | ModelRequestedFrame
    | ModelRetryingFrame
    | DiffChangedFrame
    | InventoryChangedFrame
    | TasksChangedFrame
    | SessionChangedFrame
    | SessionDeletedFrame
    | SessionsLoadingFrame
    | InteractionOpenedFrame
    | InteractionResolvedFrame
    | StreamSynchronizedFrame
    | StreamResetFrame
    | StreamLeftFrame
    | ServerHelloFrame
    | ServerHeartbeatFrame
    | PongFrame
    | ErrorFrame
)
