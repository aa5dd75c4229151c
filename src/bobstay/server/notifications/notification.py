"""What is worth telling somebody who does not look: a question, a failure, and, if they asked for it, work done."""

from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.redaction.redactor import Redactor
from bobstay.server.sessions.session_view import InteractionView, SessionView

Kind: TypeAlias = Literal["ask", "failed", "completed"]
LONGEST = 120
_WORDS = {
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
    """Where it leads, below the console's address."""
    tag: str
    """A later one with the same tag takes its place."""
    interaction: str = ""

    def message(self) -> bytes:
        """What the page's service worker gets."""
        return msgspec.json.encode({"title": self.title, "body": self.body, "url": self.url, "tag": self.tag})


class LastSeen(Struct, frozen=True):
    """What was known of a session at the last look."""

    asked: frozenset[str]
    status: str


def seen(view: SessionView) -> LastSeen:
    return LastSeen(frozenset(entry.id for entry in view.interactions), view.status)


def news(before: LastSeen | None, view: SessionView, mask: Redactor) -> list[Notification]:
    """What is new. Of a session that is seen for the first time only its questions are."""
    known = before.asked if before is not None else frozenset()
    found = [_asked(view, entry, mask) for entry in view.interactions if entry.id not in known]
    if before is not None and before.status != view.status and view.status in ("failed", "completed"):
        kind: Kind = "failed" if view.status == "failed" else "completed"
        tag = f"session-{view.id}"
        found.append(Notification(kind, view.id, _title(view, mask), _WORDS[kind], f"/session/{view.id}", tag))
    return found


def _asked(view: SessionView, entry: InteractionView, mask: Redactor) -> Notification:
    """The name of a tool is all that is said of a call: what it would do is read in the console."""
    words = _WORDS.get(entry.kind) or f"{_plain(entry.tool, 60) or 'A tool'} needs your permission."
    url = f"/session/{view.id}?ask={entry.id}"
    return Notification("ask", view.id, _title(view, mask), words, url, f"request-{entry.id}", entry.id)


def _title(view: SessionView, mask: Redactor) -> str:
    return _plain(mask.text(view.title), LONGEST) or "A session"


def _plain(text: str, longest: int) -> str:
    """One line of printable letters: this is shown by the system, not by our page."""
    words = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 4 * longest]).split())
    return words if len(words) <= longest else words[: longest - 1] + "…"
