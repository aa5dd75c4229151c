"""Projection of log entries to table rows. Pure: the same entries give the same rows, live or from the log."""

from datetime import UTC, datetime
from typing import Any

from bobstay.engine.reminders import REPEATED
from bobstay.model.agent_events import AgentEnded, AgentStarted
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
    Task,
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
from bobstay.server.db.search_terms import searchable_text
from bobstay.server.db.storable_values import (
    LONGEST_DIRECTORY,
    as_json,
    bounded_id,
    clamp_integer,
    clean,
    collect_strings,
    elide_middle,
    finite,
    shorten_json,
)
from bobstay.server.sessions.open_interactions import input_hash
from bobstay.server.sessions.session_view import SessionView

VERSION = 5
"""To be raised when the same log gives other rows: projections of another version are rebuilt."""
STATUSES = ("pending", "in_progress", "completed")
MOST_TASKS = 1_000
CALL = tuple(column.name for column in tool_calls.c if not column.primary_key and column.name != "rev")
INTERACTION = tuple(column.name for column in interactions.c if not column.primary_key)


def project(entry: LogEntry, into: RowChanges) -> None:
    """Add the row changes of `entry` to `into`."""
    session_id, envelope = entry.session_id, entry.envelope
    rows = _EntryRows(session_id, envelope, into)
    match envelope.event:
        case Prompted(id=id, blocks=blocks, origin=origin):
            kind = "user" if origin == "human" else "harness"
            rows.message(id, kind, origin=origin if origin == "human" else f"{origin}:{envelope.event.why}")
            searchable = envelope.event.why not in REPEATED
            for index, block in enumerate(blocks):
                rows.part(id, index, block, searchable=searchable)
        case BlockDone(message_id=id, index=index, block=block):
            rows.message(id, "assistant", model=envelope.event.model or None)
            rows.part(id, index, block, partial=envelope.event.partial)
        case MessageDone(message_id=id):
            _message_done(rows, id, envelope.event)
        case ToolStarted():
            rows.call(envelope.event.call_id, name=envelope.event.name, started_seq=rows.seq, started_at=rows.at)
        case ToolDone():
            _tool_done(rows, envelope.event)
        case InteractionOpened() | InteractionClosed():
            _interaction(rows, envelope.event)
        case TasksReplaced(tasks=tasks):
            _replace_tasks(rows, tasks)
        case Advised() | HookRan():
            _beside_conversation(rows, envelope.event)
        case RunDone():
            rows.row("turn", envelope.event)
        case (
            Noted()
            | Pruned()
            | ModeChanged()
            | ModelChanged()
            | PermissionsChanged()
            | InterruptAsked()
            | WorkerStarted()
            | WorkerExited()
            | BackgroundStarted()
            | BackgroundEnded()
            | AgentStarted()
            | AgentEnded()
        ):
            rows.row("notice", envelope.event)
        case ArtifactMade():
            _artifact(rows, envelope.event)
        case Raw(data=data):
            _raw(rows, data)
        case SessionStarted() | Configured() | SessionChanged() | TurnStarted() | InputQueued() | InputDropped():
            pass  # they only change the row of the session
    into.sessions[session_id] = _session(entry, into.sessions.get(session_id))


def _replace_tasks(rows: "_EntryRows", tasks: tuple[Task, ...]) -> None:
    if not rows.envelope.parent_call:  # the list of a sub-agent is its own
        todos = [(task.content, task.status, task.active_form) for task in tasks]
        rows.into.tasks[rows.session_id] = _tasks(rows.session_id, todos, rows.at)


def _beside_conversation(rows: "_EntryRows", event: Advised | HookRan) -> None:
    """Add what an advisor or hooks spent on requests of their own."""
    if isinstance(event, Advised):
        rows.usage(f"advice-{rows.seq}", event.model, event.usage, event.cost, event.api_ms)
        return
    for number, made in enumerate(event.spent):
        rows.usage(f"hook-{rows.seq}-{number}", made.model, made.usage, made.cost, made.api_ms)
    rows.row("notice", event)


def _message_done(rows: "_EntryRows", id: str, event: MessageDone) -> None:
    cost = finite(event.cost)
    if event.broken != "lost":
        rows.message(id, "assistant", model=event.model, stop=event.stop, usage=as_json(event.usage), cost=cost)
    rows.usage(id or f"message-{rows.seq}", event.model, event.usage, event.cost, event.api_ms)


def _tool_done(rows: "_EntryRows", event: ToolDone) -> None:
    rows.result(
        event.reply,
        name=event.name or None,
        display=shorten_json(event.display)[0] if event.display is not None else None,
        denied=event.denied,
        interrupted=event.interrupted,
        duration_ms=clamp_integer(event.duration_ms),
    )


def _interaction(rows: "_EntryRows", event: InteractionOpened | InteractionClosed) -> None:
    row: Row = dict.fromkeys(INTERACTION)
    row.update(session_id=rows.session_id, id=bounded_id(event.id))
    if isinstance(event, InteractionOpened):
        row.update(
            kind=event.kind,
            call_id=clean(event.call.id),
            tool=clean(event.call.name),
            input=shorten_json(event.call.input)[0],
            input_sha256=_hash(event.call),
            agent=clean(rows.envelope.agent),
            reason=clean(event.reason),
            description=clean(event.description),
            opened_seq=rows.seq,
            opened_at=rows.at,
        )
    else:
        changed = None if event.input is None else shorten_json(event.input)[0]
        row.update(outcome=event.outcome, by=clean(event.by), message=clean(event.message), changed_input=changed)
        row.update(closed_seq=rows.seq, closed_at=rows.at)
    rows.into.interactions.append(row)


def _hash(call: ToolCall) -> str:
    try:
        return input_hash(call)
    except (UnicodeEncodeError, RecursionError, TypeError):
        return ""


def _artifact(rows: "_EntryRows", event: ArtifactMade) -> None:
    id = bounded_id(event.id)
    text = clean(event.text)
    rows.row("artifact", {"id": id, "kind": event.kind, "title": event.title[:200]})
    rows.document("artifact", id, f"{event.title}\n{event.text}")
    row = {"session_id": rows.session_id, "id": id, "seq": rows.seq, "at": rows.at, "kind": event.kind, "text": text}
    rows.into.artifacts.append({**row, "title": clean(event.title), "call_id": clean(event.call_id)})


def _raw(rows: "_EntryRows", data: dict[str, Any]) -> None:
    """An unknown event gets a row of its own; a list of tasks with an unknown status is still a list of tasks."""
    if data.get("type") == "system" and data.get("subtype") == "init":
        row = {"session_id": rows.session_id, "seq": rows.seq, "at": rows.at, "data": clean(shorten_json(data)[0])}
        rows.into.inventories.append(row)
        return
    todos = data.get("tasks")
    if data.get("type") == "tasks_replaced" and isinstance(todos, list):
        given = [task for task in todos if isinstance(task, dict) and isinstance(task.get("content"), str)]
        read = [(task["content"], task.get("status"), task.get("active_form")) for task in given]
        rows.into.tasks[rows.session_id] = _tasks(rows.session_id, read, rows.at)
        return
    rows.row("raw", data)


def _tasks(session_id: str, todos: list[tuple[str, Any, Any]], at: float) -> list[Row]:
    """The position in the list is part of the key; an unknown status is `pending`."""
    return [
        {
            "id": f"sdk-{session_id}-{index}",
            "session_id": session_id,
            "source": "sdk",
            "title": clean(title),
            "status": status if status in STATUSES else "pending",
            "description": clean(description) if isinstance(description, str) else "",
            "sort_order": index,
            "updated_at": at,
            "by": "",
        }
        for index, (title, status, description) in enumerate(todos[:MOST_TASKS])
    ]


def _session(entry: LogEntry, earlier: Row | None) -> Row:
    """The session's row holds its view unencoded: it is encoded once per batch, see `complete_row`."""
    event, seq = entry.envelope.event, clamp_integer(entry.envelope.seq)
    row = earlier or {"turn_seq": None, "over_seq": None}
    if isinstance(event, TurnStarted):
        row["turn_seq"] = seq
    if isinstance(event, RunDone):
        row["over_seq"] = seq
    row["entry"] = clean(entry.envelope.id)
    row["seq"] = seq
    row["view"] = entry.view
    return row


class _EntryRows:
    """Adds the rows of one entry to the changes."""

    def __init__(self, session_id: str, envelope: Envelope, into: RowChanges) -> None:
        self.session_id = session_id
        self.envelope = envelope
        self.into = into
        self.seq = clamp_integer(envelope.seq)
        self.at = finite(envelope.at)

    def message(self, id: str, kind: str, origin: str = "", data: str | None = None, **known: Any) -> None:
        row: Row = {"session_id": self.session_id, "id": bounded_id(id), "seq": self.seq, "changed": self.seq}
        row.update(kind=kind, at=self.at, origin=clean(origin), agent=clean(self.envelope.agent), data=data)
        row.update(parent_call=clean(self.envelope.parent_call), model=None, stop=None, usage=None, cost=None)
        row.update(known)
        if row["model"] is not None:
            row["model"] = clean(row["model"])
        self.into.messages.append(row)

    def row(self, kind: str, data: Any) -> None:
        """A row of the transcript that is not a message: identified by its entry."""
        self.message(f"entry-{self.seq}", kind, data=shorten_json(data)[0])

    def part(
        self, message_id: str, index: int, block: Block, *, partial: bool = False, searchable: bool = True
    ) -> None:
        kind, text, length, call_id, media_type = "text", "", 0, None, None
        match block:
            case Text(text=original):
                text, length = clean(original), len(original)
            case Thinking(text=original):
                kind, text, length = "thinking", clean(original), len(original)
            case Image(media_type=media, data=encoded):
                kind, media_type, length = "image", clean(media), len(encoded) * 3 // 4
            case ToolCall(id=id):
                kind, call_id = "tool_call", bounded_id(id)
                self._called(message_id, block)
            case ToolReply(call_id=id):
                kind, call_id = "tool_reply", bounded_id(id)
                self.result(block)
        row: Row = {"session_id": self.session_id, "message_id": bounded_id(message_id), "place": clamp_integer(index)}
        row.update(seq=self.seq, kind=kind, text=text, length=length, call_id=call_id, media_type=media_type)
        self.into.parts.append({**row, "partial": partial})
        if text and searchable:
            self.document(kind, f"{row['message_id']}/{row['place']}", text)

    def _called(self, message_id: str, call: ToolCall) -> None:
        text, length = shorten_json(call.input if not call.malformed else call.malformed)
        self.call(
            call.id,
            message_id=bounded_id(message_id),
            name=clean(call.name),
            input=text,
            input_length=length,
            agent=clean(self.envelope.agent),
            parent_call=clean(self.envelope.parent_call),
            called_seq=self.seq,
            called_at=self.at,
            day=day(self.at),
        )
        self.document("call", bounded_id(call.id), f"{call.name}\n{collect_strings(call.input)}\n{call.malformed}")

    def result(self, reply: ToolReply, **known: Any) -> None:
        """A result of a call. There may be more than one, even before the call itself; the last one counts."""
        output = reply.text
        self.call(
            reply.call_id,
            result_seq=self.seq,
            result_at=self.at,
            day=day(self.at),
            output=elide_middle(output),
            output_length=len(output),
            is_error=reply.is_error,
            rev=1,
            **known,
        )
        self.document("result", bounded_id(reply.call_id), output)

    def call(self, call_id: str, **known: Any) -> None:
        row: Row = dict.fromkeys(CALL)
        row.update(session_id=self.session_id, call_id=bounded_id(call_id), rev=0)
        row.update(known)
        if row["name"] is not None:
            row["name"] = bounded_id(row["name"])
        self.into.calls.append(row)

    def usage(self, id: str, model: str, usage: Usage, cost: float, api_ms: int) -> None:
        row: Row = {"session_id": self.session_id, "id": bounded_id(id), "seq": self.seq, "at": self.at}
        row.update(day=day(self.at), model=clean(model), agent=clean(self.envelope.agent))
        row.update(input=clamp_integer(usage.input), output=clamp_integer(usage.output))
        row.update(cost=finite(cost), api_ms=clamp_integer(api_ms))
        row.update(cache_read=clamp_integer(usage.cache_read), cache_write=clamp_integer(usage.cache_write))
        self.into.usage.append(row)

    def document(self, kind: str, ref: str, text: str) -> None:
        row: Row = {"session_id": self.session_id, "kind": kind, "ref": ref, "seq": self.seq, "at": self.at}
        self.into.documents.append({**row, "words": searchable_text(clean(text))})


def day(at: float) -> str:
    """The day of a moment in UTC, as in ISO 8601."""
    try:
        return datetime.fromtimestamp(at, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return "1970-01-01"


def project_of(view: SessionView) -> str:
    """The directory a session belongs to in lists."""
    return bounded_id(view.config.project or view.cwd, LONGEST_DIRECTORY)
