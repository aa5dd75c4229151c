"""A session that this server writes: appends events to its log, publishes them and queues them for projection."""

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
    """Holds the lease on the log. It implements the `Log` that engines write, so that every entry is published."""

    def __init__(
        self,
        log: JsonlLog,
        view: SessionView,
        hub: Hub,
        index: Index,
        changed: Callable[[SessionView, SessionView, Envelope], None],
        inputs: dict[str, str] | None = None,
        on_write_error: Callable[[SessionView], None] | None = None,
    ) -> None:
        self.log = log
        self.view = view
        self.reader = LogReader(log.path)
        self.parts = LiveParts(log.session_id, self._publish)
        self.driver: Driver | None = None
        """The engine that runs it in this process, if any: events of others must be recorded through it."""
        self._hub = hub
        self._index = index
        self._changed = changed
        self._on_write_error = on_write_error
        self.inputs = {} if inputs is None else inputs
        """Ids of inputs by the client ids of their senders."""
        self._topic = f"session:{log.session_id}"

    @property
    def id(self) -> str:
        return self.log.session_id

    def record(self, event: Durable) -> Envelope:
        """Store an event that does not come from the engine itself.

        Raises:
            LogError: it could not be stored, and was not published.
        """
        if self.driver is not None:
            return self.driver.record(event)
        return self.append(event, sync=True)

    def show(self, event: Live) -> None:
        """Publish an event that is not stored."""
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
            if self._on_write_error is not None and self.view.status in BUSY:
                # The log cannot record what happened: at least show people the reason.
                self._on_write_error(replace(self.view, error=str(error)))
            raise
        self._publish_entry(envelope)
        return envelope

    def branch(self) -> list[Envelope]:
        """The entries of the current branch, without those of abandoned branches."""
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
        """Called by engines when they end; the session stays open until `release`."""

    def release(self) -> None:
        """Release the log, so that another process may write it."""
        self.parts.flush()
        self.log.close()

    # ------------------------------------------------------------ publishing

    def _publish_entry(self, envelope: Envelope) -> None:
        before = self.view
        self.view = after = before.apply(envelope)
        self.parts.stored(envelope.event)
        followed = self._hub.is_wanted(self._topic)
        if followed:
            self._publish(entry_frame(before, after, envelope))
        if isinstance(envelope.event, TasksReplaced):
            whom = "sent to subscribers" if followed else "no subscribers"
            log.debug("session %s: %d tasks in entry %d, %s", self.id, len(envelope.event.tasks), envelope.seq, whom)
        _note_input(envelope.event, self.inputs)
        self._index.put(self.id, envelope, after)
        self._changed(before, after, envelope)

    def _publish(self, frame: bytes) -> None:
        self._hub.publish(self._topic, frame)


def collect_inputs(entries: Iterable[Envelope]) -> dict[str, str]:
    """Ids of inputs by the client ids of their senders."""
    found: dict[str, str] = {}
    for envelope in entries:
        _note_input(envelope.event, found)
    return found


def _note_input(event: Durable, into: dict[str, str]) -> None:
    if isinstance(event, InputQueued | Prompted) and event.client_id:
        into.setdefault(event.client_id, event.id)


def entry_frame(before: SessionView, after: SessionView, envelope: Envelope) -> bytes:
    """The frame of an entry, with the changes of status and context threshold it caused."""
    changed = None
    if before.status != after.status:
        changed = Transition(before.status, after.status, after.error)
    return durable(after.id, envelope, turn=after.turns, status=changed, threshold=context_threshold(before, after))


def context_threshold(before: SessionView, after: SessionView) -> str:
    """`warning` or `critical` if the context has just grown beyond that threshold, else nothing."""
    earlier, now = fullness(before), fullness(after)
    if earlier < CRITICAL <= now:
        return "critical"
    if earlier < WARNING <= now < CRITICAL:
        return "warning"
    return ""


def fullness(view: SessionView) -> float:
    return view.context / view.context_limit if view.context_limit else 0.0
