"""What was said to an engine in its own terminal: read from its transcript into the log of the session."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from bobstay.config.paths import Paths
from bobstay.engine.conceal import conceal
from bobstay.kit.secrets import Mask
from bobstay.model.around import WorkerStarted
from bobstay.model.event import Durable, Prompted, TurnStarted
from bobstay.server.sessions.open import OpenSession
from bobstay.server.sessions.view import SessionView
from bobstay.sessions.claude_import import Imported, entries, find

SLACK = 1.0
"""Seconds by which the engine's clock may be behind ours."""


def was_in_terminal(view: SessionView, since: float = 0.0) -> bool:
    """Whether the talk of this session was gone on with in a terminal, and that began or ended after `since`."""
    return any(one.kind == "terminal" and one.engine_session and one.at > since for one in view.workers)


async def bring_back(session: OpenSession, paths: Paths, mask: Mask) -> int:
    """Put what was said in a terminal behind what the log has. Returns how many entries came; twice adds nothing.

    Raises:
        LogError: nothing can be stored.
    """
    if not was_in_terminal(session.view):
        return 0
    while True:
        seq = session.seq
        found = await asyncio.to_thread(_said, session, paths)
        if session.seq == seq:  # else somebody wrote meanwhile, and may have done the same
            break
    for entry in found:
        session.append(_numbered(conceal(entry.event, mask), session.view), id=entry.id)
    if found:
        session.sync()
    return len(found)


def _said(session: OpenSession, paths: Paths) -> Sequence[Imported]:
    """What the engine's transcript has beyond the log, from the first prompt of the last terminal on."""
    began, talk = 0.0, ""
    known: set[str] = set()
    for envelope in session.read():
        known.add(envelope.id)
        match envelope.event:
            case WorkerStarted(kind="terminal", engine_session=id) if id:
                began, talk = envelope.at - SLACK, id
            case Prompted(id=id):
                known.add(id)
            case _:
                continue
    path = find(paths.claude, session.view.cwd, talk) if talk else None
    told = list(entries(path)) if path is not None else []
    last = max((place for place, entry in enumerate(told) if entry.id in known), default=-1)
    new = [entry for entry in told[last + 1 :] if entry.at >= began]
    first = next((place for place, entry in enumerate(new) if _is_prompt(entry.event)), len(new))
    return new[first:]


def _is_prompt(event: Durable) -> bool:
    return isinstance(event, Prompted) and event.origin == "human"


def _numbered(event: Durable, view: SessionView) -> Durable:
    """A transcript counts its turns by itself, and what was allowed in the terminal is not allowed here."""
    if not isinstance(event, TurnStarted):
        return event
    return replace(event, turn=view.turns + 1, mode=view.permission_mode)
