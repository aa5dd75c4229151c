"""How a console reaches a run of the command line: a socket only its owner can open, one line a wish.

`{"do":"answer","id":…,"answer":{…}}`, `{"do":"interrupt"}`, `{"do":"say","blocks":[…],"how":"steer"}`; each is answered
by `{"ok":true}`, with the `id` of what was said, or by `{"error":"…"}`. What happens then is in the session's log,
which the console reads.
"""

import asyncio
import os
import socket
from contextlib import suppress
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bobstay.assembly.session import Session
from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InteractionOpened
from bobstay.model.message import Block
from bobstay.system.socket_path import short_path

LONGEST_LINE = 40 * 1024 * 1024
"""Bytes of a wish: a message with its pictures is one."""


class ControlMessage(Struct, frozen=True):
    do: Literal["answer", "interrupt", "say"]
    id: str = ""
    answer: Answer | None = None
    text: str = ""
    blocks: tuple[Block, ...] = ()
    """What is said, pictures too; without them `text` is."""
    client_id: str = ""
    """The sender's own id for it: said twice, it is heard once."""
    how: Literal["steer", "queue"] = "steer"


class ControlSocket:
    """Open while the run lasts. As a gate it waits for a console's answers."""

    can_ask = True

    def __init__(self) -> None:
        self._session: Session | None = None
        self._path = ""
        self._server: asyncio.Server | None = None
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self._heard: dict[str, str] = {}
        """Ids of what was said, by the ids their senders gave it."""
        self._binding = asyncio.Lock()

    def attend(self, session: Session) -> None:
        """Speak for `session` from now on."""
        self._session = session

    async def ask(self, opened: InteractionOpened) -> Answer:
        """Wait until somebody at a console answers, however long that takes."""
        await self.listen()
        if self._server is None:
            return Answer(False, "No console can reach this run: its socket could not be made.", by="nobody")
        waiter: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[opened.id] = waiter
        try:
            return await waiter
        finally:
            del self._waiting[opened.id]

    async def listen(self) -> None:
        """Be reachable from now on. Several may want that at once."""
        async with self._binding:
            if self._server is None and self._session is not None:
                await self._listen(self._session)

    async def _listen(self, session: Session) -> None:
        # Beside the folder of sessions: whoever finds the log finds the socket.
        folder = os.path.join(os.path.dirname(os.path.dirname(session.driver.log.path)), "run")
        path = os.path.join(folder, f"{session.id}.sock")
        try:
            listener = _bound(folder, path)
        except OSError:
            return  # the run goes on without being reached
        self._path = path
        self._server = await asyncio.start_unix_server(self._serve, sock=listener, limit=LONGEST_LINE)

    async def close(self) -> None:
        self._session = None
        async with self._binding:  # one that is being made is closed too
            if self._server is None:
                return
            self._server.close()
            self._server = None
            with suppress(OSError):
                os.unlink(self._path)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(msgspec.json.encode(await self._done(line)) + b"\n")
                await writer.drain()
        except (ValueError, ConnectionError):
            return  # a line too long, or whoever asked is gone
        finally:
            writer.close()

    async def _done(self, line: bytes) -> dict[str, Any]:
        try:
            wish = msgspec.json.decode(line, type=ControlMessage)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return {"error": f"not understood: {error}"}
        if self._session is None:
            return {"error": "the run is over"}
        match wish.do:
            case "interrupt":
                await self._session.interrupt()
            case "say":
                return {"ok": True, "id": self._say(self._session, wish)}
            case "answer":
                waiter = self._waiting.get(wish.id)
                if waiter is None or waiter.done() or wish.answer is None:
                    return {"error": "nobody waits for this answer"}
                waiter.set_result(wish.answer)
        return {"ok": True}

    def _say(self, session: Session, wish: ControlMessage) -> str:
        known = self._heard.get(wish.client_id) if wish.client_id else None
        if known is not None:
            return known
        id = session.steer(wish.blocks or wish.text, client_id=wish.client_id, how=wish.how)
        if wish.client_id:
            self._heard[wish.client_id] = id
        return id


def _bound(folder: str, path: str) -> socket.socket:
    """A socket that was never open to others, not even for a moment."""
    os.makedirs(folder, 0o700, exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        with short_path(path) as name:
            listener.bind(name)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(before)
    listener.setblocking(False)
    return listener
