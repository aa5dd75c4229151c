"""The entries of a session for an export: without secrets, one at a time, whoever writes the log meanwhile."""

from collections.abc import Iterator

from bobstay.model.event import Envelope
from bobstay.redaction.redactor import Redactor
from bobstay.server.sessions.log_reader import LogReader


def entries(reader: LogReader, mask: Redactor, until: int) -> Iterator[Envelope]:
    """All entries up to `until`, masked (FM-56)."""
    for envelope in reader.read():
        if envelope.seq > until:
            return
        masked: Envelope = mask.value(envelope)
        yield masked


def branch(reader: LogReader, mask: Redactor, until: int) -> Iterator[Envelope]:
    """The same for the entries that lead to the last one, without branches that were left.

    The log is read twice, so that only ids are held in memory and never what was said.
    """
    wanted = _way(reader, until)
    for envelope in entries(reader, mask, until):
        if envelope.id in wanted:
            wanted.discard(envelope.id)
            yield envelope


def _way(reader: LogReader, until: int) -> set[str]:
    """Ids from the first entry to the last. One whose parent is missing follows what stands before it."""
    parents: dict[str, str] = {}
    last = ""
    for envelope in reader.read():
        if envelope.seq > until:
            break
        if envelope.id not in parents:
            parents[envelope.id] = envelope.parent if envelope.parent in parents or not envelope.parent else last
            last = envelope.id
    way: set[str] = set()
    while last and last not in way:
        way.add(last)
        last = parents[last]
    return way
