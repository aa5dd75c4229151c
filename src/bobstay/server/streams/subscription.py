"""Following a topic: what was, then what is, with nothing lost and nothing twice in between.

A follower reads the log towards the head. In the very step in which its cursor is the session's `seq` it is added to
the topic: nothing is awaited in between, so no entry can be missed, and none can come by both ways.
"""

import asyncio
import logging
from typing import Any, Literal, TypeAlias

from bobstay.model.ids import is_uuid, new_id
from bobstay.server.api.dispatch import of_log
from bobstay.server.errors import ApiError, Problem
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.sessions.session_status import BUSY
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.hub import EVERYTHING, HubClient
from bobstay.server.streams.log_history import LogHistory
from bobstay.server.streams.session_changes import APP
from bobstay.server.streams.stream_frames import live
from bobstay.server.streams.stream_timing import StreamTiming
from bobstay.sessions.log import LogError

log = logging.getLogger(__name__)

Cursor: TypeAlias = int | str
"""A `seq`, the id of an entry, `now`, or for the topic `*` what came with its last frame."""
Reason: TypeAlias = Literal["future_cursor", "unknown_cursor", "other_epoch", "other_server", "too_old"]

NOW = "now"
SESSION = "session:"
FEW = 32
"""So many entries are read without a thread."""
LISTED = 200
"""Sessions in the snapshot of the app topic; those that run or ask come on top. The rest is there by REST."""


class Streams:
    """What a connection needs to follow topics. One for the whole server."""

    def __init__(self, registry: SessionRegistry, server_id: str = "", timing: StreamTiming | None = None) -> None:
        self.registry = registry
        self.hub = registry.hub
        self.history = LogHistory(registry)
        registry.forgotten.append(self.history.forget)
        self.server_id = server_id or new_id()
        """Names this run of the server: numbers of the topic `*` are good for no other."""
        self.timing = timing or StreamTiming()

    async def follow(self, client: HubClient, topic: str, after: Cursor = 0, epoch: str = "") -> None:
        """Bring `client` up to date on `topic` and let it follow; returns when it does.

        Raises:
            ApiError: there is no such topic, or the client may not follow it.
        """
        if not client.principal.may("read"):
            raise ApiError("forbidden", "Watching needs the scope `read`.")
        if topic == APP:
            self._follow_app(client)
        elif topic == EVERYTHING:
            self.follow_everything(client, after)
        elif topic.startswith(SESSION):
            try:
                await _Following(self, client, topic, after, epoch).run()
            except LogError as error:
                raise of_log(error) from error
        else:
            raise ApiError("not_found", f"There is no topic {topic[:80]!r}: say `app` or `session:` and an id.")

    def follow_everything(self, client: HubClient, after: Cursor) -> int:
        """Follow the durable events of all sessions from now on, or from a number that is still remembered.

        Returns the number before the first frame that comes; each further one counts one.
        """
        recent = self.hub.recent
        self.hub.follow(EVERYTHING, client)
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
        said = {"topic": EVERYTHING, "cursor": f"{self.server_id}-{recent.last}"}
        client.offer(live("stream.synchronized", said, topic=EVERYTHING))
        return start

    def leave(self, client: HubClient, topic: str) -> None:
        self.hub.leave(topic, client)

    def close(self) -> None:
        self.history.close()

    def _follow_app(self, client: HubClient) -> None:
        self.hub.follow(APP, client)
        client.offer(live("stream.synchronized", {"topic": APP, **app_snapshot(self.registry)}, topic=APP))


class _Following:
    """One client on its way to the head of one session."""

    def __init__(self, streams: Streams, client: HubClient, topic: str, after: Cursor, epoch: str) -> None:
        self._registry = streams.registry
        self._hub = streams.hub
        self._history = streams.history
        self._client = client
        self._topic = topic
        self._session_id = topic.removeprefix(SESSION)
        self._after = after
        self._known_epoch = epoch
        self._epoch = ""
        self._view: SessionView | None = None
        """The fold at the cursor, once something was read."""

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
        """The `seq` to go on from; where the client's cursor means nothing here it is told so."""
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
        """What the client has is of no use: it shows that until it has loaded a snapshot, and goes on from now."""
        head = self._head
        said = {"topic": self._topic, "reason": reason, "seq": head, "epoch": self._epoch}
        self._client.offer(live("stream.reset", said, self._session_id))
        return head

    async def _read(self, cursor: int, head: int) -> int:
        """Send some entries after `cursor`; returns the new one."""
        if self._view is not None and head - cursor <= FEW:
            page = self._history.next(self._session_id, self._view, cursor, head)
        else:
            page = await self._history.page(self._session_id, cursor, head)
        self._view = page.view
        for frame in page.frames:
            if self._client.crowded:
                await self._client.send(frame)
            else:
                self._client.offer(frame)
        if not page.frames:  # the log is shorter than it was: somebody cut it
            log.warning("session %s has no entries from %d to %d", self._session_id, cursor + 1, head)
            return head
        return page.seq

    def _go_live(self, seq: int) -> None:
        session = self._registry.opened(self._session_id)
        parts: list[dict[str, Any]] = session.parts.snapshot() if session is not None else []
        view = self._registry.view(self._session_id)
        self._hub.follow(self._topic, self._client)
        said = {"topic": self._topic, "seq": seq, "epoch": self._epoch, "session": view.shown(), "parts": parts}
        self._client.offer(live("stream.synchronized", said, self._session_id))

    @property
    def _head(self) -> int:
        return self._registry.view(self._session_id).seq


class Subscriptions:
    """The topics of one connection, each brought up to date by a task of its own."""

    def __init__(self, streams: Streams, client: HubClient, most: int = 200) -> None:
        self._streams = streams
        self._client = client
        self._most = most
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._topics: set[str] = set()

    def add(self, topic: str, after: Cursor = 0, epoch: str = "") -> None:
        """Follow a topic from a cursor on. One that is followed already is followed anew.

        Raises:
            ApiError: these are too many.
        """
        if topic not in self._topics and len(self._topics) >= self._most:
            raise ApiError("too_many", f"One connection may follow {self._most} topics. Leave some first.")
        self.drop(topic)
        self._topics.add(topic)
        self._tasks[topic] = asyncio.create_task(self._follow(topic, after, epoch))

    def drop(self, topic: str) -> bool:
        """Leave a topic; false if it was not followed."""
        task = self._tasks.pop(topic, None)
        if task is not None:
            task.cancel()
        self._streams.leave(self._client, topic)
        known = topic in self._topics
        self._topics.discard(topic)
        return known

    def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        self._topics.clear()
        self._streams.hub.forget(self._client)

    async def _follow(self, topic: str, after: Cursor, epoch: str) -> None:
        try:
            await self._streams.follow(self._client, topic, after, epoch)
        except ApiError as error:
            self._topics.discard(topic)
            self._client.offer(error_frame(error.problem, topic))
        except Exception:  # the last boundary before the client, whose other topics go on
            log.exception("cannot follow %s", topic)
            self._topics.discard(topic)
            problem = Problem("internal", "This cannot be followed now: something in the server broke. Try again.")
            self._client.offer(error_frame(problem, topic))
        finally:
            if self._tasks.get(topic) is asyncio.current_task():
                del self._tasks[topic]


def error_frame(problem: Problem, topic: str = "", *, answers: str = "") -> bytes:
    """What went wrong, for the client; `answers` is the id of the frame of the client that it is about."""
    said: dict[str, Any] = {"code": problem.code, "message": problem.message}
    if problem.details:
        said["details"] = problem.details
    if answers:
        said["id"] = answers
    return live("error", said, topic=topic)


def is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def app_snapshot(registry: SessionRegistry) -> dict[str, Any]:
    """The sessions people look at first, and all that waits for a person."""
    shown = [view for view in registry.views.values() if not view.archived and view.status != "discarded"]
    shown.sort(key=lambda view: view.updated_at, reverse=True)
    listed = shown[:LISTED] + [view for view in shown[LISTED:] if view.status in BUSY or view.interactions]
    return {
        "sessions": [view.shown() for view in listed],
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
