"""Imports turns that a person had with an engine in a terminal, from its transcript into the session's log."""

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bobstay.config.paths import Paths
from bobstay.engine.event_redaction import redact_event
from bobstay.model.agent_events import AgentEvent
from bobstay.model.background_events import BackgroundEvent
from bobstay.model.event import (
    BlockDone,
    Durable,
    InputDropped,
    InputQueued,
    InteractionEvent,
    MessageDone,
    Noted,
    NoticeEvent,
    Prompted,
    Pruned,
    RunDone,
    SettingsEvent,
    ToolEvent,
    TurnStarted,
)
from bobstay.model.session_events import SessionEvent, WorkerEvent, WorkerExited, WorkerStarted
from bobstay.redaction.redactor import Redactor
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.claude_import import ImportedEvent, find_transcript, read_entries
from bobstay.sessions.log import LogError

SLACK = 1.0
"""Seconds by which the engine's clock may differ from ours."""


class _Span(Struct):
    """The time a terminal was open."""

    began: float
    ended: float = math.inf


class _Known(Struct):
    """The content of a session's log, as far as needed to find missing turns."""

    ids: set[str] = set()
    """Ids of entries."""
    sent: set[str] = set()
    """Prompts sent from the console."""
    brought: set[str] = set()
    """Prompts imported from a terminal: only those have the same id as their entries."""
    terminals: dict[str, dict[str, _Span]] = {}
    """By conversation of the engine and id of the terminal."""


def was_in_terminal(view: SessionView, since: float = 0.0) -> bool:
    """Whether this session was resumed in a terminal that started or ended after `since`."""
    return any(one.kind == "terminal" and one.engine_session and one.at > since for one in view.workers)


async def import_terminal_turns(
    session: OpenSession, paths: Paths, redactor: Redactor, is_hindered: Callable[[], bool] = lambda: False
) -> int:
    """Append the turns of terminals to the log. Returns the number of new entries; idempotent.

    While `is_hindered`, nothing is imported: that would end a running turn.

    Raises:
        LogError: the log cannot be written.
    """
    if not was_in_terminal(session.view):
        return 0
    while not is_hindered():
        seq = session.seq
        found = await asyncio.to_thread(_find_missing, session, paths)
        if session.seq == seq:  # else the log has changed, and may contain them already
            return _store(session, found, redactor)
    return 0


def _store(session: OpenSession, found: Sequence[ImportedEvent], redactor: Redactor) -> int:
    for entry in found:
        try:
            session.append(redact_event(_renumber(entry.event, session.view), redactor), id=entry.id)
        except (LogError, RecursionError) as error:
            if isinstance(error, LogError) and error.errno is not None:
                raise
            text = "A message from the terminal cannot be stored: its data is nested too deeply."
            session.append(Noted(text, "error"), id=entry.id)
    if found:
        session.sync()
    return len(found)


def _find_missing(session: OpenSession, paths: Paths) -> list[ImportedEvent]:
    """The events in the engine's transcripts that the log lacks, of turns that began in a terminal."""
    known = _known(session)
    found: list[ImportedEvent] = []
    for conversation, terminals in known.terminals.items():
        path = find_transcript(paths.claude, session.view.cwd, conversation)
        turns = _turns(read_entries(path)) if path is not None else []
        for turn in turns:
            found += _missing(turn, known, terminals.values(), last=turn is turns[-1])
    return found


def _known(session: OpenSession) -> _Known:
    known = _Known()
    for envelope in session.read():
        known.ids.add(envelope.id)
        match envelope.event:
            case WorkerStarted(worker=worker, kind="terminal", engine_session=conversation) if conversation:
                known.terminals.setdefault(conversation, {})[worker] = _Span(envelope.at - SLACK)
            case WorkerExited(worker=worker, kind="terminal"):
                for terminals in known.terminals.values():
                    if worker in terminals:
                        terminals[worker].ended = envelope.at + SLACK
            case Prompted(id=id):
                (known.brought if id == envelope.id else known.sent).add(id)
            case InteractionEvent() | ToolEvent() | SettingsEvent() | SessionEvent():
                continue
            case WorkerEvent() | BackgroundEvent() | AgentEvent() | NoticeEvent():
                continue
            case InputQueued() | InputDropped() | TurnStarted() | BlockDone():
                continue
            case MessageDone() | Pruned() | RunDone():
                continue
    return known


def _turns(events: Iterable[ImportedEvent]) -> list[list[ImportedEvent]]:
    """The turns of a transcript, each with the prompt that began it."""
    turns: list[list[ImportedEvent]] = [[]]
    for entry in events:
        if isinstance(entry.event, TurnStarted):
            turns.append([turns[-1].pop(), entry])
        else:
            turns[-1].append(entry)
    return turns[1:]


def _missing(
    turn: list[ImportedEvent], known: _Known, terminals: Iterable[_Span], *, last: bool
) -> list[ImportedEvent]:
    """The events of a turn that the log lacks: all, or the rest if an import was interrupted."""
    prompt = turn[0]
    new = [entry for entry in turn if entry.id not in known.ids]
    if prompt.id in known.brought:
        return new
    if prompt.id in known.sent or len(new) < len(turn):
        return []  # it ran in the console
    spans = [span for span in terminals if span.began <= prompt.at <= span.ended]
    under_way = last and math.inf in (span.ended for span in spans) and not _is_complete(turn)
    return new if spans and not under_way else []


def _is_complete(turn: list[ImportedEvent]) -> bool:
    return any(isinstance(entry.event, RunDone) and entry.event.ending == "completed" for entry in turn)


def _renumber(event: Durable, view: SessionView) -> Durable:
    """Number turns as in the log, and keep the session's permission mode instead of the terminal's."""
    if not isinstance(event, TurnStarted):
        return event
    return replace(event, turn=view.turns + 1, mode=view.permission_mode)
