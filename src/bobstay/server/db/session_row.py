"""The row of a session: its whole view, and the columns that lists are filtered and sorted by."""

import msgspec
from msgspec import UnsetType
from msgspec.structs import replace

from bobstay.server.db.projection import project_of
from bobstay.server.db.row_changes import Row
from bobstay.server.db.search_terms import searchable_text
from bobstay.server.db.storable_values import as_json, clamp_integer, clean, finite
from bobstay.server.sessions.session_view import SessionView

_decoder = msgspec.json.Decoder(SessionView)


def complete_row(session_id: str, row: Row) -> Row:
    """The row of a session with all columns filled from its view."""
    view: SessionView = row["view"]
    return {
        "id": session_id,
        "title": clean(view.title),
        "cwd": clean(view.cwd),
        "project": project_of(view),
        "status": view.status,
        "activity": view.activity,
        "engine": clean(view.config.engine),
        "workflow": view.config.workflow,
        "model": clean(view.model),
        "parent": clean(view.parent),
        "created_at": finite(view.created_at),
        "updated_at": finite(view.updated_at),
        "ended_at": finite(view.ended_at),
        "archived": view.archived,
        "pinned": view.pinned,
        "waiting": len(view.interactions),
        "turns": clamp_integer(view.turns),
        "cost": finite(view.cost),
        "context": clamp_integer(view.context),
        "context_limit": clamp_integer(view.context_limit),
        "seq": row["seq"],
        "entry": row["entry"],
        "turn_seq": row["turn_seq"],
        "over_seq": row["over_seq"],
        "in_turn": view.status_fold.in_turn,
        "log_size": row.get("log_size"),
        "stored": row.get("stored", False),
        "view": as_json(replace(view, elsewhere=False, stored=False)),
    }


def title_document(session_id: str, row: Row) -> Row:
    """The search document of the session itself."""
    view: SessionView = row["view"]
    words = searchable_text(clean(f"{view.title}\n{view.first_prompt}"))
    at = finite(view.created_at)
    return {"session_id": session_id, "kind": "title", "ref": "", "seq": 1, "at": at, "words": words}


def read_view(text: str) -> SessionView | None:
    """The view stored in a row; None if it cannot be decoded or lacks its memory, so that the log must be folded."""
    try:
        view = _decoder.decode(text)
    except (msgspec.DecodeError, ValueError):
        return None
    return None if isinstance(view.memory, UnsetType) else view
