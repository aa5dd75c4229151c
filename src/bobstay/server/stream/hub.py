"""Who is told what: topics and the clients that follow them. Nobody waits here for a slow client.

A client follows a session in two steps: it reads the log up to the head, and in the same breath in which it has it all
it is added to the topic (`follow`). Nothing can fall in between, and nothing comes twice.
"""

import asyncio
from collections import deque

MOST_FRAMES = 512
MOST_BYTES = 4 * 1024 * 1024


class Client:
    """One connection's queue. Bounded: a client that does not keep up is closed, and comes back with its cursor."""

    def __init__(self, name: str = "", most_frames: int = MOST_FRAMES, most_bytes: int = MOST_BYTES) -> None:
        self.name = name
        self.closed = ""
        """Why it must go: `slow_consumer`, `revoked`, `shutdown`; empty while it may stay."""
        self.topics: set[str] = set()
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._most_frames = most_frames
        self._most_bytes = most_bytes
        self._wake: asyncio.Future[None] | None = None
        self._room: asyncio.Future[None] | None = None

    def offer(self, frame: bytes) -> None:
        """Put a frame into the queue; where there is no room for it, the client is closed."""
        if self.closed:
            return
        if len(self._frames) >= self._most_frames or (self._frames and self._bytes + len(frame) > self._most_bytes):
            self.close("slow_consumer")
            return
        self._frames.append(frame)
        self._bytes += len(frame)
        _set(self._wake)

    async def send(self, frame: bytes) -> None:
        """Put a frame into the queue once there is room: for what can wait, such as history."""
        while not self.closed and (self._bytes > self._most_bytes // 4 or len(self._frames) > self._most_frames // 4):
            self._room = asyncio.get_running_loop().create_future()
            await self._room
        self.offer(frame)

    async def take(self) -> list[bytes]:
        """All frames that wait, at least one; none if the client was closed."""
        while not self._frames and not self.closed:
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        if self.closed:
            return []
        frames = list(self._frames)
        self._frames.clear()
        self._bytes = 0
        _set(self._room)
        return frames

    def close(self, why: str) -> None:
        if not self.closed:
            self.closed = why
            self._frames.clear()
            self._bytes = 0
            _set(self._wake)
            _set(self._room)


class Hub:
    """The followers of each topic: `app` for all that concerns lists, `session:ID` for one session."""

    def __init__(self) -> None:
        self._topics: dict[str, set[Client]] = {}

    def follow(self, topic: str, client: Client) -> None:
        self._topics.setdefault(topic, set()).add(client)
        client.topics.add(topic)

    def leave(self, topic: str, client: Client) -> None:
        client.topics.discard(topic)
        followers = self._topics.get(topic)
        if followers is not None:
            followers.discard(client)
            if not followers:
                del self._topics[topic]

    def forget(self, client: Client) -> None:
        """The connection is gone: leave all its topics."""
        for topic in tuple(client.topics):
            self.leave(topic, client)

    def publish(self, topic: str, frame: bytes) -> None:
        followers = self._topics.get(topic)
        if followers:
            for client in tuple(followers):
                client.offer(frame)

    def followed(self, topic: str) -> bool:
        return topic in self._topics

    def clients(self) -> set[Client]:
        return {client for followers in self._topics.values() for client in followers}


def _set(future: "asyncio.Future[None] | None") -> None:
    if future is not None and not future.done():
        future.set_result(None)
