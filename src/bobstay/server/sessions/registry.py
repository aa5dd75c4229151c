"""All sessions the server knows: their views, and those it has open."""

import os
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from bobstay.model.around import Configured, SessionChanged, SessionConfig
from bobstay.model.event import Envelope, SessionStarted
from bobstay.model.ids import new_id
from bobstay.server.ports import Index
from bobstay.server.sessions.open import OpenSession
from bobstay.server.sessions.reader import LogReader
from bobstay.server.sessions.view import SessionView
from bobstay.server.stream.changes import Changes
from bobstay.server.stream.hub import Hub
from bobstay.sessions.log import SessionMissing
from bobstay.sessions.store import Store
from bobstay.version import __version__


class Registry:
    def __init__(self, store: Store, hub: Hub, index: Index) -> None:
        self.store = store
        self.hub = hub
        self.changes = Changes(hub)
        self.index = index
        self.views: dict[str, SessionView] = {}
        self.listeners: list[Callable[[SessionView, SessionView, Envelope], None]] = []
        """Told of each entry a session of ours gets, with the views before and after it."""
        self._open: dict[str, OpenSession] = {}
        self._readers: dict[str, LogReader] = {}

    def create(
        self, cwd: str, config: SessionConfig, *, parent: str = "", title: str = "", by: str = "", id: str = ""
    ) -> OpenSession:
        """Begin a session.

        Raises:
            LogError: nothing can be stored.
        """
        log = self.store.create(id or new_id(), SessionStarted(cwd, __version__, config.model))
        session = OpenSession(log, SessionView(log.session_id), self.hub, self.index, self._changed)
        self._keep(session, log.read())
        session.append(Configured(config, by))
        if parent or title:
            session.append(SessionChanged(title=title or None, parent=parent or None, by=by), sync=True)
        return session

    def open(self, session_id: str) -> OpenSession:
        """The session, ready to be written.

        Raises:
            SessionMissing, SessionBusy, LogError
        """
        session = self._open.get(session_id)
        if session is not None:
            return session
        if session_id not in self.views:
            raise SessionMissing(f"There is no session {session_id}.")
        log, branch, _ = self.store.open(session_id)
        view = fold(session_id, branch)
        view = replace(view, seq=log.seq, elsewhere=False)
        session = OpenSession(log, view, self.hub, self.index, self._changed)
        self._open[session_id] = session
        self._publish(view)
        return session

    def branch_off(self, session_id: str, at: str, config: SessionConfig, *, by: str = "") -> OpenSession:
        """A session of its own that begins with the talk of another, up to the entry `at` if given.

        Raises:
            SessionMissing, EntryMissing, LogError
        """
        parent = self.view(session_id)
        child = new_id()
        started = SessionStarted(parent.cwd, __version__, config.model or parent.model, forked_from=session_id)
        self.store.fork(session_id, child, at or None, started).close()
        self.views[child] = SessionView(child)
        session = self.open(child)
        for envelope in session.reader.read():
            self.index.put(child, envelope, session.view)
        session.append(Configured(config, by))
        title = f"{parent.title} (continued)" if parent.title and not at else parent.title
        session.append(SessionChanged(title=title, parent=session_id, archived=False, by=by), sync=True)
        return session

    def opened(self, session_id: str) -> OpenSession | None:
        return self._open.get(session_id)

    def all_open(self) -> list[OpenSession]:
        return list(self._open.values())

    def shut(self, session_id: str) -> None:
        """Let go of a session's log; its view stays."""
        session = self._open.pop(session_id, None)
        if session is not None:
            session.shut()

    def view(self, session_id: str) -> SessionView:
        """Raises:
        SessionMissing: there is none of this id.
        """
        found = self.views.get(session_id)
        if found is None:
            raise SessionMissing(f"There is no session {session_id[:80]}.")
        return found

    def reader(self, session_id: str) -> LogReader:
        """Reads the log of a session, whoever writes it."""
        session = self._open.get(session_id)
        if session is not None:
            return session.reader
        if session_id not in self._readers:
            self._readers[session_id] = LogReader(self.store.path(session_id))
        return self._readers[session_id]

    def learn(self, view: SessionView) -> None:
        """Take in what became known of a session that this server does not write."""
        self._publish(view)

    def forget(self, session_id: str) -> None:
        self.shut(session_id)
        self._readers.pop(session_id, None)
        if self.views.pop(session_id, None) is not None:
            self.changes.deleted(session_id)

    def _keep(self, session: OpenSession, entries: Iterable[Envelope]) -> None:
        for envelope in entries:
            session.view = session.view.apply(envelope)
            self.index.put(session.id, envelope, session.view)
        self._open[session.id] = session
        self._publish(session.view)

    def _changed(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        self._publish(after)
        self.changes.entered(after, envelope)
        for listener in self.listeners:
            listener(before, after, envelope)

    def _publish(self, view: SessionView) -> None:
        self.views[view.id] = view
        self.changes.changed(view)


def fold(session_id: str, entries: Iterable[Envelope]) -> SessionView:
    view = SessionView(session_id)
    for envelope in entries:
        view = view.apply(envelope)
    return view


def fold_file(store: Store, session_id: str) -> SessionView:
    """The view of a session somebody else may be writing."""
    return fold(session_id, LogReader(store.path(session_id)).read())


def session_ids(store: Store) -> list[str]:
    try:
        names = os.listdir(store.directory)
    except OSError:
        return []
    return [name.removesuffix(".jsonl") for name in names if name.endswith(".jsonl")]
