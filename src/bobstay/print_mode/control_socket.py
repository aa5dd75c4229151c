"""Control socket through which a console steers a print-mode run; only its owner can open it.

`{"do":"answer","id":…,"answer":{…}}`, `{"do":"interrupt"}`, `{"do":"say","blocks":[…],"how":"steer"}`; each line is
answered by `{"ok":true}`, with the `id` of the message, or by `{"error":"…"}`. The console reads the effects in the
session's log.
"""

import asyncio
import os
import socket
from contextlib import suppress
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bobstay.assembly.session import AgentSession
from bobstay.engine.engine_ports import Answer
from bobstay.model.event import InteractionOpened
from bobstay.model.message import Block
from bobstay.system.socket_path import short_path

MAX_LINE = 40 * 1024 * 1024
"""Bytes of one line: a message includes its images."""


class ControlMessage(Struct, frozen=True):
    do: Literal["answer", "interrupt", "say"]
    id: str = ""
    answer: Answer | None = None
    text: str = ""
    blocks: tuple[Block, ...] = ()
    """The content of the message, images included; `text` is used if empty."""
    client_id: str = ""
    """The sender's own id: a message with a known id is not accepted twice."""
    how: Literal["steer", "queue"] = "steer"
    sender: str = ""
    """The agent that sent it; empty for a person."""


class ControlSocket:
    """Control socket of one run. As an approver it waits for answers from a console."""

    can_ask = True

    def __init__(self) -> None:
        self._session: AgentSession | None = None
        self._path = ""
        self._server: asyncio.Server | None = None
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self._accepted: dict[str, str] = {}
        """Ids of accepted messages by their client ids."""
        self._binding = asyncio.Lock()

    def attach(self, session: AgentSession) -> None:
        """Control `session` from now on."""
        self._session = session

    async def ask(self, opened: InteractionOpened) -> Answer:
        """Wait for an answer from a console, without a timeout."""
        await self.listen()
        if self._server is None:
            return Answer(False, "No console can reach this run: its socket could not be created.", by="nobody")
        waiter: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[opened.id] = waiter
        try:
            return await waiter
        finally:
            del self._waiting[opened.id]

    async def listen(self) -> None:
        """Start listening. Safe to call concurrently."""
        async with self._binding:
            if self._server is None and self._session is not None:
                await self._listen(self._session)

    async def _listen(self, session: AgentSession) -> None:
        # Beside the sessions folder, so that the socket can be found from the log.
        folder = os.path.join(os.path.dirname(os.path.dirname(session.driver.journal.log.path)), "run")
        path = os.path.join(folder, f"{session.id}.sock")
        try:
            listener = _bind_private(folder, path)
        except OSError:
            return  # the run continues without a control socket
        self._path = path
        self._server = await asyncio.start_unix_server(self._serve, sock=listener, limit=MAX_LINE)

    async def close(self) -> None:
        self._session = None
        async with self._binding:  # wait for one that is being created
            if self._server is None:
                return
            self._server.close()
            self._server = None
            with suppress(OSError):
                os.unlink(self._path)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(msgspec.json.encode(await self._execute(line)) + b"\n")
                await writer.drain()
        except (ValueError, ConnectionError):
            return  # the line is too long, or the console disconnected
        finally:
            writer.close()

    async def _execute(self, line: bytes) -> dict[str, Any]:
        try:
            message = msgspec.json.decode(line, type=ControlMessage)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return {"error": f"not understood: {error}"}
        if self._session is None:
            return {"error": "the run is over"}
        match message.do:
            case "interrupt":
                await self._session.interrupt()
            case "say":
                return {"ok": True, "id": self._steer(self._session, message)}
            case "answer":
                waiter = self._waiting.get(message.id)
                if waiter is None or waiter.done() or message.answer is None:
                    return {"error": "nobody waits for this answer"}
                waiter.set_result(message.answer)
        return {"ok": True}

    def _steer(self, session: AgentSession, message: ControlMessage) -> str:
        known = self._accepted.get(message.client_id) if message.client_id else None
        if known is not None:
            return known
        id = session.steer(
            message.blocks or message.text,
            client_id=message.client_id,
            how=message.how,
            verbatim=bool(message.sender),
            sender=message.sender,
        )
        if message.client_id:
            self._accepted[message.client_id] = id
        return id


def _bind_private(folder: str, path: str) -> socket.socket:
    """Bind a socket that is never accessible to other users, not even briefly."""
    os.makedirs(folder, 0o700, exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    previous = os.umask(0o177)
    try:
        with short_path(path) as name:
            listener.bind(name)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(previous)
    listener.setblocking(False)
    return listener
