"""What an entry of a log means for the tables. Pure: the same entries give the same rows, live or from the files."""

from datetime import UTC, datetime
from typing import Any

from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.event import (
    Advised,
    BlockDone,
    Envelope,
    HookRan,
    InputDropped,
    InputQueued,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    ModeChanged,
    ModelChanged,
    Noted,
    PermissionsChanged,
    Prompted,
    Pruned,
    Raw,
    RunDone,
    SessionStarted,
    TasksReplaced,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.message import Block, Image, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.model.session_events import (
    ArtifactMade,
    Configured,
    InterruptAsked,
    SessionChanged,
    WorkerExited,
    WorkerStarted,
)
from bobstay.server.db.projected_tables import interactions, tool_calls
from bobstay.server.db.row_changes import LogEntry, Row, RowChanges
from bobstay.server.db.search_terms import plain_words
from bobstay.server.db.storable_values import (
    LONGEST_DIRECTORY,
    as_json,
    both_ends,
    clean,
    finite,
    identity,
    leaves,
    shortened_json,
    whole,
)
from bobstay.server.sessions.session_view import SessionView, input_hash

VERSION = 5
"""To be raised when the same log gives other rows: an index of another version is made anew."""
STATUSES = ("pending", "in_progress", "completed")
MOST_TASKS = 1_000
CALL = tuple(column.name for column in tool_calls.c if not column.primary_key and column.name != "rev")
INTERACTION = tuple(column.name for column in interactions.c if not column.primary_key)


def project(entry: LogEntry, into: RowChanges) -> None:
    """Add what `entry` changes to `into`."""
    session_id, envelope = entry.session_id, entry.envelope
    at = _Place(session_id, envelope, into)
    match envelope.event:
        case Prompted(id=id, blocks=blocks, origin=origin):
            kind = "user" if origin == "human" else "harness"
            at.message(id, kind, origin=origin if origin == "human" else f"{origin}:{envelope.event.why}")
            for place, block in enumerate(blocks):
                at.part(id, place, block)
        case BlockDone(message_id=id, index=place, block=block):
            at.message(id, "assistant", model=envelope.event.model or None)
            at.part(id, place, block, partial=envelope.event.partial)
        case MessageDone(message_id=id):
            _message_done(at, id, envelope.event)
        case ToolStarted():
            at.call(envelope.event.call_id, name=envelope.event.name, started_seq=at.seq, started_at=at.at)
        case ToolDone():
            _tool_done(at, envelope.event)
        case InteractionOpened() | InteractionClosed():
            _interaction(at, envelope.event)
        case TasksReplaced(tasks=tasks):
            todos = [(task.content, task.status, task.active_form) for task in tasks]
            into.tasks[session_id] = _tasks(session_id, todos, at.at)
        case Advised():
            usage, advice = envelope.event.usage, envelope.event
            at.usage(f"advice-{at.seq}", advice.model, usage, advice.cost, advice.api_ms)
        case RunDone():
            at.row("turn", envelope.event)
        case (
            Noted()
            | HookRan()
            | Pruned()
            | ModeChanged()
            | ModelChanged()
            | PermissionsChanged()
            | InterruptAsked()
            | WorkerStarted()
            | WorkerExited()
            | BackgroundStarted()
            | BackgroundEnded()
        ):
            at.row("notice", envelope.event)
        case ArtifactMade():
            _artifact(at, envelope.event)
        case Raw(data=data):
            _raw(at, data)
        case SessionStarted() | Configured() | SessionChanged() | TurnStarted() | InputQueued() | InputDropped():
            pass  # they show in the session's own row
    into.sessions[session_id] = _session(entry, into.sessions.get(session_id))


def _message_done(at: "_Place", id: str, event: MessageDone) -> None:
    cost = finite(event.cost)
    if event.broken != "lost":
        at.message(id, "assistant", model=event.model, stop=event.stop, usage=as_json(event.usage), cost=cost)
    at.usage(id or f"message-{at.seq}", event.model, event.usage, event.cost, event.api_ms)


def _tool_done(at: "_Place", event: ToolDone) -> None:
    at.result(
        event.reply,
        name=event.name or None,
        display=shortened_json(event.display)[0] if event.display is not None else None,
        denied=event.denied,
        interrupted=event.interrupted,
        duration_ms=whole(event.duration_ms),
    )


def _interaction(at: "_Place", event: InteractionOpened | InteractionClosed) -> None:
    row: Row = dict.fromkeys(INTERACTION)
    row.update(session_id=at.session_id, id=identity(event.id))
    if isinstance(event, InteractionOpened):
        row.update(
            kind=event.kind,
            call_id=clean(event.call.id),
            tool=clean(event.call.name),
            input=shortened_json(event.call.input)[0],
            input_sha256=_hash(event.call),
            agent=clean(at.envelope.agent),
            reason=clean(event.reason),
            description=clean(event.description),
            opened_seq=at.seq,
            opened_at=at.at,
        )
    else:
        changed = None if event.input is None else shortened_json(event.input)[0]
        row.update(outcome=event.outcome, by=clean(event.by), message=clean(event.message), changed_input=changed)
        row.update(closed_seq=at.seq, closed_at=at.at)
    at.into.interactions.append(row)


def _hash(call: ToolCall) -> str:
    try:
        return input_hash(call)
    except (UnicodeEncodeError, RecursionError, TypeError):
        return ""


def _artifact(at: "_Place", event: ArtifactMade) -> None:
    id = identity(event.id)
    text = clean(event.text)
    at.row("artifact", {"id": id, "kind": event.kind, "title": event.title[:200]})
    at.document("artifact", id, f"{event.title}\n{event.text}")
    row = {"session_id": at.session_id, "id": id, "seq": at.seq, "at": at.at, "kind": event.kind, "text": text}
    at.into.artifacts.append({**row, "title": clean(event.title), "call_id": clean(event.call_id)})


def _raw(at: "_Place", data: dict[str, Any]) -> None:
    """What we have no word for is a row of its own (S000-13); a list of tasks with a strange status is still one."""
    if data.get("type") == "system" and data.get("subtype") == "init":
        row = {"session_id": at.session_id, "seq": at.seq, "at": at.at, "data": clean(shortened_json(data)[0])}
        at.into.surroundings.append(row)
        return
    todos = data.get("tasks")
    if data.get("type") == "tasks_replaced" and isinstance(todos, list):
        given = [task for task in todos if isinstance(task, dict) and isinstance(task.get("content"), str)]
        read = [(task["content"], task.get("status"), task.get("active_form")) for task in given]
        at.into.tasks[at.session_id] = _tasks(at.session_id, read, at.at)
        return
    at.row("raw", data)


def _tasks(session_id: str, todos: list[tuple[str, Any, Any]], at: float) -> list[Row]:
    """S002-4..6: an index of the list is part of the key, an unknown status is `pending`."""
    return [
        {
            "id": f"sdk-{session_id}-{place}",
            "session_id": session_id,
            "source": "sdk",
            "title": clean(title),
            "status": status if status in STATUSES else "pending",
            "description": clean(description) if isinstance(description, str) else "",
            "sort_order": place,
            "updated_at": at,
            "by": "",
        }
        for place, (title, status, description) in enumerate(todos[:MOST_TASKS])
    ]


def _session(entry: LogEntry, earlier: Row | None) -> Row:
    """The session's row holds its view raw: it is encoded once for a whole batch, see `finished`."""
    event, seq = entry.envelope.event, whole(entry.envelope.seq)
    row = earlier or {"turn_seq": None, "over_seq": None}
    if isinstance(event, TurnStarted):
        row["turn_seq"] = seq
    if isinstance(event, RunDone):
        row["over_seq"] = seq
    row["entry"] = clean(entry.envelope.id)
    row["seq"] = seq
    row["view"] = entry.view
    return row


class _Place:
    """Where an entry stands, and the ways it adds rows."""

    def __init__(self, session_id: str, envelope: Envelope, into: RowChanges) -> None:
        self.session_id = session_id
        self.envelope = envelope
        self.into = into
        self.seq = whole(envelope.seq)
        self.at = finite(envelope.at)

    def message(self, id: str, kind: str, origin: str = "", data: str | None = None, **known: Any) -> None:
        row: Row = {"session_id": self.session_id, "id": identity(id), "seq": self.seq, "changed": self.seq}
        row.update(kind=kind, at=self.at, origin=clean(origin), agent=clean(self.envelope.agent), data=data)
        row.update(parent_call=clean(self.envelope.parent_call), model=None, stop=None, usage=None, cost=None)
        row.update(known)
        if row["model"] is not None:
            row["model"] = clean(row["model"])
        self.into.messages.append(row)

    def row(self, kind: str, said: Any) -> None:
        """A row of the transcript that is no part of the talk: known by the entry that made it."""
        self.message(f"entry-{self.seq}", kind, data=shortened_json(said)[0])

    def part(self, message_id: str, place: int, block: Block, *, partial: bool = False) -> None:
        kind, text, length, call_id, media_type = "text", "", 0, None, None
        match block:
            case Text(text=said):
                text, length = clean(said), len(said)
            case Thinking(text=said):
                kind, text, length = "thinking", clean(said), len(said)
            case Image(media_type=media, data=encoded):
                kind, media_type, length = "image", clean(media), len(encoded) * 3 // 4
            case ToolCall(id=id):
                kind, call_id = "tool_call", identity(id)
                self._called(message_id, block)
            case ToolReply(call_id=id):
                kind, call_id = "tool_reply", identity(id)
                self.result(block)
        row: Row = {"session_id": self.session_id, "message_id": identity(message_id), "place": whole(place)}
        row.update(seq=self.seq, kind=kind, text=text, length=length, call_id=call_id, media_type=media_type)
        self.into.parts.append({**row, "partial": partial})
        if text:
            self.document(kind, f"{row['message_id']}/{row['place']}", text)

    def _called(self, message_id: str, call: ToolCall) -> None:
        text, length = shortened_json(call.input if not call.malformed else call.malformed)
        self.call(
            call.id,
            message_id=identity(message_id),
            name=clean(call.name),
            input=text,
            input_length=length,
            agent=clean(self.envelope.agent),
            parent_call=clean(self.envelope.parent_call),
            called_seq=self.seq,
            called_at=self.at,
            day=day(self.at),
        )
        self.document("call", identity(call.id), f"{call.name}\n{leaves(call.input)}\n{call.malformed}")

    def result(self, reply: ToolReply, **known: Any) -> None:
        """A result of a call. More than one may come, and before the call itself; the last one counts."""
        output = reply.text
        self.call(
            reply.call_id,
            result_seq=self.seq,
            result_at=self.at,
            day=day(self.at),
            output=both_ends(output),
            output_length=len(output),
            is_error=reply.is_error,
            rev=1,
            **known,
        )
        self.document("result", identity(reply.call_id), output)

    def call(self, call_id: str, **known: Any) -> None:
        row: Row = dict.fromkeys(CALL)
        row.update(session_id=self.session_id, call_id=identity(call_id), rev=0)
        row.update(known)
        if row["name"] is not None:
            row["name"] = identity(row["name"])
        self.into.calls.append(row)

    def usage(self, id: str, model: str, usage: Usage, cost: float, api_ms: int) -> None:
        row: Row = {"session_id": self.session_id, "id": identity(id), "seq": self.seq, "at": self.at}
        row.update(day=day(self.at), model=clean(model), agent=clean(self.envelope.agent))
        row.update(input=whole(usage.input), output=whole(usage.output), cost=finite(cost), api_ms=whole(api_ms))
        row.update(cache_read=whole(usage.cache_read), cache_write=whole(usage.cache_write))
        self.into.usage.append(row)

    def document(self, kind: str, ref: str, text: str) -> None:
        row: Row = {"session_id": self.session_id, "kind": kind, "ref": ref, "seq": self.seq, "at": self.at}
        self.into.documents.append({**row, "words": plain_words(clean(text))})


def day(at: float) -> str:
    """The day of a moment in UTC, as in ISO 8601."""
    try:
        return datetime.fromtimestamp(at, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return "1970-01-01"


def project_of(view: SessionView) -> str:
    """The directory a session belongs to in lists."""
    return identity(view.config.project or view.cwd, LONGEST_DIRECTORY)
