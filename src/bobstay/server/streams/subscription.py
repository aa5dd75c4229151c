"""Subscriptions to topics: a replay of the log, then live frames, without gaps or duplicates.

A subscriber reads the log towards the head. In the same event loop step in which its cursor reaches the session's
`seq` it is added to the topic: nothing is awaited in between, so no entry is missed and none is sent twice.
"""

import asyncio
import logging
from typing import Any, Literal, TypeAlias

from bobstay.model.ids import is_uuid, new_id
from bobstay.server.errors import ApiError, Problem, error_of_log
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_status import BUSY
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.hub import EVERYTHING, Hub, HubClient
from bobstay.server.streams.log_history import LogHistory
from bobstay.server.streams.session_changes import APP
from bobstay.server.streams.stream_frames import SESSION, live
from bobstay.server.streams.stream_publisher import StreamPublisher
from bobstay.server.streams.stream_timing import StreamTiming
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)

Cursor: TypeAlias = int | str
"""A `seq`, the id of an entry, `now`, or for the topic `*` the cursor of its last frame."""
Reason: TypeAlias = Literal["future_cursor", "unknown_cursor", "other_epoch", "other_server", "too_old"]

NOW = "now"
INLINE_ENTRIES = 32
"""Up to so many entries are read without a thread."""
SNAPSHOT_SESSIONS = 200
"""Sessions in the snapshot of the app topic, plus those that run or wait for a person. REST lists the rest."""


class Streams:
    """Subscribes clients to topics. One per server."""

    def __init__(
        self,
        registry: SessionRegistry,
        hub: Hub,
        publisher: StreamPublisher,
        server_id: str = "",
        timing: StreamTiming | None = None,
    ) -> None:
        self.registry = registry
        self.hub = hub
        self.publisher = publisher
        self.history = LogHistory(registry)
        registry.forgotten.append(self.history.forget)
        self.server_id = server_id or new_id()
        """Id of this run of the server: numbers of the topic `*` are valid for no other."""
        self.timing = timing or StreamTiming()

    async def subscribe(self, client: HubClient, topic: str, after: Cursor = 0, epoch: str = "") -> None:
        """Replay `topic` for `client` and subscribe it; returns when it is live.

        Raises:
            ApiError: there is no such topic, or the client may not subscribe to it.
        """
        if not client.principal.may("read"):
            raise ApiError("forbidden", "Watching needs the scope `read`.")
        if topic == APP:
            self._subscribe_app(client)
        elif topic == EVERYTHING:
            self.subscribe_all(client, after)
        elif topic.startswith(SESSION):
            try:
                await _SessionSubscription(self, client, topic, after, epoch).run()
            except LogError as error:
                raise error_of_log(error) from error
        else:
            raise ApiError("not_found", f"There is no topic {topic[:80]!r}. Use `app` or `session:` and an id.")

    def subscribe_all(self, client: HubClient, after: Cursor) -> int:
        """Subscribe to the durable events of all sessions from now on, or from a number within the ring buffer.

        Returns the number before the first frame; each further frame adds one.
        """
        recent = self.hub.recent
        self.hub.subscribe(EVERYTHING, client)
        start, missed = recent.last, list[bytes]()
        if after not in (0, NOW, ""):
            server, _, number = str(after).rpartition("-")
            known = server == self.server_id and is_number(number)
            remembered = recent.after(int(number)) if known else None
            if remembered is None:
                reason: Reason = "too_old" if known else "other_server"
                client.offer(live("stream.reset", {"topic": EVERYTHING, "reason": reason}, topic=EVERYTHING))
            else:
                start, missed = int(number), remembered
        for frame in missed:
            client.offer(frame)
        data = {"topic": EVERYTHING, "cursor": f"{self.server_id}-{recent.last}"}
        client.offer(live("stream.synchronized", data, topic=EVERYTHING))
        return start

    def unsubscribe(self, client: HubClient, topic: str) -> None:
        self.hub.unsubscribe(topic, client)

    def close(self) -> None:
        self.history.close()

    def _subscribe_app(self, client: HubClient) -> None:
        self.hub.subscribe(APP, client)
        client.offer(live("stream.synchronized", {"topic": APP, **app_snapshot(self.registry)}, topic=APP))


class _SessionSubscription:
    """Replay of one session for one client, up to the head."""

    def __init__(self, streams: Streams, client: HubClient, topic: str, after: Cursor, epoch: str) -> None:
        self._registry = streams.registry
        self._hub = streams.hub
        self._publisher = streams.publisher
        self._history = streams.history
        self._client = client
        self._topic = topic
        self._session_id = topic.removeprefix(SESSION)
        self._after = after
        self._known_epoch = epoch
        self._epoch = ""
        self._view: SessionView | None = None
        """The view at the cursor, once something was read."""

    async def run(self) -> None:
        self._registry.view(self._session_id)
        self._epoch = await self._history.epoch(self._session_id)
        cursor = await self._start()
        while not self._client.closed:
            head = self._registry.view(self._session_id).seq
            if cursor >= head:
                self._go_live(head)
                return
            cursor = await self._read(cursor, head)

    async def _start(self) -> int:
        """The `seq` to start from; sends a reset if the client's cursor is not valid here."""
        after = self._after
        if self._known_epoch and self._known_epoch != self._epoch:
            return self._reset("other_epoch")
        if after == NOW:
            return self._head
        if isinstance(after, str):
            if is_number(after):
                after = int(after)
            elif not after:
                after = 0
            else:
                found = await self._history.find(self._session_id, after) if is_uuid(after) else None
                return self._reset("unknown_cursor") if found is None else found
        if after > self._head:
            return self._reset("future_cursor")
        return after if after >= 0 else self._reset("unknown_cursor")

    def _reset(self, reason: Reason) -> int:
        """Tell the client that its cursor is invalid: it loads a snapshot and continues from the head."""
        head = self._head
        data = {"topic": self._topic, "reason": reason, "seq": head, "epoch": self._epoch}
        self._client.offer(live("stream.reset", data, self._session_id))
        return head

    async def _read(self, cursor: int, head: int) -> int:
        """Send some entries after `cursor`; returns the new cursor."""
        if self._view is not None and head - cursor <= INLINE_ENTRIES:
            page = self._history.next(self._session_id, self._view, cursor, head)
        else:
            page = await self._history.page(self._session_id, cursor, head)
        self._view = page.view
        for frame in page.frames:
            if self._client.crowded:
                await self._client.send(frame)
            else:
                self._client.offer(frame)
        if not page.frames:  # the log was truncated
            log.warning("session %s has no entries from %d to %d", self._session_id, cursor + 1, head)
            return head
        return page.seq

    def _go_live(self, seq: int) -> None:
        parts = self._publisher.open_parts(self._session_id)
        view = self._registry.view(self._session_id)
        self._hub.subscribe(self._topic, self._client)
        data = {
            "topic": self._topic,
            "seq": seq,
            "epoch": self._epoch,
            "session": view.without_memory(),
            "parts": parts,
        }
        self._client.offer(live("stream.synchronized", data, self._session_id))

    @property
    def _head(self) -> int:
        return self._registry.view(self._session_id).seq


class Subscriptions:
    """The topics of one connection, each replayed by its own task."""

    def __init__(self, streams: Streams, client: HubClient, most: int = 200) -> None:
        self._streams = streams
        self._client = client
        self._most = most
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._topics: set[str] = set()

    def add(self, topic: str, after: Cursor = 0, epoch: str = "") -> None:
        """Subscribe to a topic from a cursor on. An existing subscription is restarted.

        Raises:
            ApiError: there are too many.
        """
        if topic not in self._topics and len(self._topics) >= self._most:
            raise ApiError("too_many", f"A connection has at most {self._most} topics. Unsubscribe from some first.")
        self.remove(topic)
        self._topics.add(topic)
        self._tasks[topic] = asyncio.create_task(self._subscribe(topic, after, epoch))

    def remove(self, topic: str) -> bool:
        """Unsubscribe from a topic; false if it was not subscribed to."""
        task = self._tasks.pop(topic, None)
        if task is not None:
            task.cancel()
        self._streams.unsubscribe(self._client, topic)
        known = topic in self._topics
        self._topics.discard(topic)
        return known

    def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        self._topics.clear()
        self._streams.hub.remove_client(self._client)

    async def _subscribe(self, topic: str, after: Cursor, epoch: str) -> None:
        try:
            await self._streams.subscribe(self._client, topic, after, epoch)
        except ApiError as error:
            self._topics.discard(topic)
            self._client.offer(error_frame(error.problem, topic))
        except Exception:  # the last boundary before the client, whose other topics continue
            log.exception("cannot subscribe to %s", topic)
            self._topics.discard(topic)
            problem = Problem("internal", "The subscription failed because of an internal error. Try again.")
            self._client.offer(error_frame(problem, topic))
        finally:
            if self._tasks.get(topic) is asyncio.current_task():
                del self._tasks[topic]


def error_frame(problem: Problem, topic: str = "", *, answers: str = "") -> bytes:
    """An error as a frame; `answers` is the id of the client's frame that caused it."""
    data: dict[str, Any] = {"code": problem.code, "message": problem.message}
    if problem.details:
        data["details"] = problem.details
    if answers:
        data["id"] = answers
    return live("error", data, topic=topic)


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def app_snapshot(registry: SessionRegistry) -> dict[str, Any]:
    """The most recent and active sessions, and all open interactions."""
    shown = [view for view in registry.views.values() if not view.archived and view.status != "discarded"]
    shown.sort(key=lambda view: view.updated_at, reverse=True)
    listed = shown[:SNAPSHOT_SESSIONS] + [
        view for view in shown[SNAPSHOT_SESSIONS:] if view.status in BUSY or view.interactions
    ]
    return {
        "sessions": [view.without_memory() for view in listed],
        "total": len(shown),
        "interactions": open_interactions(registry),
        "loading": len(registry.pending),
    }


def open_interactions(registry: SessionRegistry) -> list[dict[str, Any]]:
    return [
        {"session_id": view.id, "interaction": interaction}
        for view in registry.views.values()
        for interaction in view.interactions
    ]
