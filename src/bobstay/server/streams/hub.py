"""Who is told what: topics and the clients that follow them. Nobody waits here for a slow client.

A client follows a session in two steps: it reads the log up to the head, and in the same breath in which it has it all
it is added to the topic (`follow`). Nothing can fall in between, and nothing comes twice.
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
"""What is taken from a queue in one go, so that a slow client's backlog stays in the queue, where it is counted."""

Closing: TypeAlias = Literal["", "slow_consumer", "revoked", "shutdown", "gone"]

EVERYTHING = "*"
"""The topic of those who follow the durable events of all sessions."""


class HubClient:
    """One connection's queue. Bounded: a client that does not keep up is closed, and comes back with its cursor."""

    def __init__(
        self,
        name: str = "",
        most_frames: int = MOST_FRAMES,
        most_bytes: int = MOST_BYTES,
        principal: Principal = OWNER,
    ) -> None:
        self.name = name
        self.principal = principal
        """Whose connection it is; `principal.client` is the token or cookie whose end is its end too."""
        self.closed: Closing = ""
        """Why it must go; empty while it may stay."""
        self.cut = 0
        """Characters of a text this client wants at most; 0 is all."""
        self.topics: set[str] = set()
        self.ended = asyncio.Event()
        """Set when it is closed: whoever is stuck in a slow socket on its behalf can give up."""
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._most_frames = most_frames
        self._most_bytes = most_bytes
        self._wake: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._empty = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Bytes in the queue."""
        return self._bytes

    def offer(self, frame: bytes) -> None:
        """Put a frame into the queue; where there is no room for it, the client is closed.

        One frame may exceed the limit, however large it is: what is in the log must get through somehow.
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
        """Put a frame into the queue once there is room: for what can wait, such as history."""
        while self.crowded and not self.closed:
            self._room.clear()
            await self._room.wait()
        self.offer(frame)

    @property
    def crowded(self) -> bool:
        """Whether history has to wait: it never takes more than a quarter of the queue from what is live."""
        return self._bytes > self._most_bytes // 4 or len(self._frames) > self._most_frames // 4

    async def take(self) -> list[bytes]:
        """Frames that wait, at least one, not much more than `BATCH_BYTES`; none if the client was closed."""
        while not self._frames and not self.closed:
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        if self._bytes <= BATCH_BYTES:
            frames = list(self._frames)
            self._frames.clear()
            self._bytes = 0
        else:
            frames = self._some()
        if not self.crowded:
            self._room.set()
        if not self._frames:
            self._empty.set()
        return frames

    async def drained(self) -> None:
        """Wait until all that was put in has been taken out."""
        while self._frames and not self.closed:
            self._empty.clear()
            await self._empty.wait()

    def close(self, why: Closing) -> None:
        """End the connection. What waits is dropped: the client gets it by its cursor when it is back."""
        if not self.closed:
            self.closed = why
            self._frames.clear()
            self._bytes = 0
            self._room.set()
            self._empty.set()
            self.ended.set()
            if self._wake is not None and not self._wake.done():
                self._wake.set_result(None)

    def _some(self) -> list[bytes]:
        frames: list[bytes] = []
        size = 0
        while self._frames and (not frames or size + len(self._frames[0]) <= BATCH_BYTES):
            frames.append(self._frames.popleft())
            size += len(frames[-1])
        self._bytes -= size
        return frames


class Hub:
    """The followers of each topic: `app` for all that concerns lists, `session:ID` for one session."""

    def __init__(self) -> None:
        self.recent = RecentEvents()
        """The last durable frames of all sessions, for those who follow everything."""
        self._topics: dict[str, set[HubClient]] = {}
        self._clients: set[HubClient] = set()

    def join(self, client: HubClient) -> None:
        """A connection is there, though it follows nothing yet: it can be closed from now on."""
        self._clients.add(client)

    def follow(self, topic: str, client: HubClient) -> None:
        self._clients.add(client)
        self._topics.setdefault(topic, set()).add(client)
        client.topics.add(topic)
        if topic == EVERYTHING:
            self.recent.wanted = True

    def leave(self, topic: str, client: HubClient) -> None:
        client.topics.discard(topic)
        followers = self._topics.get(topic)
        if followers is not None:
            followers.discard(client)
            if not followers:
                del self._topics[topic]

    def dissolve(self, topic: str) -> None:
        """There is no such topic any more: what comes under its name later is another."""
        for client in self._topics.pop(topic, ()):
            client.topics.discard(topic)

    def forget(self, client: HubClient) -> None:
        """The connection is gone: leave all its topics."""
        for topic in tuple(client.topics):
            self.leave(topic, client)
        self._clients.discard(client)

    def publish(self, topic: str, frame: bytes) -> None:
        followers = self._topics.get(topic)
        if followers:
            for client in tuple(followers):
                client.offer(frame)
        if self.recent.wanted:
            self._publish_everywhere(frame)

    def followed(self, topic: str) -> bool:
        """Whether anybody would see a frame of this topic: if not, none need be made."""
        return topic in self._topics or self.recent.wanted

    def has_followers(self, topic: str) -> bool:
        """Whether somebody follows this very topic."""
        return topic in self._topics

    def clients(self) -> set[HubClient]:
        """All connections, whatever they follow."""
        return set(self._clients)

    def revoke(self, client_id: str) -> int:
        """Close all that came in with this token or cookie; says how many those were."""
        found = [client for client in self._clients if client.principal.client == client_id]
        for client in found:
            client.close("revoked")
        return len(found)

    def shut(self, why: Closing = "shutdown") -> None:
        """The server ends: close everybody."""
        for client in self._clients:
            client.close(why)

    def _publish_everywhere(self, frame: bytes) -> None:
        followers = self._topics.get(EVERYTHING, ())
        if self.recent.add(frame, followed=bool(followers)):
            for client in tuple(followers):
                client.offer(frame)
