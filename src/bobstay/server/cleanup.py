"""Removes old sessions of a server, where the user's settings say after how many days."""

import asyncio
import logging
import threading
import time

from bobstay.config.sources import BrokenSettings, load
from bobstay.server.console import Console
from bobstay.server.deletion import discard, forget, remove_for_good
from bobstay.server.index.retention import DAY
from bobstay.server.sessions.status import BUSY
from bobstay.server.sessions.view import SessionView
from bobstay.sessions.cleanup import remove_older_than
from bobstay.sessions.log import LogError

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


async def remove_ephemeral(console: Console, before: float | None = None) -> list[str]:
    """Remove throw-away sessions that did not change since `before`, a day ago if not given. Returns their ids."""
    limit = time.time() - DAY if before is None else before
    views = [view for view in console.registry.views.values() if view.config.ephemeral and view.updated_at < limit]
    removed: list[str] = []
    for view in views:
        if view.pinned or view.elsewhere or _is_live(console, view):
            continue
        try:
            await discard(console, view.id)
            await remove_for_good(console, view.id)
        except LogError as error:
            log.warning("the ephemeral session %s cannot be removed: %s", view.id, error)
            continue
        console.database.audit.record("retention", "session.removed", {"ephemeral": True}, view.id)
        removed.append(view.id)
    if removed:
        log.info("%d ephemeral sessions were removed", len(removed))
    return removed


def _is_live(console: Console, view: SessionView) -> bool:
    if view.status in BUSY or view.queued or view.stored or console.runner.worker(view.id) is not None:
        return True
    return console.registry.opened(view.id) is not None or console.crew.works_in(view.id)
