"""Removes old sessions of a server, where the user's settings say after how many days."""

import asyncio
import logging
import threading

from bobstay.config.sources import BrokenSettings, load
from bobstay.server.console import Console
from bobstay.server.deletion import forget
from bobstay.server.sessions.status import BUSY
from bobstay.server.sessions.view import SessionView
from bobstay.sessions.cleanup import remove_older_than

log = logging.getLogger(__name__)


async def clean_up(console: Console) -> list[str]:
    """Remove sessions that were not used for `cleanupPeriodDays`; without that setting, nothing. Returns their ids.

    Sessions that are packed away or in the trash stay: their logs are elsewhere.
    """
    paths = console.environment.paths
    try:
        days = load(paths.home, paths, setting_sources=("user",)).settings.cleanup_period_days
    except BrokenSettings as error:
        log.warning("no old sessions are removed, as the settings cannot be read: %s", error)
        return []
    if days is None:
        return []
    spare = frozenset(view.id for view in console.registry.views.values() if _is_live(console, view))
    stop = threading.Event()
    try:
        removed = await asyncio.to_thread(remove_older_than, paths.bobstay, days, spare, stop.is_set)
    finally:
        stop.set()  # a server that ends does not wait for the rest
    for session_id in removed:
        await forget(console, session_id)
        console.database.audit.record("retention", "session.removed", {"days": days}, session_id)
    if removed:
        log.warning("%d sessions were removed: not used for %d days (cleanupPeriodDays)", len(removed), days)
    return removed


def _is_live(console: Console, view: SessionView) -> bool:
    if view.status in BUSY or view.queued or view.stored or console.runner.worker(view.id) is not None:
        return True
    return console.registry.opened(view.id) is not None or console.crew.works_in(view.id)
