"""Protocols of the place where the logs of sessions are kept, and of reading one of them."""

from collections.abc import Iterator
from typing import Protocol

from bobstay.model.event import Envelope, SessionStarted
from bobstay.sessions.log import Log


class EntryReader(Protocol):
    """Reads one session's log, whoever writes it. Threads may share a reader."""

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """Complete lines with a `seq` above `after`."""
        ...

    def read(self, after: int = 0, limit: int | None = None) -> Iterator[Envelope]:
        """Entries with a `seq` above `after`, oldest first, at most `limit`."""
        ...

    def copy(self) -> "EntryReader":
        """Another reader of the same log. Neither of them follows a log that is archived or restored."""
        ...


class SessionLogs(Protocol):
    """The logs of all sessions. `LogStore` keeps them in a directory of this machine."""

    def create(self, session_id: str, started: SessionStarted) -> Log:
        """Create a session.

        Raises:
            SessionExists, LogError
        """
        ...

    def open(self, session_id: str, at: str = "") -> tuple[Log, list[Envelope], list[str]]:
        """Open a session to write it; returns its log, the current branch, and warnings.

        Raises:
            SessionMissing, SessionBusy, EntryMissing
        """
        ...

    def fork(
        self, session_id: str, new_session_id: str, at: str | None = None, started: SessionStarted | None = None
    ) -> Log:
        """Copy a session's branch, up to `at` if given, into a new session.

        Raises:
            SessionMissing, SessionExists, EntryMissing, LogError
        """
        ...

    def remove(self, session_id: str) -> None:
        """Remove a session that nobody writes.

        Raises:
            LogError
        """
        ...

    def exists(self, session_id: str) -> bool: ...

    def has_writer(self, session_id: str) -> bool:
        """Whether a process writes this session now."""
        ...

    def reader(self, session_id: str) -> EntryReader:
        """The reader of a session's log."""
        ...
