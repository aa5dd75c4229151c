"""Log tree: every entry names its parent, and a branch is the path from the root to a leaf."""

from bobstay.model.event import BlockDone, Envelope, HookRan, MessageDone, Noted, Prompted, RunDone
from bobstay.sessions.log import EntryMissing
from bobstay.sessions.log_scan import ScanWarnings

_ROOT = -1


class LogTree:
    """Entries in file order. A parent always precedes its children, so that no file can create a cycle."""

    def __init__(self, warnings: ScanWarnings | None = None) -> None:
        self.warnings = ScanWarnings() if warnings is None else warnings
        self._entries: list[Envelope] = []
        self._parents: list[int] = []
        self._positions: dict[str, int] = {}

    def add(self, envelope: Envelope) -> None:
        """Add the next entry.

        An entry whose parent is missing (its line was bad) follows the entry before it in the file. One with a
        duplicate id is skipped: it would change the parent of other entries.
        """
        if envelope.id in self._positions:
            self.warnings.add(f"entry {envelope.seq} was skipped: the id {envelope.id} is used twice")
            return
        here = len(self._entries)
        parent = self._positions.get(envelope.parent, _ROOT)
        if parent == _ROOT and envelope.parent:
            parent = here - 1
            self.warnings.add(f"entry {envelope.seq} follows {envelope.parent}, which is missing")
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
        """Ids of all entries without children, oldest first."""
        parents = set(self._parents)
        return [entry.id for index, entry in enumerate(self._entries) if index not in parents]

    def path_to(self, leaf: str | None = None) -> list[Envelope]:
        """Return the branch from the root to `leaf`, or to the last entry.

        Raises:
            EntryMissing: there is no such entry.
        """
        if not self._entries and not leaf:
            return []
        index = self._positions.get(leaf, _ROOT) if leaf else len(self._entries) - 1
        if index == _ROOT:
            raise EntryMissing(f"the session has no entry {leaf}")
        branch = []
        while index != _ROOT:
            branch.append(self._entries[index])
            index = self._parents[index]
        branch.reverse()
        return branch

    def resume_at(self, key: str) -> list[Envelope]:
        """Return the branch that ends with the entry `key` names.

        `key` is the id of an entry, of a prompt (ours or the host's) or of a model's message. Entries that only close
        the named one are included: the last block of an answer is followed by its usage and the end of the turn.

        Raises:
            EntryMissing: nothing has this id.
        """
        branch = self.path_to()
        index = _find_index(branch, key)
        if index == _ROOT:
            found = _find_index(self._entries, key)
            if found == _ROOT:
                raise EntryMissing(f"No message found with message.uuid of: {key}")
            branch = self._longest_branch_through(found)
            index = _find_index(branch, key)
        return branch[: _find_closing_index(branch, index) + 1]

    def _longest_branch_through(self, index: int) -> list[Envelope]:
        """Return the branch to the last leaf below the entry at `index`."""
        last, descendants = index, {index}
        for child in range(index + 1, len(self._entries)):
            if self._parents[child] in descendants:
                descendants.add(child)
                last = child
        return self.path_to(self._entries[last].id)


def _find_index(entries: list[Envelope], key: str) -> int:
    """Return the last index that `key` names; an entry's own id takes precedence over ids in its event."""
    named = _ROOT
    for index, entry in enumerate(entries):
        if entry.id == key:
            return index
        if key in _alias_ids(entry):
            named = index
    return named


def _alias_ids(entry: Envelope) -> tuple[str, ...]:
    event = entry.event
    if isinstance(event, Prompted):
        return (event.id, event.client_id)
    return (event.message_id,) if isinstance(event, BlockDone | MessageDone) else ()


def _find_closing_index(branch: list[Envelope], index: int) -> int:
    event = branch[index].event
    if isinstance(event, BlockDone):
        done = _next_significant(branch, index)
        closing = branch[done].event if done < len(branch) else None
        if not isinstance(closing, MessageDone) or closing.message_id != event.message_id:
            return index
        index, event = done, closing
    if isinstance(event, MessageDone):
        done = _next_significant(branch, index)
        if done < len(branch) and isinstance(branch[done].event, RunDone):
            return done
    return index


def _next_significant(branch: list[Envelope], index: int) -> int:
    """Return the index of the next entry that is neither a hook report nor a note."""
    index += 1
    while index < len(branch) and isinstance(branch[index].event, HookRan | Noted):
        index += 1
    return index
