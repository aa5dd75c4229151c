"""A session that this server writes: appends events to its log, publishes them and queues them for projection."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from bobstay.model.event import Durable, Envelope, InputQueued, Prompted
from bobstay.model.live_events import Live
from bobstay.server.sessions.session_index import Index
from bobstay.server.sessions.session_publisher import SessionPublisher
from bobstay.server.sessions.session_status import BUSY
from bobstay.server.sessions.session_view import SessionView
from bobstay.sessions.log import Log, LogError
from bobstay.sessions.log_tree import LogTree
from bobstay.sessions.session_logs import EntryReader


class LoadedLog(Struct):
    """A log that was opened for writing, with the results of reading it."""

    log: Log
    reader: EntryReader
    view: SessionView
    inputs: dict[str, str]
    unseen: tuple[Envelope, ...] = ()
    """Entries that were not published."""


class EngineJournal(Protocol):
    """Keeps the state of an engine that of the log."""

    def record(self, event: Durable) -> Envelope:
        """Store an event, then fold it."""
        ...

    def catch_up(self, events: Iterable[Durable]) -> None:
        """Fold events that are in the log already."""
        ...


class OpenSession:
    """Holds the lease on the log. It implements the `Log` that engines write, so that every entry is published."""

    def __init__(
        self,
        loaded: LoadedLog,
        publisher: SessionPublisher,
        index: Index,
        changed: Callable[[SessionView, SessionView, Envelope], None],
        on_write_error: Callable[[SessionView], None] | None = None,
    ) -> None:
        self.log = loaded.log
        self.view = loaded.view
        self.reader = loaded.reader
        self.inputs = loaded.inputs
        """Ids of inputs by the client ids of their senders."""
        self._engine: EngineJournal | None = None
        """That of the engine that runs it in this process, if any: events of others must be recorded through it."""
        self._missed: list[Durable] | None = None
        """Events of others that were recorded while an engine is starting."""
        self._publisher = publisher
        self._index = index
        self._changed = changed
        self._on_write_error = on_write_error

    @property
    def id(self) -> str:
        return self.log.session_id

    def record(self, event: Durable) -> Envelope:
        """Store an event that does not come from the engine itself.

        Raises:
            LogError: it could not be stored, and was not published.
        """
        if self._engine is not None:
            return self._engine.record(event)
        envelope = self.append(event, sync=True)
        if self._missed is not None:
            self._missed.append(event)
        return envelope

    async def begin_engine(self) -> list[Envelope]:
        """The entries of the current branch, for an engine that starts with them; `attach_engine` follows."""
        self._missed = []
        return await asyncio.to_thread(self.branch, self.head)

    def attach_engine(self, engine: EngineJournal) -> None:
        """Let an engine catch up, and record events of others through it, so that its state stays that of the log."""
        missed, self._missed = self._missed or (), None
        engine.catch_up(missed)
        self._engine = engine

    def detach_engine(self) -> None:
        self._engine = self._missed = None

    def show(self, event: Live, parent_call: str = "") -> None:
        """Publish an event that is not stored; `parent_call` started the sub-agent whose event it is."""
        self._publisher.publish_live(self.id, event, parent_call)

    def show_inventory_change(self) -> None:
        """Publish that the commands or MCP servers of the session changed."""
        self._publisher.publish_inventory_change(self.id)

    # ------------------------------------------------------------ as a log

    @property
    def session_id(self) -> str:
        return self.log.session_id

    @property
    def path(self) -> str:
        return self.log.path

    @property
    def head(self) -> str:
        return self.log.head

    @property
    def seq(self) -> int:
        return self.log.seq

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
        try:
            envelope = self.log.append(event, sync=sync, parent=parent, id=id, agent=agent, parent_call=parent_call)
        except LogError as error:
            if self._on_write_error is not None and self.view.status in BUSY:
                # The log cannot record what happened: at least show people the reason.
                self._on_write_error(replace(self.view, error=str(error)))
            raise
        before = self.view
        self.view = after = before.apply(envelope)
        _note_input(event, self.inputs)
        # Nothing is shown before it is stored.
        self.log.when_stored(partial(self._announce, before, after, envelope))
        return envelope

    def branch(self, head: str = "") -> list[Envelope]:
        """The entries up to `head`, or to the last one, without those of abandoned branches."""
        head, tree = head or self.head, LogTree()
        for envelope in self.reader.read():
            tree.add(envelope)
        return tree.path_to(head)

    def read(self, after: int = 0) -> Iterator[Envelope]:
        return self.reader.read(after)

    async def settled(self) -> None:
        await self.log.settled()

    def when_stored(self, then: Callable[[], None]) -> None:
        self.log.when_stored(then)

    def sync(self) -> None:
        self.log.sync()

    def close(self) -> None:
        """Called by engines when they end; the session stays open until `release`."""

    def release(self) -> None:
        """Release the log, so that another process may write it."""
        self._publisher.end_live(self.id)
        self.log.close()

    # ------------------------------------------------------------ publishing

    def _announce(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        self._publisher.publish_entry(before, after, envelope)
        self._index.put(self.id, envelope, after)
        self._changed(before, after, envelope)


def collect_inputs(entries: Iterable[Envelope]) -> dict[str, str]:
    """Ids of inputs by the client ids of their senders."""
    found: dict[str, str] = {}
    for envelope in entries:
        _note_input(envelope.event, found)
    return found


def _note_input(event: Durable, into: dict[str, str]) -> None:
    if isinstance(event, InputQueued | Prompted) and event.client_id:
        into.setdefault(event.client_id, event.id)
