"""One client of a compatibility route: a place in the hub, a cursor, and who puts our frames into its words."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol

from bobstay.model.ids import is_uuid
from bobstay.server.auth.principal import Principal
from bobstay.server.compat.frame_entry import FrameEntry, Message, read
from bobstay.server.streams.heartbeat import NAME, HeartbeatLoop
from bobstay.server.streams.hub import HubClient
from bobstay.server.streams.stream_frames import live
from bobstay.server.streams.subscription import SESSION, Streams, Subscriptions

HEARTBEAT: Message = {"type": "heartbeat"}
SYNCHRONIZED: Message = {"type": "synchronized"}
"""From here on it is told as it happens. Not every route passes this on."""


ASIDE = "compat.aside"


class Translator(Protocol):
    """Puts frames into a client's words. It sees every frame from the first on, whatever the client has already."""

    def messages(self, entry: FrameEntry) -> list[Message]: ...


class CompatFeed:
    """Frames are read from the beginning of a log, so that sums are right; only what is new to the client is told."""

    def __init__(self, client: HubClient, subscriptions: Subscriptions, translator: Translator) -> None:
        self.client = client
        self._subscriptions = subscriptions
        self._translator = translator
        self._after = 0

    def follow(self, topic: str, after: int = 0) -> None:
        """Tell the client of a topic, of what came after the entry `after`."""
        self._after = after
        self._subscriptions.add(topic)

    def say(self, message: Message) -> None:
        """Tell the client something that is not in the log: an answer to what it said."""
        self.client.offer(live(ASIDE, message))

    async def take(self) -> list[tuple[int, Message]]:
        """What is next, each with the `seq` it stands for (0: none); nothing if the client has to go."""
        while frames := await self.client.take():
            told = [pair for frame in frames for pair in self._told(frame)]
            if told:
                return told
        return []

    def _told(self, frame: bytes) -> list[tuple[int, Message]]:
        entry = read(frame)
        if entry.type == NAME:
            return [(0, HEARTBEAT)]
        if entry.type == ASIDE:
            return [(0, entry.words)]
        messages = self._translator.messages(entry)
        if entry.type == "stream.synchronized":
            messages = [*messages, SYNCHRONIZED]
        if 0 < entry.seq <= self._after:
            return []
        return [(entry.seq, message) for message in messages]


@asynccontextmanager
async def feed_of(streams: Streams, principal: Principal, translator: Translator) -> AsyncGenerator[CompatFeed, None]:
    """A place for a client that follows nothing yet. It is closed when what it came with is revoked."""
    client = HubClient(principal.name, principal=principal)
    subscriptions = Subscriptions(streams, client)
    streams.hub.join(client)
    beating = HeartbeatLoop(client, streams.timing.heartbeat)
    try:
        yield CompatFeed(client, subscriptions, translator)
    finally:
        beating.cancel()
        subscriptions.close()
        client.close("gone")


async def follow_session(streams: Streams, feed: CompatFeed, session_id: str, after: str) -> None:
    """Follow a session from the cursor `after` on: a `seq`, the id of an entry, `now`, or nothing for all of it.

    A cursor that means nothing here is answered with `reset`, and everything (S004-29).
    """
    start = await _start(streams, session_id, after)
    if start is None:
        feed.say({"type": "reset", "reason": "unknown_cursor"})
    feed.follow(SESSION + session_id, start or 0)


async def _start(streams: Streams, session_id: str, after: str) -> int | None:
    head = streams.registry.view(session_id).seq
    if not after:
        return 0
    if after == "now":
        return head
    if after.isascii() and after.isdigit() and len(after) < 20 and int(after) <= head:
        return int(after)
    return await streams.history.find(session_id, after) if is_uuid(after) else None
