"""JSON-RPC for programs of the same user on the same machine: a Unix socket only they can open."""

import asyncio
import contextlib
import logging
import os
import socket
import stat
import struct
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.server.auth.principal import OWNER
from bobstay.server.errors import ApiError
from bobstay.server.rpc.rpc_bridge import RpcBridge
from bobstay.server.rpc.rpc_messages import (
    EVENT,
    INTERNAL,
    INVALID_PARAMS,
    INVALID_REQUEST,
    REPLY,
    Params,
    RpcError,
    RpcMessage,
    failure,
    of_api,
    read,
    success,
)
from bobstay.server.streams.heartbeat import HeartbeatLoop
from bobstay.server.streams.hub import HubClient
from bobstay.server.streams.subscription import Cursor, Streams, Subscriptions

log = logging.getLogger(__name__)

NAME = "rpc.sock"
LONGEST_LINE = 4 * 1024 * 1024
PIECE = 256 * 1024
MOST_RUNNING = 32
"""Requests of one connection that are worked on at a time; further ones wait unread."""
HIGH_WATER = 64 * 1024
POLITE = 2.0
LONGEST_PATH = 107
"""Bytes in the name of a socket."""


class RpcSubscribe(Struct, frozen=True, forbid_unknown_fields=True):
    topic: str
    after: Cursor = 0
    epoch: str = ""


class RpcUnsubscribe(Struct, frozen=True, forbid_unknown_fields=True):
    topic: str


class RpcServer:
    """Listens on `path`, mode 0600, for processes of user `uid`: the own one, unless said otherwise."""

    def __init__(self, streams: Streams, bridge: RpcBridge, path: str, uid: int | None = None) -> None:
        self._streams = streams
        self._bridge = bridge
        self._path = path
        self._uid = os.geteuid() if uid is None else uid
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Raises:
        OSError: the socket cannot be made, or another server listens on it. The text says what to do.
        """
        listening = listening_socket(self._path)
        self._server = await asyncio.start_unix_server(self._accept, sock=listening, limit=PIECE)

    async def close(self) -> None:
        """End all connections and take the socket away."""
        if self._server is None:
            return
        self._server.close()
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections, timeout=2 * POLITE)
        self._server = None
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if _uid_of(writer) in (self._uid, None):
                await _Connection(self._streams, self._bridge, reader, writer).run()
        except asyncio.CancelledError:
            pass  # the server ends; nobody waits for this task but it
        finally:
            self._connections.discard(task)
            writer.transport.abort()


class _Connection:
    def __init__(
        self, streams: Streams, bridge: RpcBridge, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._bridge = bridge
        self._streams = streams
        self._reader = reader
        self._writer = writer
        self._client = HubClient("rpc", principal=OWNER)
        self._subscriptions = Subscriptions(streams, self._client)
        self._slots = asyncio.Semaphore(MOST_RUNNING)
        self._running: set[asyncio.Task[None]] = set()
        writer.transport.set_write_buffer_limits(HIGH_WATER)

    async def run(self) -> None:
        self._streams.hub.join(self._client)
        beating = HeartbeatLoop(self._client, self._streams.timing.heartbeat)
        tasks: set[asyncio.Task[Any]] = {
            asyncio.create_task(self._read()),
            asyncio.create_task(self._write()),
            asyncio.create_task(self._client.ended.wait()),
        }
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            beating.cancel()
            self._subscriptions.close()
            why = self._client.closed
            self._client.close("gone")
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await self._finish(why)

    # ------------------------------------------------------------ in

    async def _read(self) -> None:
        """Lines, one by one. One that is too long is answered and skipped; those after it are read."""
        buffer, skipping = bytearray(), False
        while piece := await self._piece():
            *lines, rest = piece.split(b"\n")
            for line in lines:
                buffer += line
                if not skipping and len(buffer) <= LONGEST_LINE:
                    await self._take(bytes(buffer))
                elif not skipping:
                    await self._refuse_line()
                buffer.clear()
                skipping = False
            buffer += b"" if skipping else rest
            if len(buffer) > LONGEST_LINE:
                await self._refuse_line()
                buffer.clear()
                skipping = True
        if self._running:  # whoever shuts its side first still gets its answers
            await asyncio.wait(self._running)
            await self._client.drained()

    async def _piece(self) -> bytes:
        try:
            return await self._reader.read(PIECE)
        except OSError:
            return b""

    async def _refuse_line(self) -> None:
        text = f"A line may have at most {LONGEST_LINE} bytes."
        await self._client.send(failure(None, INVALID_REQUEST, text))

    async def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        said = read(line)
        if isinstance(said, bytes):
            await self._client.send(said)
            return
        await self._slots.acquire()
        task = asyncio.create_task(self._answer(said))
        self._running.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        self._slots.release()

    async def _answer(self, said: "list[RpcMessage | bytes] | RpcMessage") -> None:
        """What was begun is finished, also when whoever asked is gone: a command is not cut in half."""
        if isinstance(said, RpcMessage):
            reply = await self._answered(said)
            if reply:
                await self._client.send(reply)
            return
        replies = [each if isinstance(each, bytes) else await self._answered(each) for each in said]
        if any(replies):
            await self._client.send(b"[" + b",".join(reply for reply in replies if reply) + b"]")

    async def _answered(self, message: RpcMessage) -> bytes:
        """The reply to a message; to a notification there is none."""
        id = message.id
        try:
            result = await self._done_as_asked(message.method, message.params)
        except RpcError as error:
            return b"" if id is msgspec.UNSET else failure(id, error.code, error.message, error.data)
        except Exception:  # the last boundary before the client, who must not read a traceback
            log.exception("%s broke", ascii(message.method[:200]))
            text = "Something in the server broke. The request may have had no effect; the server's log says more."
            return b"" if id is msgspec.UNSET else failure(id, INTERNAL, text)
        return b"" if id is msgspec.UNSET else success(id, result)

    async def _done_as_asked(self, method: str, params: Params) -> Any:
        match method:
            case "subscribe":
                wish = _params(params, RpcSubscribe)
                try:
                    self._subscriptions.add(wish.topic, wish.after, wish.epoch)
                except ApiError as error:
                    raise of_api(error) from error
                return {"topic": wish.topic}
            case "unsubscribe":
                topic = _params(params, RpcUnsubscribe).topic
                return {"topic": topic, "followed": self._subscriptions.drop(topic)}
            case "ping":
                return "pong"
            case "rpc.methods":
                return [{"method": name} for name in ("subscribe", "unsubscribe", "ping")] + self._bridge.methods()
            case _:
                return await self._bridge.call(method, params)

    # ------------------------------------------------------------ out

    async def _write(self) -> None:
        try:
            while items := await self._client.take():
                self._writer.write(b"".join(_line(item) for item in items))
                await self._writer.drain()
        except OSError:
            return

    async def _finish(self, why: str) -> None:
        """Let out what was written, and a last word; but nobody who does not read can hold this up."""
        try:
            if why:
                self._writer.write(b'{"jsonrpc":"2.0","method":"closed","params":{"reason":"%b"}}\n' % why.encode())
            self._writer.close()
            await asyncio.wait_for(self._writer.wait_closed(), POLITE)
        except (OSError, TimeoutError):
            return


def _line(item: bytes) -> bytes:
    """Replies go out as they are, frames of a stream as notifications."""
    if item.startswith((REPLY, b"[")):
        return item + b"\n"
    return EVENT + item + b"}\n"


def _params(given: Params, shape: type[Any]) -> Any:
    try:
        return msgspec.convert({} if given is None else given, shape)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"The parameters are not as they should be: {error}") from None


def _uid_of(writer: asyncio.StreamWriter) -> int | None:
    """The user at the other end; None where the system does not say: there the mode of the socket must do."""
    connection = writer.get_extra_info("socket")
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    uid: int = struct.unpack("3i", raw)[1]
    return uid


def listening_socket(path: str) -> socket.socket:
    """Listen on a Unix socket of mode 0600. One that a dead server left is replaced.

    Raises:
        OSError: it cannot be made, or somebody listens there.
    """
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise OSError(f"{path} is too long a name for a socket: it may have {LONGEST_PATH} bytes. Use a shorter home.")
    _clear(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(path)
        os.chmod(path, 0o600)  # nobody can connect before it listens, so nobody was faster
        listening.listen(64)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def _clear(path: str) -> None:
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise FileExistsError(f"{path} is there and is no socket. Move it away.")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knocking:
        knocking.settimeout(1.0)
        try:
            knocking.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise FileExistsError(f"Another server listens on {path}. End it first.")
