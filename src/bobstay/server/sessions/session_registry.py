"""All sessions the server knows: their views, and those it has open."""

import asyncio
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from bobstay.model.event import Envelope, SessionStarted
from bobstay.model.ids import new_id
from bobstay.model.session_events import Configured, SessionChanged, SessionConfig
from bobstay.server.server_ports import Index
from bobstay.server.sessions.abandoned_view import as_seen
from bobstay.server.sessions.log_reader import LogReader
from bobstay.server.sessions.open_session import OpenSession, inputs_of, told
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.session_changes import SessionChanges
from bobstay.sessions.jsonl_log import JsonlLog
from bobstay.sessions.log import SessionMissing
from bobstay.sessions.log_store import LogStore
from bobstay.version import __version__


class SessionRegistry:
    def __init__(self, store: LogStore, hub: Hub, index: Index) -> None:
        self.store = store
        self.hub = hub
        self.changes = SessionChanges(hub)
        self.index = index
        self.views: dict[str, SessionView] = {}
        self.pending: dict[str, None] = {}
        """Sessions whose logs are still to be read, in the order in which they will be."""
        self.listeners: list[Callable[[SessionView, SessionView, Envelope], None]] = []
        """Told of each entry a session of ours gets, with the views before and after it."""
        self.forgotten: list[Callable[[str], None]] = []
        """Told of each session that is no more."""
        self._open: dict[str, OpenSession] = {}
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._readers: dict[str, LogReader] = {}
        self._unpacking = asyncio.Lock()

    def create(
        self, cwd: str, config: SessionConfig, *, parent: str = "", title: str = "", by: str = "", id: str = ""
    ) -> OpenSession:
        """Begin a session.

        Raises:
            LogError: nothing can be stored.
        """
        log = self.store.create(id or new_id(), SessionStarted(cwd, __version__, config.model))
        view = SessionView(log.session_id)
        for envelope in log.read():
            view = view.apply(envelope)
            self.index.put(view.id, envelope, view)
        session = self._keep(LoadedLog(log, view, {}))
        session.append(Configured(config, by))
        if parent or title:
            session.append(SessionChanged(title=title or None, parent=parent or None, by=by), sync=True)
        return session

    async def take(self, session_id: str) -> OpenSession:
        """The session, ready to be written; its log is read beside the loop.

        It is yours until you wait for something: then another may let it go.

        Raises:
            SessionMissing, SessionBusy, LogError
        """
        while True:
            session = self._open.get(session_id)
            if session is not None:
                return session
            await self.unpack(session_id)
            await self._load(session_id, partial(_loaded, self.store, session_id, self.view(session_id).seq))

    def open(self, session_id: str) -> OpenSession:
        """The same at once, for who has no loop to hold up."""
        session = self._open.get(session_id)
        if session is None:
            session = self._keep(_loaded(self.store, session_id, self.view(session_id).seq))
        return session

    def is_opening(self, session_id: str) -> bool:
        """Whether its log is being read so that it can be written: soon it is ours."""
        return session_id in self._opening

    async def branch_off(
        self, session_id: str, at: str, config: SessionConfig, *, by: str = "", id: str = ""
    ) -> OpenSession:
        """A session of its own that begins with the talk of another, up to the entry `at` if given.

        Raises:
            SessionMissing, EntryMissing, LogError
        """
        await self.unpack(session_id, by=by)
        parent = self.view(session_id)
        child = id or new_id()
        started = SessionStarted(parent.cwd, __version__, config.model or parent.model, forked_from=session_id)

        def copied() -> LoadedLog:
            self.store.fork(session_id, child, at or None, started).close()
            return _loaded(self.store, child)

        self.views[child] = SessionView(child)
        try:
            await self._load(child, copied)
        except OSError:
            del self.views[child]
            raise
        session = self._open[child]
        session.append(Configured(config, by))  # the tables find a gap before this, and read the copy themselves
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
        if found is None and session_id in self.pending:
            del self.pending[session_id]
            found = as_seen(self.store, fold_file(self.store, session_id))
            self._publish(found)
        if found is None:
            raise SessionMissing(f"There is no session {session_id[:80]}.")
        return found

    def reader(self, session_id: str) -> LogReader:
        """Reads the log of a session, whoever writes it."""
        session = self._open.get(session_id)
        if session is not None:
            return session.reader
        if session_id not in self._readers:
            known = self.views.get(session_id)
            path = self.index.packed_log(session_id) if known is not None and known.stored else ""
            self._readers[session_id] = LogReader(path or self.store.path(session_id))
        return self._readers[session_id]

    def pack(self, session_id: str) -> None:
        """Its log was packed away: the session stays listed and readable."""
        self.shut(session_id)
        self._readers.pop(session_id, None)
        self._publish(replace(self.view(session_id), stored=True))

    async def unpack(self, session_id: str, *, by: str = "") -> None:
        """Bring the log of a session back if it was packed away.

        Raises:
            SessionMissing, LogError
        """
        async with self._unpacking:
            if not self.view(session_id).stored:
                return
            await self.index.unpack(session_id, by)
            self._readers.pop(session_id, None)
            self._publish(replace(self.view(session_id), stored=False))

    def learn(self, view: SessionView) -> None:
        """Take in what became known of a session that this server does not write."""
        self._publish(view)

    def forget(self, session_id: str) -> None:
        self.shut(session_id)
        self._readers.pop(session_id, None)
        if self.views.pop(session_id, None) is not None:
            self.changes.deleted(session_id)
        for listener in self.forgotten:
            listener(session_id)

    async def _load(self, session_id: str, load: "Callable[[], LoadedLog]") -> None:
        """Read a log once for all who wait for it. Whoever stops waiting leaves it open for the others."""
        self.view(session_id)
        opening = self._opening.get(session_id)
        if opening is None:
            opening = self._opening[session_id] = asyncio.create_task(self._read(session_id, load))
            opening.add_done_callback(_looked_at)
        await asyncio.shield(opening)

    async def _read(self, session_id: str, load: "Callable[[], LoadedLog]") -> None:
        try:
            self._keep(await asyncio.to_thread(load))
        finally:
            del self._opening[session_id]

    def _keep(self, loaded: "LoadedLog") -> OpenSession:
        changed, hindered = self._changed, self._publish
        session = OpenSession(loaded.log, loaded.view, self.hub, self.index, changed, loaded.inputs, hindered)
        self._open[session.id] = session
        self._tell_unseen(loaded)
        self._publish(session.view)
        return session

    def _tell_unseen(self, loaded: "LoadedLog") -> None:
        """Those who follow get what another process wrote last, too: as the log becomes ours, nobody else looks."""
        session_id = loaded.log.session_id
        topic = f"session:{session_id}"
        if not loaded.unseen or not self.hub.followed(topic):
            return
        view = self.view(session_id)
        for envelope in loaded.unseen:
            before, view = view, view.apply(envelope)
            self.hub.publish(topic, told(before, view, envelope))

    def _changed(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        self._publish(after)
        self.changes.entered(after, envelope)
        for listener in self.listeners:
            listener(before, after, envelope)

    def _publish(self, view: SessionView) -> None:
        self.views[view.id] = view
        self.changes.changed(view)


def _looked_at(opening: "asyncio.Task[None]") -> None:
    """Who waits is told what went wrong; where nobody does any more, nobody misses it."""
    if not opening.cancelled():
        opening.exception()


class LoadedLog(Struct):
    """A log that was opened to be written, and what reading it told."""

    log: JsonlLog
    view: SessionView
    inputs: dict[str, str]
    unseen: tuple[Envelope, ...] = ()
    """Entries nobody was told of."""


def _loaded(store: LogStore, session_id: str, after: int | None = None) -> LoadedLog:
    """`after`: the last entry that was told; None where nothing of it is news, as with a copy."""
    log, branch, _ = store.open(session_id)
    try:
        # One branch is all there is, unless somebody went back; what was left is folded too, as everywhere.
        entries = branch if len(branch) == log.seq else list(LogReader(log.path).read())
        view = replace(fold(session_id, entries), seq=log.seq, elsewhere=False)
        unseen = () if after is None else tuple(entry for entry in rising(entries) if entry.seq > after)
        return LoadedLog(log, view, inputs_of(entries), unseen)
    except BaseException:
        log.close()
        raise


def fold(session_id: str, entries: Iterable[Envelope]) -> SessionView:
    """The view of a session: all entries of its log in their order, those of branches that were left too."""
    view = SessionView(session_id)
    for envelope in rising(entries):
        view = view.apply(envelope)
    return view


def rising(entries: Iterable[Envelope]) -> Iterator[Envelope]:
    """The entries as all who read a log take them: one that does not rise is none of ours."""
    last = 0
    for envelope in entries:
        if envelope.seq > last:
            last = envelope.seq
            yield envelope


def fold_file(store: LogStore, session_id: str) -> SessionView:
    """The view of a session somebody else may be writing."""
    return fold(session_id, LogReader(store.path(session_id)).read())


def session_ids(store: LogStore) -> list[str]:
    """All there are. What is no file, such as a pipe that would never end, is no session."""
    try:
        with os.scandir(store.directory) as entries:
            found = [entry for entry in entries if entry.name.endswith(".jsonl")]
    except OSError:
        return []
    return [entry.name.removesuffix(".jsonl") for entry in found if _is_file(entry)]


def _is_file(entry: "os.DirEntry[str]") -> bool:
    try:
        return stat.S_ISREG(entry.stat().st_mode)
    except OSError:
        return False
