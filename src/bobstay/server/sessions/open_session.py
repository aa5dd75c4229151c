"""A session this server writes: append to its log, then tell everybody, then let the tables follow."""

import logging
from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from bobstay.engine.driver import Driver
from bobstay.model.event import Durable, Envelope, InputQueued, Prompted, TasksReplaced
from bobstay.model.live_events import Live
from bobstay.server.server_ports import Index
from bobstay.server.sessions.log_reader import LogReader
from bobstay.server.sessions.session_status import BUSY
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.live_parts import LiveParts
from bobstay.server.streams.stream_frames import Transition, durable
from bobstay.sessions.jsonl_log import JsonlLog
from bobstay.sessions.log import LogError
from bobstay.sessions.log_tree import LogTree

log = logging.getLogger(__name__)
WARNING, CRITICAL = 0.6, 0.9


class OpenSession:
    """Holds the lease on the log. It is itself the `Log` that an engine writes, so nothing gets in unseen."""

    def __init__(
        self,
        log: JsonlLog,
        view: SessionView,
        hub: Hub,
        index: Index,
        changed: Callable[[SessionView, SessionView, Envelope], None],
        inputs: dict[str, str] | None = None,
        hindered: Callable[[SessionView], None] | None = None,
    ) -> None:
        self.log = log
        self.view = view
        self.reader = LogReader(log.path)
        self.parts = LiveParts(log.session_id, self._publish)
        self.driver: Driver | None = None
        """The engine that runs it in this process, if one does: what others record must go through it."""
        self._hub = hub
        self._index = index
        self._changed = changed
        self._hindered = hindered
        self.inputs = {} if inputs is None else inputs
        """Ids of inputs by the ids their senders gave them."""
        self._topic = f"session:{log.session_id}"

    @property
    def id(self) -> str:
        return self.log.session_id

    def record(self, event: Durable) -> Envelope:
        """Store something that did not come from the engine itself.

        Raises:
            LogError: it could not be stored, and nobody was told.
        """
        if self.driver is not None:
            return self.driver.record(event)
        return self.append(event, sync=True)

    def show(self, event: Live) -> None:
        """Tell of something that is not stored."""
        self.parts.live(event)

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
            if self._hindered is not None and self.view.status in BUSY:
                # Until the log can be written it does not say what became of this: people are told at least why.
                self._hindered(replace(self.view, error=str(error)))
            raise
        self._tell(envelope)
        return envelope

    def branch(self) -> list[Envelope]:
        """The entries that lead to now, without those of branches that were left."""
        head, tree = self.head, LogTree()
        for envelope in self.reader.read():
            tree.add(envelope)
        return tree.path_to(head)

    def rewind(self, entry: str) -> None:
        self.log.rewind(entry)

    def read(self, after: int = 0) -> Iterator[Envelope]:
        return self.reader.read(after)

    def sync(self) -> None:
        self.log.sync()

    def close(self) -> None:
        """Engines call this when they end; the session stays open until `shut`."""

    def shut(self) -> None:
        """Let go of the log, so that another process may write it."""
        self.parts.flush()
        self.log.close()

    # ------------------------------------------------------------ telling

    def _tell(self, envelope: Envelope) -> None:
        before = self.view
        self.view = after = before.apply(envelope)
        self.parts.stored(envelope.event)
        followed = self._hub.followed(self._topic)
        if followed:
            self._publish(told(before, after, envelope))
        if isinstance(envelope.event, TasksReplaced):
            whom = "sent to those who follow" if followed else "nobody follows"
            log.debug("session %s: %d tasks in entry %d, %s", self.id, len(envelope.event.tasks), envelope.seq, whom)
        _note_input(envelope.event, self.inputs)
        self._index.put(self.id, envelope, after)
        self._changed(before, after, envelope)

    def _publish(self, frame: bytes) -> None:
        self._hub.publish(self._topic, frame)


def inputs_of(entries: Iterable[Envelope]) -> dict[str, str]:
    """Ids of inputs by the ids their senders gave them."""
    found: dict[str, str] = {}
    for envelope in entries:
        _note_input(envelope.event, found)
    return found


def _note_input(event: Durable, into: dict[str, str]) -> None:
    if isinstance(event, InputQueued | Prompted) and event.client_id:
        into.setdefault(event.client_id, event.id)


def told(before: SessionView, after: SessionView, envelope: Envelope) -> bytes:
    """The frame of an entry, with what it changed for the session as a whole."""
    changed = None
    if before.status != after.status:
        changed = Transition(before.status, after.status, after.error)
    return durable(after.id, envelope, turn=after.turns, status=changed, threshold=crossed(before, after))


def crossed(before: SessionView, after: SessionView) -> str:
    """`warning` or `critical` if the context has just grown over that mark, else nothing."""
    earlier, now = fullness(before), fullness(after)
    if earlier < CRITICAL <= now:
        return "critical"
    if earlier < WARNING <= now < CRITICAL:
        return "warning"
    return ""


def fullness(view: SessionView) -> float:
    return view.context / view.context_limit if view.context_limit else 0.0
