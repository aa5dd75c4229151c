"""Notifications: derives them from changes of sessions (an interaction, a failure, completed work)."""

from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.redaction.redactor import Redactor
from bobstay.server.sessions.open_interactions import InteractionView
from bobstay.server.sessions.session_view import SessionView

Kind: TypeAlias = Literal["ask", "failed", "completed"]
LONGEST = 120
_TEXTS = {
    "question": "A question for you.",
    "plan": "A plan waits for your review.",
    "failed": "It failed. Open it to see why.",
    "completed": "Done.",
}


class Notification(Struct, frozen=True):
    kind: Kind
    session_id: str
    title: str
    body: str
    url: str
    """Target of the notification, below the console's address."""
    tag: str
    """A later notification with the same tag replaces it."""
    interaction: str = ""

    def message(self) -> bytes:
        """The payload for the page's service worker."""
        return msgspec.json.encode({"title": self.title, "body": self.body, "url": self.url, "tag": self.tag})


class LastSeen(Struct, frozen=True):
    """The state of a session at the last update."""

    asked: frozenset[str]
    status: str


def last_seen_of(view: SessionView) -> LastSeen:
    return LastSeen(frozenset(entry.id for entry in view.interactions), view.status)


def new_notifications(before: LastSeen | None, view: SessionView, redactor: Redactor) -> list[Notification]:
    """Notifications for the changes of a session; of a new session, for its interactions only."""
    known = before.asked if before is not None else frozenset()
    found = [_interaction_notification(view, entry, redactor) for entry in view.interactions if entry.id not in known]
    if before is not None and before.status != view.status and view.status in ("failed", "completed"):
        kind: Kind = "failed" if view.status == "failed" else "completed"
        tag = f"session-{view.id}"
        found.append(Notification(kind, view.id, _title(view, redactor), _TEXTS[kind], f"/session/{view.id}", tag))
    return found


def _interaction_notification(view: SessionView, entry: InteractionView, redactor: Redactor) -> Notification:
    """Of a tool call it contains only the tool's name, because push services and lock screens are not private."""
    text = _TEXTS.get(entry.kind) or f"{_plain(entry.tool, 60) or 'A tool'} needs your permission."
    url = f"/session/{view.id}?ask={entry.id}"
    return Notification("ask", view.id, _title(view, redactor), text, url, f"request-{entry.id}", entry.id)


def _title(view: SessionView, redactor: Redactor) -> str:
    return _plain(redactor.redact(view.title), LONGEST) or "A session"


def _plain(text: str, longest: int) -> str:
    """One line of printable characters, because the operating system displays it."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 4 * longest]).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
