"""Feed of one client of a compatibility route: a hub client with a cursor and a translator of frames."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol

from bobstay.model.ids import is_uuid
from bobstay.server.auth.principal import Principal
from bobstay.server.compat.frame_entry import FrameEntry, Message, decode_frame
from bobstay.server.streams.heartbeat import NAME, HeartbeatLoop
from bobstay.server.streams.hub import HubClient
from bobstay.server.streams.stream_frames import SESSION, live
from bobstay.server.streams.subscription import Streams, Subscriptions

HEARTBEAT: Message = {"type": "heartbeat"}
SYNCHRONIZED: Message = {"type": "synchronized"}
"""Marks the end of the replay. Not every route sends it."""


DIRECT = "compat.direct"


class Translator(Protocol):
    """Translates frames into a client's messages. It gets every frame from the first on, whatever the cursor."""

    def messages(self, entry: FrameEntry) -> list[Message]: ...


class CompatFeed:
    """Reads frames from the beginning of a log, so that totals are right, and returns those after the cursor."""

    def __init__(self, client: HubClient, subscriptions: Subscriptions, translator: Translator) -> None:
        self.client = client
        self._subscriptions = subscriptions
        self._translator = translator
        self._after = 0

    def subscribe(self, topic: str, after: int = 0) -> None:
        """Subscribe the client to a topic, from after the entry `after`."""
        self._after = after
        self._subscriptions.add(topic)

    def send(self, message: Message) -> None:
        """Send a message that is not in the log, such as a reply."""
        self.client.offer(live(DIRECT, message))

    async def next_batch(self) -> list[tuple[int, Message]]:
        """The next messages, each with its `seq` (0: none); empty if the client is closed."""
        while frames := await self.client.next_batch():
            messages = [pair for frame in frames for pair in self._translate(frame)]
            if messages:
                return messages
        return []

    def _translate(self, frame: bytes) -> list[tuple[int, Message]]:
        entry = decode_frame(frame)
        if entry.type == NAME:
            return [(0, HEARTBEAT)]
        if entry.type == DIRECT:
            return [(0, entry.payload)]
        messages = self._translator.messages(entry)
        if entry.type == "stream.synchronized":
            messages = [*messages, SYNCHRONIZED]
        if 0 < entry.seq <= self._after:
            return []
        return [(entry.seq, message) for message in messages]


@asynccontextmanager
async def open_feed(streams: Streams, principal: Principal, translator: Translator) -> AsyncGenerator[CompatFeed, None]:
    """A feed without subscriptions. It is closed when the client's credential is revoked."""
    client = HubClient(principal.name, principal=principal)
    subscriptions = Subscriptions(streams, client)
    streams.hub.add_client(client)
    heartbeats = HeartbeatLoop(client, streams.timing.heartbeat)
    try:
        yield CompatFeed(client, subscriptions, translator)
    finally:
        heartbeats.cancel()
        subscriptions.close()
        client.close("gone")


async def subscribe_session(streams: Streams, feed: CompatFeed, session_id: str, after: str) -> None:
    """Subscribe to a session from the cursor `after` on: a `seq`, the id of an entry, `now`, or empty for all.

    An unknown cursor is answered with `reset` and a replay of everything.
    """
    start = await _start(streams, session_id, after)
    if start is None:
        feed.send({"type": "reset", "reason": "unknown_cursor"})
    feed.subscribe(SESSION + session_id, start or 0)


async def _start(streams: Streams, session_id: str, after: str) -> int | None:
    head = streams.registry.view(session_id).seq
    if not after:
        return 0
    if after == "now":
        return head
    if after.isascii() and after.isdigit() and len(after) < 20 and int(after) <= head:
        return int(after)
    return await streams.history.find(session_id, after) if is_uuid(after) else None
