"""Corrects the view of a session that no process runs any more: it cannot be running."""

import os

from msgspec.structs import replace

from bobstay.server.sessions.session_status import BUSY
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.log_store import LogStore
from bobstay.system.file_lock import is_locked
from bobstay.system.safe_read import open_regular


def observed_view(store: LogStore, view: SessionView) -> SessionView:
    """The view of a session, marked as external if another process writes it, or as interrupted if none does."""
    elsewhere = view.status in BUSY and has_writer(store.path(view.id))
    view = replace(view, elsewhere=elsewhere)
    if elsewhere or view.status not in BUSY or is_run_by_console(view):
        return view
    # Its interactions are opened again when it is resumed; until then nobody waits for an answer.
    return replace(view, status="interrupted", error="The process that ran it is gone.", interactions=())


def is_external(view: SessionView) -> bool:
    """Whether another process runs it now."""
    return view.elsewhere and view.status in BUSY


def is_run_by_console(view: SessionView) -> bool:
    """Whether a console runs it: only consoles have workers."""
    return bool(view.workers) or view.status == "starting"


def has_writer(path: str) -> bool:
    """Whether a process has the log open for writing. If that cannot be determined, it counts as written."""
    try:
        fd = open_regular(path)
    except OSError:
        return False
    try:
        return is_locked(fd)
    except OSError:
        return True
    finally:
        os.close(fd)
