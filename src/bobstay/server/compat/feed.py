"""One client of a compatibility route: a place in the hub, a cursor, and who puts our frames into its words."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from bobstay.model.ids import is_uuid
from bobstay.server.compat.entry import Entry, Message, read
from bobstay.server.console import Console
from bobstay.server.doors.principal import Principal
from bobstay.server.stream.follow import SESSION, Streams, Subscriptions
from bobstay.server.stream.frames import live
from bobstay.server.stream.heartbeat import NAME, Beating
from bobstay.server.stream.hub import Client

HEARTBEAT: Message = {"type": "heartbeat"}
SYNCHRONIZED: Message = {"type": "synchronized"}
"""From here on it is told as it happens. Not every route passes this on."""


ASIDE = "compat.aside"


class Translator(Protocol):
    """Puts frames into a client's words. It sees every frame from the first on, whatever the client has already."""

    def messages(self, entry: Entry) -> list[Message]: ...


class Feed:
    """Frames are read from the beginning of the log, so that sums are right; only what is new to the client is told."""

    def __init__(self, client: Client, translator: Translator, after: int, before: list[Message]) -> None:
        self.client = client
        self.seq = 0
        """How far the client is."""
        self._translator = translator
        self._after = after
        self._waiting = before

    def say(self, message: Message) -> None:
        """Tell the client something that is not in the log: an answer to what it said."""
        self.client.offer(live(ASIDE, message))

    async def take(self) -> list[tuple[int, Message]]:
        """What is next, each with the `seq` it stands for (0: none); nothing if the client has to go."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            return [(0, message) for message in waiting]
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
        if entry.seq:
            self.seq = entry.seq
            if entry.seq <= self._after:
                return []
        return [(entry.seq, message) for message in messages]


@asynccontextmanager
async def session_feed(
    console: Console, streams: Streams, principal: Principal, session_id: str, translator: Translator, after: str
) -> AsyncGenerator[Feed, None]:
    """Follow a session from the cursor `after` on: a `seq`, the id of an entry, `now`, or nothing for all of it.

    A cursor that means nothing here is answered with `reset`, and everything (S004-29).
    """
    start, before = await _start(console, streams, session_id, after)
    async with _connected(console, streams, principal) as (client, subscriptions):
        subscriptions.add(SESSION + session_id, 0)
        yield Feed(client, translator, start, before)


@asynccontextmanager
async def topic_feed(
    console: Console, streams: Streams, principal: Principal, topic: str, translator: Translator
) -> AsyncGenerator[Feed, None]:
    """Follow a topic that has no history."""
    async with _connected(console, streams, principal) as (client, subscriptions):
        subscriptions.add(topic)
        yield Feed(client, translator, 0, [])


@asynccontextmanager
async def _connected(
    console: Console, streams: Streams, principal: Principal
) -> AsyncGenerator[tuple[Client, Subscriptions], None]:
    client = Client(principal.name, principal=principal)
    subscriptions = Subscriptions(streams, client)
    close: Callable[[object], None] = lambda _: client.close("revoked")  # noqa: E731 - a name for its type
    with console.doors.watching(principal, close):
        streams.hub.join(client)
        beating = Beating(client, streams.timing.heartbeat)
        try:
            yield client, subscriptions
        finally:
            beating.cancel()
            subscriptions.close()
            client.close("gone")


async def _start(console: Console, streams: Streams, session_id: str, after: str) -> tuple[int, list[Message]]:
    head = console.registry.view(session_id).seq
    if not after:
        return 0, []
    if after == "now":
        return head, []
    if after.isascii() and after.isdigit() and len(after) < 20 and int(after) <= head:
        return int(after), []
    found = await streams.history.find(session_id, after) if is_uuid(after) else None
    return (found, []) if found is not None else (0, [{"type": "reset", "reason": "unknown_cursor"}])
