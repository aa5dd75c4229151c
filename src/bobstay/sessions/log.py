"""The session log as the rest of the program sees it: an append-only list of durable events, the one truth."""

from collections.abc import Iterator
from typing import Protocol

from bobstay.model.event import Durable, Envelope


class Log(Protocol):
    """One session's events. One writer at a time; `conformance.py` holds what every log must keep."""

    @property
    def session_id(self) -> str: ...

    @property
    def path(self) -> str:
        """Where it is kept, for people."""
        ...

    @property
    def head(self) -> str:
        """Id of the entry the next one follows; empty while there is none."""
        ...

    @property
    def seq(self) -> int:
        """Number of the last entry."""
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
        """Store `event` and return it as stored; it is readable by others once this returns.

        `sync` waits until it would survive a power cut. `parent` names the entry it follows where that is not
        the head: this is how a branch begins.

        Raises:
            LogFull: there is no room. Nothing of the event is stored, and what was stored before is whole.
            LogError: it cannot be stored for another reason. The same holds.
        """
        ...

    def read(self, after: int = 0) -> Iterator[Envelope]:
        """Yield the entries with a `seq` above `after`, oldest first, all branches."""
        ...

    def sync(self) -> None:
        """Wait until all that was appended would survive a power cut."""
        ...

    def close(self) -> None:
        """Let go of the session, so that another may write it. Closing twice does nothing."""
        ...


class LogError(OSError):
    """The log cannot be read or written. The text says what happened and what to do about it."""

    def __init__(self, message: str, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno


class LogFull(LogError):  # noqa: N818 - reads as what happened
    """No room for the event: a full disk, a quota, or a limit on the size of files."""


class SessionBusy(LogError):  # noqa: N818 - reads as what happened
    """Another process writes this session."""


class SessionExists(LogError):  # noqa: N818 - reads as what happened
    """A session of this id is there already."""


class SessionMissing(LogError):  # noqa: N818 - reads as what happened
    """There is no session of this id."""


class EntryMissing(LogError):  # noqa: N818 - reads as what happened
    """The session has no such entry."""


class BadSessionId(LogError):  # noqa: N818 - reads as what happened
    """Not usable as the name of a session."""
