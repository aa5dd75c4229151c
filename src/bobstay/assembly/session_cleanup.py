"""Session cleanup: removes sessions older than the configured number of days while a run is in progress."""

import asyncio
import threading

from bobstay.assembly.session import AgentSession
from bobstay.assembly.start_context import StartContext
from bobstay.sessions.expiry import remove_older_than

MAX_WAIT = 5.0
"""Seconds the end of a run waits for the cleanup. The next run continues it."""


def start_cleanup(session: AgentSession, start: StartContext, days: int) -> None:
    """Start removing sessions older than `days`. Closing the session waits for it and adds a notice to its warnings."""
    stop = threading.Event()
    keep = frozenset((start.session_id, start.options.resume or ""))
    home = start.environment.paths.bobstay
    removing = asyncio.create_task(asyncio.to_thread(remove_older_than, home, days, keep, stop.is_set))

    async def finish() -> None:
        await asyncio.wait([removing], timeout=MAX_WAIT)
        stop.set()
        removed = await removing
        if removed:
            session.warnings.append(removed_notice(len(removed), days))

    session.on_close(finish)


def removed_notice(count: int, days: int) -> str:
    sessions = "1 session was" if count == 1 else f"{count} sessions were"
    return f"{sessions} removed: not used for {days} days (cleanupPeriodDays in the settings)."
