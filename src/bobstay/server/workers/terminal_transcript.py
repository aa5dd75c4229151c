"""What was said to an engine in its own terminal: read from its transcript into the log of the session."""

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bobstay.config.paths import Paths
from bobstay.engine.event_redaction import conceal
from bobstay.model.event import Durable, Noted, Prompted, RunDone, TurnStarted
from bobstay.model.session_events import WorkerExited, WorkerStarted
from bobstay.redaction.redactor import Redactor
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.claude_import import Imported, entries, find
from bobstay.sessions.log import LogError

SLACK = 1.0
"""Seconds by which the engine's clock may differ from ours."""


class _Span(Struct):
    """How long a terminal was open."""

    began: float
    ended: float = math.inf


class _Known(Struct):
    """What the log of a session has."""

    ids: set[str] = set()
    """Of entries."""
    sent: set[str] = set()
    """Prompts that came from here."""
    brought: set[str] = set()
    """Prompts that came from a terminal: only those have the same id as their entries."""
    terminals: dict[str, dict[str, _Span]] = {}
    """By talk of the engine and id of the terminal."""


def was_in_terminal(view: SessionView, since: float = 0.0) -> bool:
    """Whether the talk of this session was gone on with in a terminal, and that began or ended after `since`."""
    return any(one.kind == "terminal" and one.engine_session and one.at > since for one in view.workers)


async def bring_back(
    session: OpenSession, paths: Paths, mask: Redactor, is_hindered: Callable[[], bool] = lambda: False
) -> int:
    """Put what was said in terminals behind what the log has. Returns how many entries came; twice adds nothing.

    While `is_hindered`, nothing comes: it would end a turn that is under way.

    Raises:
        LogError: nothing can be stored.
    """
    if not was_in_terminal(session.view):
        return 0
    while not is_hindered():
        seq = session.seq
        found = await asyncio.to_thread(_said, session, paths)
        if session.seq == seq:  # else somebody wrote meanwhile, and may have done the same
            return _stored(session, found, mask)
    return 0


def _stored(session: OpenSession, found: Sequence[Imported], mask: Redactor) -> int:
    for entry in found:
        try:
            session.append(conceal(_numbered(entry.event, session.view), mask), id=entry.id)
        except (LogError, RecursionError) as error:
            if isinstance(error, LogError) and error.errno is not None:
                raise
            text = "Something that was said in the terminal cannot be kept: its data is nested too deeply."
            session.append(Noted(text, "error"), id=entry.id)
    if found:
        session.sync()
    return len(found)


def _said(session: OpenSession, paths: Paths) -> list[Imported]:
    """What the engine's transcripts have beyond the log, of turns that began in a terminal."""
    known = _known(session)
    found: list[Imported] = []
    for talk, terminals in known.terminals.items():
        path = find(paths.claude, session.view.cwd, talk)
        turns = _turns(entries(path)) if path is not None else []
        for turn in turns:
            found += _missing(turn, known, terminals.values(), last=turn is turns[-1])
    return found


def _known(session: OpenSession) -> _Known:
    known = _Known()
    for envelope in session.read():
        known.ids.add(envelope.id)
        match envelope.event:
            case WorkerStarted(worker=worker, kind="terminal", engine_session=talk) if talk:
                known.terminals.setdefault(talk, {})[worker] = _Span(envelope.at - SLACK)
            case WorkerExited(worker=worker, kind="terminal"):
                for terminals in known.terminals.values():
                    if worker in terminals:
                        terminals[worker].ended = envelope.at + SLACK
            case Prompted(id=id):
                (known.brought if id == envelope.id else known.sent).add(id)
            case _:
                continue
    return known


def _turns(told: Iterable[Imported]) -> list[list[Imported]]:
    """The turns of a transcript, each with the prompt that began it."""
    turns: list[list[Imported]] = [[]]
    for entry in told:
        if isinstance(entry.event, TurnStarted):
            turns.append([turns[-1].pop(), entry])
        else:
            turns[-1].append(entry)
    return turns[1:]


def _missing(turn: list[Imported], known: _Known, terminals: Iterable[_Span], *, last: bool) -> list[Imported]:
    """What the log lacks of a turn. Of one that was cut off while it was brought, that is the rest."""
    prompt = turn[0]
    new = [entry for entry in turn if entry.id not in known.ids]
    if prompt.id in known.brought:
        return new
    if prompt.id in known.sent or len(new) < len(turn):
        return []  # it was worked on here
    spans = [span for span in terminals if span.began <= prompt.at <= span.ended]
    under_way = last and math.inf in (span.ended for span in spans) and not _is_complete(turn)
    return new if spans and not under_way else []


def _is_complete(turn: list[Imported]) -> bool:
    return any(isinstance(entry.event, RunDone) and entry.event.ending == "completed" for entry in turn)


def _numbered(event: Durable, view: SessionView) -> Durable:
    """A transcript counts its turns by itself, and what was allowed in the terminal is not allowed here."""
    if not isinstance(event, TurnStarted):
        return event
    return replace(event, turn=view.turns + 1, mode=view.permission_mode)
