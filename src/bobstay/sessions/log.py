"""The session log interface: an append-only list of durable events, the only source of a session's state."""

from collections.abc import Callable, Iterator
from typing import Protocol

from bobstay.model.event import Durable, Envelope


class Log(Protocol):
    """One session's events. One writer at a time; `conformance.py` checks what every log must guarantee."""

    @property
    def session_id(self) -> str: ...

    @property
    def path(self) -> str:
        """Path of the log, for people."""
        ...

    @property
    def head(self) -> str:
        """Id of the entry that the next one follows; empty while there is none."""
        ...

    @property
    def seq(self) -> int:
        """Sequence number of the last entry."""
        ...

    def append(
        self,
        event: Durable,
        *,
        sync: bool = False,
        parent: str | None = None,
        id: str | None = None,
        agent: str = "",
        parent_call: str = "",
    ) -> Envelope:
        """Store `event` and return it as stored; it is readable through this log once this returns.

        `sync` waits until it would survive a power failure. `parent` names the entry it follows if that is not
        the head: this starts a branch.

        Raises:
            LogFull: no space is left. Nothing of the event is stored, and earlier entries are intact.
            LogError: it cannot be stored for another reason. The same holds.
        """
        ...

    def read(self, after: int = 0) -> Iterator[Envelope]:
        """Yield the entries with a `seq` above `after`, oldest first, all branches."""
        ...

    async def settled(self) -> None:
        """Return when everything appended so far is stored where this log keeps it.

        A log that stores in `append` itself returns at once.

        Raises:
            LogError: something cannot be stored. Nothing that would follow from it may happen.
        """
        ...

    def when_stored(self, then: Callable[[], None]) -> None:
        """Call `then` once everything appended so far is stored: at once if it is, else in the order of the calls."""
        ...

    def sync(self) -> None:
        """Wait until all appended entries would survive a power failure."""
        ...

    def close(self) -> None:
        """Release the session, so that another process may write it. Closing twice does nothing."""
        ...


class LogError(OSError):
    """The log cannot be read or written. The text says what happened and what to do about it."""

    def __init__(self, message: str, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno


class LogFull(LogError):  # noqa: N818 - the name says what happened
    """No space for the event: a full disk, a quota, or a file size limit."""


class SessionBusy(LogError):  # noqa: N818 - the name says what happened
    """Another process writes this session."""


class SessionExists(LogError):  # noqa: N818 - the name says what happened
    """A session with this id exists already."""


class SessionMissing(LogError):  # noqa: N818 - the name says what happened
    """There is no session with this id."""


class EntryMissing(LogError):  # noqa: N818 - the name says what happened
    """The session has no such entry."""


class BadSessionId(LogError):  # noqa: N818 - the name says what happened
    """The name cannot be a session id."""
