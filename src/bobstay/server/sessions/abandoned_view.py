"""A session as it stands once nobody is known to run it: one whose process is gone cannot be running."""

import fcntl
import os

from msgspec.structs import replace

from bobstay.server.sessions.session_status import BUSY
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.log_store import LogStore


def as_seen(store: LogStore, view: SessionView) -> SessionView:
    """A session another process writes is shown as it is; one that nobody writes any more cannot be running."""
    elsewhere = view.status in BUSY and is_written(store.path(view.id))
    view = replace(view, elsewhere=elsewhere)
    if elsewhere or view.status not in BUSY or is_ours(view):
        return view
    # What it asked is asked again by whoever goes on with it; until then nobody waits for an answer.
    return replace(view, status="interrupted", error="The process that ran it is gone.", interactions=())


def is_ours(view: SessionView) -> bool:
    """Whether a console ran it: only consoles have workers."""
    return bool(view.workers) or view.status == "starting"


def is_written(path: str) -> bool:
    """Whether some process holds the log open for writing. If that cannot be told, it counts as written."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
