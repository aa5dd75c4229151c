"""Reads the entries of a session for an export, redacted and one at a time, also while the log is written."""

from collections.abc import Iterator

from bobstay.model.event import Envelope
from bobstay.redaction.redactor import Redactor
from bobstay.sessions.session_logs import EntryReader


def entries(reader: EntryReader, redactor: Redactor, until: int) -> Iterator[Envelope]:
    """All entries up to `until`, redacted."""
    for envelope in reader.read():
        if envelope.seq > until:
            return
        redacted: Envelope = redactor.redact_value(envelope)
        yield redacted


def branch(reader: EntryReader, redactor: Redactor, until: int) -> Iterator[Envelope]:
    """The entries of the current branch up to `until`, without abandoned branches.

    The log is read twice, so that only ids are held in memory, not the content.
    """
    wanted = _branch_ids(reader, until)
    for envelope in entries(reader, redactor, until):
        if envelope.id in wanted:
            wanted.discard(envelope.id)
            yield envelope


def _branch_ids(reader: EntryReader, until: int) -> set[str]:
    """Ids from the first entry to the last. An entry whose parent is missing follows the one before it."""
    parents: dict[str, str] = {}
    last = ""
    for envelope in reader.read():
        if envelope.seq > until:
            break
        if envelope.id not in parents:
            parents[envelope.id] = envelope.parent if envelope.parent in parents or not envelope.parent else last
            last = envelope.id
    branch_ids: set[str] = set()
    while last and last not in branch_ids:
        branch_ids.add(last)
        last = parents[last]
    return branch_ids
