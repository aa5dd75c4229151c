"""Publish-subscribe hub: topics, subscribers, and a bounded queue per client, so that nobody waits for a slow one.

A client subscribes to a session in two steps: it replays the log up to the head, and in the same event loop step in
which it has reached the head it is added to the topic (`subscribe`). So no event is missed and none is sent twice.
"""

import asyncio
from collections import deque
from typing import Literal, TypeAlias

from bobstay.server.auth.principal import OWNER, Principal
from bobstay.server.streams.recent_events import RecentEvents
from bobstay.server.streams.text_cutting import cut_frame

MOST_FRAMES = 1024
MOST_BYTES = 4 * 1024 * 1024
BATCH_BYTES = 256 * 1024
"""Maximum size of a batch from a queue, so that a slow client's backlog stays in the queue, where it is counted."""

Closing: TypeAlias = Literal["", "slow_consumer", "revoked", "shutdown", "gone"]

EVERYTHING = "*"
"""The topic of the durable events of all sessions."""


class HubClient:
    """The bounded queue of one connection. A client that does not keep up is closed, and resumes with its cursor."""

    def __init__(
        self,
        name: str = "",
        most_frames: int = MOST_FRAMES,
        most_bytes: int = MOST_BYTES,
        principal: Principal = OWNER,
    ) -> None:
        self.name = name
        self.principal = principal
        """The principal of the connection, which is closed when `principal.client` is revoked."""
        self.closed: Closing = ""
        """Why it was closed; empty while it is open."""
        self.cut = 0
        """Maximum characters of a text for this client; 0 for all."""
        self.topics: set[str] = set()
        self.ended = asyncio.Event()
        """Set when it is closed, so that a task blocked on its slow socket can stop."""
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._most_frames = most_frames
        self._most_bytes = most_bytes
        self._wake: asyncio.Future[None] | None = None
        self._space = asyncio.Event()
        self._space.set()
        self._empty = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Bytes in the queue."""
        return self._bytes

    def offer(self, frame: bytes) -> None:
        """Queue a frame; if the queue is full, the client is closed.

        One frame may exceed the limit, however large it is, because every entry of the log must be deliverable.
        """
        if self.closed:
            return
        if len(self._frames) >= self._most_frames or self._bytes > self._most_bytes:
            self.close("slow_consumer")
            return
        if self.cut and len(frame) > self.cut:
            frame = cut_frame(frame, self.cut)
        self._frames.append(frame)
        self._bytes += len(frame)
        wake = self._wake
        if wake is not None and not wake.done():
            wake.set_result(None)

    async def send(self, frame: bytes) -> None:
        """Queue a frame once there is space, for frames that can wait, such as a replay."""
        while self.crowded and not self.closed:
            self._space.clear()
            await self._space.wait()
        self.offer(frame)

    @property
    def crowded(self) -> bool:
        """Whether a replay has to wait: it never takes more than a quarter of the queue."""
        return self._bytes > self._most_bytes // 4 or len(self._frames) > self._most_frames // 4

    async def next_batch(self) -> list[bytes]:
        """The next frames, at least one and about `BATCH_BYTES` at most; empty if the client was closed."""
        while not self._frames and not self.closed:
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        if self._bytes <= BATCH_BYTES:
            frames = list(self._frames)
            self._frames.clear()
            self._bytes = 0
        else:
            frames = self._take_batch()
        if not self.crowded:
            self._space.set()
        if not self._frames:
            self._empty.set()
        return frames

    async def wait_drained(self) -> None:
        """Wait until the queue is empty."""
        while self._frames and not self.closed:
            self._empty.clear()
            await self._empty.wait()

    def close(self, why: Closing) -> None:
        """Close the connection and drop its queue: the client gets the frames by its cursor when it reconnects."""
        if not self.closed:
            self.closed = why
            self._frames.clear()
            self._bytes = 0
            self._space.set()
            self._empty.set()
            self.ended.set()
            if self._wake is not None and not self._wake.done():
                self._wake.set_result(None)

    def _take_batch(self) -> list[bytes]:
        frames: list[bytes] = []
        size = 0
        while self._frames and (not frames or size + len(self._frames[0]) <= BATCH_BYTES):
            frames.append(self._frames.popleft())
            size += len(frames[-1])
        self._bytes -= size
        return frames


class Hub:
    """The subscribers of each topic: `app` for lists of sessions, `session:ID` for one session."""

    def __init__(self) -> None:
        self.recent = RecentEvents()
        """The last durable frames of all sessions, for subscribers of everything."""
        self._topics: dict[str, set[HubClient]] = {}
        self._clients: set[HubClient] = set()

    def add_client(self, client: HubClient) -> None:
        """Register a connection without subscriptions, so that it can be closed."""
        self._clients.add(client)

    def subscribe(self, topic: str, client: HubClient) -> None:
        self._clients.add(client)
        self._topics.setdefault(topic, set()).add(client)
        client.topics.add(topic)
        if topic == EVERYTHING:
            self.recent.wanted = True

    def unsubscribe(self, topic: str, client: HubClient) -> None:
        client.topics.discard(topic)
        subscribers = self._topics.get(topic)
        if subscribers is not None:
            subscribers.discard(client)
            if not subscribers:
                del self._topics[topic]

    def remove_topic(self, topic: str) -> None:
        """Remove a topic with its subscribers; a later topic of the same name is another one."""
        for client in self._topics.pop(topic, ()):
            client.topics.discard(topic)

    def remove_client(self, client: HubClient) -> None:
        """Remove a connection from all its topics."""
        for topic in tuple(client.topics):
            self.unsubscribe(topic, client)
        self._clients.discard(client)

    def publish(self, topic: str, frame: bytes) -> None:
        subscribers = self._topics.get(topic)
        if subscribers:
            for client in tuple(subscribers):
                client.offer(frame)
        if self.recent.wanted:
            self._publish_everywhere(frame)

    def is_wanted(self, topic: str) -> bool:
        """Whether anybody would get a frame of this topic; if not, none needs to be made."""
        return topic in self._topics or self.recent.wanted

    def has_subscribers(self, topic: str) -> bool:
        """Whether this topic itself has subscribers."""
        return topic in self._topics

    def clients(self) -> set[HubClient]:
        """All connections, with or without subscriptions."""
        return set(self._clients)

    def revoke(self, client_id: str) -> int:
        """Close all connections of this token or cookie. Returns how many there were."""
        found = [client for client in self._clients if client.principal.client == client_id]
        for client in found:
            client.close("revoked")
        return len(found)

    def close_all(self, why: Closing = "shutdown") -> None:
        """Close all connections, because the server shuts down."""
        for client in self._clients:
            client.close(why)

    def _publish_everywhere(self, frame: bytes) -> None:
        subscribers = self._topics.get(EVERYTHING, ())
        if self.recent.add(frame, subscribed=bool(subscribers)):
            for client in tuple(subscribers):
                client.offer(frame)
