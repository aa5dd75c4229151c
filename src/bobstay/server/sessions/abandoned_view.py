"""Corrects the view of a session that no process runs any more: it cannot be running."""

from msgspec.structs import replace

from bobstay.server.sessions.session_status import BUSY
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.session_logs import SessionLogs


def observed_view(logs: SessionLogs, view: SessionView) -> SessionView:
    """The view of a session, marked as external if another process writes it, or as interrupted if none does."""
    elsewhere = view.status in BUSY and logs.has_writer(view.id)
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
