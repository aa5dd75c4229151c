"""Removes old sessions beside a run, where the settings say after how many days, and tells how many went."""

import asyncio
import threading

from bobstay.assembly.session import Session
from bobstay.assembly.start_context import StartContext
from bobstay.sessions.expiry import remove_older_than

MOST_WAIT = 5.0
"""Seconds the end of a run waits for it. The next run goes on where this one stopped."""


def clean_up_beside(session: Session, start: StartContext, days: int) -> None:
    """Begin to remove what is older than `days`; the session's end waits for it and adds a notice to its warnings."""
    stop = threading.Event()
    spare = frozenset((start.session_id, start.options.resume or ""))
    home = start.environment.paths.bobstay
    removing = asyncio.create_task(asyncio.to_thread(remove_older_than, home, days, spare, stop.is_set))

    async def finish() -> None:
        await asyncio.wait([removing], timeout=MOST_WAIT)
        stop.set()
        removed = await removing
        if removed:
            session.warnings.append(removed_notice(len(removed), days))

    session.on_close(finish)


def removed_notice(count: int, days: int) -> str:
    sessions = "1 session was" if count == 1 else f"{count} sessions were"
    return f"{sessions} removed: not used for {days} days (cleanupPeriodDays in the settings)."
