"""Frames of the streams as JSON bytes: durable events, live parts and control messages.

Durable frames have the `seq` of their session's log; frames without one are transient and never replayed.
"""

from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.event import BlockDone, Durable, Envelope
from bobstay.model.ids import timestamp
from bobstay.model.message import ToolCall
from bobstay.server.sessions.context_threshold import context_threshold
from bobstay.server.sessions.session_status import Status
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.text_cutting import Cut
from bobstay.sessions.log_codec import to_json

VERSION = 1
SESSION = "session:"
"""Prefix of the topics of sessions."""

NAMES: dict[str, str] = {
    "session_started": "session.created",
    "configured": "session.updated",
    "session_changed": "session.updated",
    "mode_changed": "session.updated",
    "model_changed": "session.updated",
    "permissions_changed": "session.updated",
    "worker_started": "worker.started",
    "worker_exited": "worker.exited",
    "input_queued": "input.state",
    "input_dropped": "input.state",
    "interrupt_asked": "turn.interrupting",
    "prompted": "message.user",
    "turn_started": "turn.started",
    "block_done": "part.done",
    "message_done": "message.assistant",
    "tool_started": "tool.started",
    "tool_done": "tool.result",
    "interaction_opened": "interaction.opened",
    "interaction_closed": "interaction.resolved",
    "tasks_replaced": "tasks.replaced",
    "run_done": "turn.completed",
    "artifact_made": "artifact.made",
    "noted": "notice",
    "hook_ran": "notice",
    "pruned": "notice",
    "advised": "notice",
    "raw": "raw",
}
"""Frame types of durable events; a tool call is `tool.call` instead of `part.done`."""


class Transition(Struct, frozen=True, rename={"previous": "from", "now": "to"}, omit_defaults=True):
    """A change of status that this event caused."""

    previous: Status
    now: Status
    error: str = ""


class Frame(Struct, frozen=True, omit_defaults=True):
    """One durable event on a stream."""

    topic: str
    session_id: str
    seq: int
    id: str
    ts: str
    type: str
    data: msgspec.Raw
    v: int = VERSION
    epoch: int = 0
    parent: str = ""
    agent: str = ""
    parent_call: str = ""
    turn: int = 0
    status: Transition | None = None
    threshold: str = ""
    """`warning` or `critical`, if the context has just passed that threshold."""
    cuts: tuple[Cut, ...] = ()
    """The texts of `data` whose middle was cut out, for a client that requested `cut`."""


class LiveFrame(Struct, frozen=True, omit_defaults=True):
    """A frame that is not stored in the log."""

    type: str
    data: dict[str, Any]
    topic: str = ""
    session_id: str = ""


class Head(Struct, frozen=True):
    """The identifying fields of a frame; `seq` is 0 if it is transient."""

    type: str
    topic: str = ""
    session_id: str = ""
    seq: int = 0


_head = msgspec.json.Decoder(Head)


def entry_frame(before: SessionView, after: SessionView, envelope: Envelope) -> bytes:
    """The frame of an entry, with the changes of status and context threshold it caused."""
    changed = None
    if before.status != after.status:
        changed = Transition(before.status, after.status, after.error)
    return durable(after.id, envelope, turn=after.turns, status=changed, threshold=context_threshold(before, after))


def durable(
    session_id: str, envelope: Envelope, *, turn: int = 0, status: Transition | None = None, threshold: str = ""
) -> bytes:
    """An entry of the log as a frame."""
    frame = Frame(
        topic=session_topic(session_id),
        session_id=session_id,
        seq=envelope.seq,
        id=envelope.id,
        ts=_moment(envelope.at),
        type=name_of(envelope.event),
        data=msgspec.Raw(to_json(envelope.event)),
        epoch=envelope.epoch,
        parent=envelope.parent,
        agent=envelope.agent,
        parent_call=envelope.parent_call,
        turn=turn,
        status=status,
        threshold=threshold,
    )
    return to_json(frame)


def live(name: str, data: dict[str, Any], session_id: str = "", topic: str = "") -> bytes:
    """A transient frame; of a session, if one is given."""
    where = topic or (session_topic(session_id) if session_id else "")
    return to_json(LiveFrame(name, data, where, session_id))


def session_topic(session_id: str) -> str:
    """The topic of one session."""
    return SESSION + session_id


def head_of(frame: bytes) -> Head:
    """The head of a frame, without decoding its data."""
    return _head.decode(frame)


def name_of(event: Durable) -> str:
    """The frame type of an event."""
    if isinstance(event, BlockDone):
        return "tool.call" if isinstance(event.block, ToolCall) else "part.done"
    tag = type(event).__struct_config__.tag
    return NAMES.get(tag, "raw") if isinstance(tag, str) else "raw"


def _moment(at: float) -> str:
    """The timestamp of a time in a log, which may be any number."""
    try:
        return timestamp(at)
    except (OverflowError, ValueError, OSError):
        return timestamp(0.0)
