"""A session as one row: its whole view, and the columns lists are filtered and sorted by."""

import msgspec
from msgspec import UnsetType
from msgspec.structs import replace

from bobstay.server.db.projection import project_of
from bobstay.server.db.row_changes import Row
from bobstay.server.db.search_terms import plain_words
from bobstay.server.db.storable_values import as_json, clean, finite, whole
from bobstay.server.sessions.session_view import SessionView

_decoder = msgspec.json.Decoder(SessionView)


def finished(session_id: str, row: Row) -> Row:
    """The row of a session with everything its view says in columns."""
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
        "turns": whole(view.turns),
        "cost": finite(view.cost),
        "context": whole(view.context),
        "context_limit": whole(view.context_limit),
        "seq": row["seq"],
        "entry": row["entry"],
        "turn_seq": row["turn_seq"],
        "over_seq": row["over_seq"],
        "in_turn": view.standing.in_turn,
        "log_size": row.get("log_size"),
        "stored": row.get("stored", False),
        "view": as_json(replace(view, elsewhere=False, stored=False)),
    }


def title_document(session_id: str, row: Row) -> Row:
    """What there is to search of the session itself."""
    view: SessionView = row["view"]
    words = plain_words(clean(f"{view.title}\n{view.first_prompt}"))
    at = finite(view.created_at)
    return {"session_id": session_id, "kind": "title", "ref": "", "seq": 1, "at": at, "words": words}


def read_view(text: str) -> SessionView | None:
    """The view a row holds; None where it cannot be read, or lacks its memory, and the log must be folded anew."""
    try:
        view = _decoder.decode(text)
    except (msgspec.DecodeError, ValueError):
        return None
    return None if isinstance(view.memory, UnsetType) else view
