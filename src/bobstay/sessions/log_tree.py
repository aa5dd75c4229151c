"""A log as the tree it is: every entry names the one it follows, and a branch is the way from the root to a leaf."""

from bobstay.model.event import BlockDone, Envelope, HookRan, MessageDone, Noted, Prompted, RunDone
from bobstay.sessions.log import EntryMissing
from bobstay.sessions.log_scan import Warnings

_ROOT = -1


class LogTree:
    """Entries in the order of the file. A parent stands before its children, so no file can make a way endless."""

    def __init__(self, warnings: Warnings | None = None) -> None:
        self.warnings = Warnings() if warnings is None else warnings
        self._entries: list[Envelope] = []
        self._parents: list[int] = []
        self._positions: dict[str, int] = {}

    def add(self, envelope: Envelope) -> None:
        """Take in the next entry.

        One whose parent is not there (its line was bad) follows what stands before it in the file. One whose id
        was used before is left out: it would change what its namesake's children follow.
        """
        if envelope.id in self._positions:
            self.warnings.add(f"entry {envelope.seq} was skipped: the id {envelope.id} is used twice")
            return
        here = len(self._entries)
        parent = self._positions.get(envelope.parent, _ROOT)
        if parent == _ROOT and envelope.parent:
            parent = here - 1
            self.warnings.add(f"entry {envelope.seq} follows {envelope.parent}, which is not there")
        self._positions[envelope.id] = here
        self._entries.append(envelope)
        self._parents.append(parent)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def leaf(self) -> str:
        """Id of the last entry; empty while there is none."""
        return self._entries[-1].id if self._entries else ""

    def leaves(self) -> list[str]:
        """Ids of all entries nothing follows, oldest first."""
        followed = set(self._parents)
        return [entry.id for place, entry in enumerate(self._entries) if place not in followed]

    def path_to(self, leaf: str | None = None) -> list[Envelope]:
        """Return the branch from the root to `leaf`, or to the last entry.

        Raises:
            EntryMissing: there is no such entry.
        """
        if not self._entries and not leaf:
            return []
        place = self._positions.get(leaf, _ROOT) if leaf else len(self._entries) - 1
        if place == _ROOT:
            raise EntryMissing(f"the session has no entry {leaf}")
        branch = []
        while place != _ROOT:
            branch.append(self._entries[place])
            place = self._parents[place]
        branch.reverse()
        return branch

    def resume_at(self, key: str) -> list[Envelope]:
        """Return the branch that ends with the entry `key` names.

        `key` is the id of an entry, of a prompt (ours or the host's) or of a model's message. What only closes the
        entry belongs to it: after the last block of an answer come its token counts and the end of the turn.

        Raises:
            EntryMissing: nothing is called so.
        """
        branch = self.path_to()
        place = _find(branch, key)
        if place == _ROOT:
            found = _find(self._entries, key)
            if found == _ROOT:
                raise EntryMissing(f"No message found with message.uuid of: {key}")
            branch = self._longest_through(found)
            place = _find(branch, key)
        return branch[: _closed(branch, place) + 1]

    def _longest_through(self, place: int) -> list[Envelope]:
        """Return the branch to the last leaf that grew from the entry at `place`."""
        last, grown = place, {place}
        for child in range(place + 1, len(self._entries)):
            if self._parents[child] in grown:
                grown.add(child)
                last = child
        return self.path_to(self._entries[last].id)


def _find(entries: list[Envelope], key: str) -> int:
    """Return the last place called `key`; an entry's own id goes before what it speaks of."""
    named = _ROOT
    for place, entry in enumerate(entries):
        if entry.id == key:
            return place
        if key in _names(entry):
            named = place
    return named


def _names(entry: Envelope) -> tuple[str, ...]:
    event = entry.event
    if isinstance(event, Prompted):
        return (event.id, event.client_id)
    return (event.message_id,) if isinstance(event, BlockDone | MessageDone) else ()


def _closed(branch: list[Envelope], place: int) -> int:
    event = branch[place].event
    if isinstance(event, BlockDone):
        done = _next(branch, place)
        closing = branch[done].event if done < len(branch) else None
        if not isinstance(closing, MessageDone) or closing.message_id != event.message_id:
            return place
        place, event = done, closing
    if isinstance(event, MessageDone):
        done = _next(branch, place)
        if done < len(branch) and isinstance(branch[done].event, RunDone):
            return done
    return place


def _next(branch: list[Envelope], place: int) -> int:
    """Return the place of the next entry that is no mere remark."""
    place += 1
    while place < len(branch) and isinstance(branch[place].event, HookRan | Noted):
        place += 1
    return place
