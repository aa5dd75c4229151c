"""Session registry: the views of all sessions, and the sessions that this server has open."""

import asyncio
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from msgspec.structs import replace

from bobstay.model.event import Envelope, SessionStarted
from bobstay.model.ids import new_id
from bobstay.model.session_events import Configured, SessionChanged, SessionConfig
from bobstay.server.sessions.abandoned_view import observed_view
from bobstay.server.sessions.open_session import LoadedLog, OpenSession, collect_inputs
from bobstay.server.sessions.session_index import Index
from bobstay.server.sessions.session_publisher import SessionPublisher
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.log import LogError, SessionMissing
from bobstay.sessions.log_reader import LogReader
from bobstay.sessions.session_logs import EntryReader, SessionLogs
from bobstay.version import __version__


class SessionRegistry:
    def __init__(self, logs: SessionLogs, publisher: SessionPublisher, index: Index) -> None:
        self.logs = logs
        self.publisher = publisher
        self.index = index
        self.views: dict[str, SessionView] = {}
        self.pending: dict[str, None] = {}
        """Sessions whose logs have not been read yet, in the order in which they will be."""
        self.listeners: list[Callable[[SessionView, SessionView, Envelope], None]] = []
        """Called for each entry of an open session, with the views before and after it."""
        self.view_listeners: list[Callable[[SessionView], None]] = []
        """Called with every state of every session, whichever process runs it."""
        self.forgotten: list[Callable[[str], None]] = []
        """Called for each session that was removed."""
        self._open: dict[str, OpenSession] = {}
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._readers: dict[str, EntryReader] = {}
        self._unpacking = asyncio.Lock()

    def create(
        self, cwd: str, config: SessionConfig, *, parent: str = "", title: str = "", by: str = "", id: str = ""
    ) -> OpenSession:
        """Create a session.

        Raises:
            LogError: it cannot be stored.
        """
        log = self.logs.create(id or new_id(), SessionStarted(cwd, __version__, config.model))
        view = SessionView(log.session_id)
        for envelope in log.read():
            view = view.apply(envelope)
            self.index.put(view.id, envelope, view)
        session = self._keep(LoadedLog(log, self.logs.reader(log.session_id), view, {}))
        with self._remove_unless_stored(session.id):
            session.append(Configured(config, by))
            if parent or title:
                session.append(SessionChanged(title=title or None, parent=parent or None, by=by), sync=True)
        return session

    async def acquire(self, session_id: str) -> OpenSession:
        """Open a session for writing; its log is read in a thread.

        It stays open until the caller awaits something: then another task may release it.

        Raises:
            SessionMissing, SessionBusy, LogError
        """
        while True:
            session = self._open.get(session_id)
            if session is not None:
                return session
            await self.unpack(session_id)
            await self._load(session_id, partial(_load_log, self.logs, session_id, self.view(session_id).seq))

    def open(self, session_id: str) -> OpenSession:
        """The same synchronously, for callers without an event loop."""
        session = self._open.get(session_id)
        if session is None:
            session = self._keep(_load_log(self.logs, session_id, self.view(session_id).seq))
        return session

    def is_opening(self, session_id: str) -> bool:
        """Whether it is being opened for writing."""
        return session_id in self._opening

    async def branch_off(
        self, session_id: str, at: str, config: SessionConfig, *, by: str = "", id: str = ""
    ) -> OpenSession:
        """Fork a session: a new session that begins with the conversation of another, up to entry `at` if given.

        Raises:
            SessionMissing, EntryMissing, LogError
        """
        await self.unpack(session_id, by=by)
        parent = self.view(session_id)
        child = id or new_id()
        started = SessionStarted(parent.cwd, __version__, config.model or parent.model, forked_from=session_id)

        def copied() -> LoadedLog:
            self.logs.fork(session_id, child, at or None, started).close()
            return _load_log(self.logs, child)

        self.views[child] = SessionView(child)
        try:
            await self._load(child, copied)
        except OSError:
            del self.views[child]
            raise
        session = self._open[child]
        title = f"{parent.title} (continued)" if parent.title and not at else parent.title
        with self._remove_unless_stored(child):
            session.append(Configured(config, by))  # the projection detects the gap before this, and reads the copy
            session.append(SessionChanged(title=title, parent=session_id, archived=False, by=by), sync=True)
        return session

    @contextmanager
    def _remove_unless_stored(self, session_id: str) -> Generator[None, None, None]:
        """Remove a new session whose configuration cannot be stored: it must not run with another one."""
        try:
            yield
        except LogError:
            self.forget(session_id)
            self.logs.remove(session_id)
            raise

    def get_open(self, session_id: str) -> OpenSession | None:
        return self._open.get(session_id)

    def all_open(self) -> list[OpenSession]:
        return list(self._open.values())

    def release(self, session_id: str) -> None:
        """Release a session's log; its view stays."""
        session = self._open.pop(session_id, None)
        if session is not None:
            session.release()

    def view(self, session_id: str) -> SessionView:
        """Raises:
        SessionMissing: there is no session with this id.
        """
        found = self.views.get(session_id)
        if found is None and session_id in self.pending:
            found = observed_view(self.logs, fold_log(self.logs, session_id))
            del self.pending[session_id]  # not before: a log that cannot be read must not seem to be none
            self._publish(found)
        if found is None:
            raise SessionMissing(f"There is no session {session_id[:80]}.")
        return found

    def reader(self, session_id: str) -> EntryReader:
        """The reader of a session's log, whichever process writes it."""
        session = self._open.get(session_id)
        if session is not None:
            return session.reader
        if session_id not in self._readers:
            known = self.views.get(session_id)
            path = self.index.archived_log_path(session_id) if known is not None and known.stored else ""
            self._readers[session_id] = LogReader(path) if path else self.logs.reader(session_id)
        return self._readers[session_id]

    def pack(self, session_id: str) -> None:
        """Mark a session whose log was archived: it stays listed and readable."""
        self.release(session_id)
        self._readers.pop(session_id, None)
        self._publish(replace(self.view(session_id), stored=True))

    async def unpack(self, session_id: str, *, by: str = "") -> None:
        """Restore the log of a session if it was archived.

        Raises:
            SessionMissing, LogError
        """
        async with self._unpacking:
            if not self.view(session_id).stored:
                return
            await self.index.unpack(session_id, by)
            self._readers.pop(session_id, None)
            self._publish(replace(self.view(session_id), stored=False))

    def update_view(self, view: SessionView) -> None:
        """Update the view of a session that this server does not write."""
        self._publish(view)

    def forget(self, session_id: str) -> None:
        self.release(session_id)
        self._readers.pop(session_id, None)
        if self.views.pop(session_id, None) is not None:
            self.publisher.publish_deleted(session_id)
        for listener in self.forgotten:
            listener(session_id)

    async def _load(self, session_id: str, load: Callable[[], LoadedLog]) -> None:
        """Read a log once for all waiters. A waiter that is cancelled does not cancel it for the others."""
        self.view(session_id)
        opening = self._opening.get(session_id)
        if opening is None:
            opening = self._opening[session_id] = asyncio.create_task(self._read(session_id, load))
            opening.add_done_callback(_retrieve_exception)
        await asyncio.shield(opening)

    async def _read(self, session_id: str, load: Callable[[], LoadedLog]) -> None:
        try:
            self._keep(await asyncio.to_thread(load))
        finally:
            del self._opening[session_id]

    def _keep(self, loaded: LoadedLog) -> OpenSession:
        session = OpenSession(loaded, self.publisher, self.index, self._changed, self._publish)
        self._open[session.id] = session
        self._publish_unseen(loaded)
        self._publish(session.view)
        return session

    def _publish_unseen(self, loaded: LoadedLog) -> None:
        """Publish the last entries of another process: once the log is open here, it is no longer watched."""
        if not loaded.unseen:
            return
        view = self.view(loaded.log.session_id)
        for envelope in loaded.unseen:
            before, view = view, view.apply(envelope)
            self.publisher.publish_foreign_entry(before, view, envelope)

    def _changed(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        self._publish(after)
        self.publisher.publish_interaction(after, envelope)
        for listener in self.listeners:
            listener(before, after, envelope)

    def _publish(self, view: SessionView) -> None:
        self.views[view.id] = view
        for listener in self.view_listeners:
            listener(view)
        self.publisher.publish_view(view)


def _retrieve_exception(opening: "asyncio.Task[None]") -> None:
    """Mark the exception as retrieved: waiters get it, and without waiters it is of no interest."""
    if not opening.cancelled():
        opening.exception()


def _load_log(logs: SessionLogs, session_id: str, after: int | None = None) -> LoadedLog:
    """`after`: the last published entry; None if nothing is to be published, as for a fork."""
    log, branch, _ = logs.open(session_id)
    try:
        # There is one branch unless somebody rewound; abandoned branches are folded too, as everywhere.
        entries = branch if len(branch) == log.seq else list(log.read())
        view = replace(fold(session_id, entries), seq=log.seq, elsewhere=False)
        unseen = () if after is None else tuple(entry for entry in in_sequence(entries) if entry.seq > after)
        return LoadedLog(log, logs.reader(session_id), view, collect_inputs(entries), unseen)
    except BaseException:
        log.close()
        raise


def fold(session_id: str, entries: Iterable[Envelope]) -> SessionView:
    """The view of a session: the fold of all entries of its log, including those of abandoned branches."""
    view = SessionView(session_id)
    for envelope in in_sequence(entries):
        view = view.apply(envelope)
    return view


def in_sequence(entries: Iterable[Envelope]) -> Iterator[Envelope]:
    """The entries in ascending order; an entry that is out of order is ignored, as by all readers of logs."""
    last = 0
    for envelope in entries:
        if envelope.seq > last:
            last = envelope.seq
            yield envelope


def fold_log(logs: SessionLogs, session_id: str) -> SessionView:
    """The view of a session that another process may be writing."""
    return fold(session_id, logs.reader(session_id).read())
