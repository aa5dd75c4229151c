"""JSON-RPC server on a Unix socket, for programs of the same user on the same machine."""

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
    error_reply,
    parse_line,
    rpc_error_of,
    success_reply,
)
from bobstay.server.streams.heartbeat import HeartbeatLoop
from bobstay.server.streams.hub import HubClient
from bobstay.server.streams.subscription import Cursor, Streams, Subscriptions

log = logging.getLogger(__name__)

NAME = "rpc.sock"
LONGEST_LINE = 4 * 1024 * 1024
READ_SIZE = 256 * 1024
MOST_RUNNING = 32
"""Concurrent requests of one connection; further ones are not read until one finishes."""
HIGH_WATER = 64 * 1024
CLOSE_TIMEOUT = 2.0
LONGEST_PATH = 107
"""Maximum bytes of a socket's path."""


class RpcSubscribe(Struct, frozen=True, forbid_unknown_fields=True):
    topic: str
    after: Cursor = 0
    epoch: str = ""


class RpcUnsubscribe(Struct, frozen=True, forbid_unknown_fields=True):
    topic: str


class RpcServer:
    """Listens on `path`, mode 0600, for processes of the user `uid`, by default the current one."""

    def __init__(self, streams: Streams, bridge: RpcBridge, path: str, uid: int | None = None) -> None:
        self._streams = streams
        self._bridge = bridge
        self._path = path
        self._uid = os.geteuid() if uid is None else uid
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Raises:
        OSError: the socket cannot be created, or another server listens on it. The text says what to do.
        """
        listening = listening_socket(self._path)
        self._server = await asyncio.start_unix_server(self._accept, sock=listening, limit=READ_SIZE)

    async def close(self) -> None:
        """Close all connections and remove the socket."""
        if self._server is None:
            return
        self._server.close()
        for task in self._connections:
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections, timeout=2 * CLOSE_TIMEOUT)
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
            pass  # the server is closing, and only it awaits this task
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
        self._streams.hub.add_client(self._client)
        heartbeats = HeartbeatLoop(self._client, self._streams.timing.heartbeat)
        tasks: set[asyncio.Task[Any]] = {
            asyncio.create_task(self._read()),
            asyncio.create_task(self._write()),
            asyncio.create_task(self._client.ended.wait()),
        }
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            heartbeats.cancel()
            self._subscriptions.close()
            why = self._client.closed
            self._client.close("gone")
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await self._finish(why)

    # ------------------------------------------------------------ in

    async def _read(self) -> None:
        """Read line by line. A line that is too long gets an error and is skipped."""
        buffer, skipping = bytearray(), False
        while chunk := await self._read_chunk():
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                buffer += line
                if not skipping and len(buffer) <= LONGEST_LINE:
                    await self._receive_line(bytes(buffer))
                elif not skipping:
                    await self._refuse_line()
                buffer.clear()
                skipping = False
            buffer += b"" if skipping else rest
            if len(buffer) > LONGEST_LINE:
                await self._refuse_line()
                buffer.clear()
                skipping = True
        if self._running:  # a client that half-closes its side still gets its replies
            await asyncio.wait(self._running)
            await self._client.wait_drained()

    async def _read_chunk(self) -> bytes:
        try:
            return await self._reader.read(READ_SIZE)
        except OSError:
            return b""

    async def _refuse_line(self) -> None:
        text = f"A line may have at most {LONGEST_LINE} bytes."
        await self._client.send(error_reply(None, INVALID_REQUEST, text))

    async def _receive_line(self, line: bytes) -> None:
        if not line.strip():
            return
        parsed = parse_line(line)
        if isinstance(parsed, bytes):
            await self._client.send(parsed)
            return
        await self._slots.acquire()
        task = asyncio.create_task(self._respond(parsed))
        self._running.add(task)
        task.add_done_callback(self._release_slot)

    def _release_slot(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        self._slots.release()

    async def _respond(self, parsed: "list[RpcMessage | bytes] | RpcMessage") -> None:
        """Reply to a message or batch. It is finished even if the client is gone, so that no command is half done."""
        if isinstance(parsed, RpcMessage):
            reply = await self._reply_to(parsed)
            if reply:
                await self._client.send(reply)
            return
        replies = [each if isinstance(each, bytes) else await self._reply_to(each) for each in parsed]
        if any(replies):
            await self._client.send(b"[" + b",".join(reply for reply in replies if reply) + b"]")

    async def _reply_to(self, message: RpcMessage) -> bytes:
        """The reply to a message; empty for a notification."""
        id = message.id
        try:
            result = await self._dispatch(message.method, message.params)
        except RpcError as error:
            return b"" if id is msgspec.UNSET else error_reply(id, error.code, error.message, error.data)
        except Exception:  # the last boundary before the client, who must not read a traceback
            log.exception("%s failed", ascii(message.method[:200]))
            text = "An internal error occurred, and the request may have had no effect. See the server's log."
            return b"" if id is msgspec.UNSET else error_reply(id, INTERNAL, text)
        return b"" if id is msgspec.UNSET else success_reply(id, result)

    async def _dispatch(self, method: str, params: Params) -> Any:
        match method:
            case "subscribe":
                request = _params(params, RpcSubscribe)
                try:
                    self._subscriptions.add(request.topic, request.after, request.epoch)
                except ApiError as error:
                    raise rpc_error_of(error) from error
                return {"topic": request.topic}
            case "unsubscribe":
                topic = _params(params, RpcUnsubscribe).topic
                return {"topic": topic, "followed": self._subscriptions.remove(topic)}
            case "ping":
                return "pong"
            case "rpc.methods":
                return [{"method": name} for name in ("subscribe", "unsubscribe", "ping")] + self._bridge.methods()
            case _:
                return await self._bridge.call(method, params)

    # ------------------------------------------------------------ out

    async def _write(self) -> None:
        try:
            while items := await self._client.next_batch():
                self._writer.write(b"".join(_line(item) for item in items))
                await self._writer.drain()
        except OSError:
            return

    async def _finish(self, why: str) -> None:
        """Flush what was written with a `closed` notification, limited in time for clients that do not read."""
        try:
            if why:
                self._writer.write(b'{"jsonrpc":"2.0","method":"closed","params":{"reason":"%b"}}\n' % why.encode())
            self._writer.close()
            await asyncio.wait_for(self._writer.wait_closed(), CLOSE_TIMEOUT)
        except (OSError, TimeoutError):
            return


def _line(item: bytes) -> bytes:
    """A line with a reply as it is, or with a frame of a stream as a notification."""
    if item.startswith((REPLY, b"[")):
        return item + b"\n"
    return EVENT + item + b"}\n"


def _params(given: Params, shape: type[Any]) -> Any:
    try:
        return msgspec.convert({} if given is None else given, shape)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"Invalid parameters: {error}") from None


def _uid_of(writer: asyncio.StreamWriter) -> int | None:
    """The user of the peer process; None if the system does not tell, where the socket's mode must suffice."""
    connection = writer.get_extra_info("socket")
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    uid: int = struct.unpack("3i", raw)[1]
    return uid


def listening_socket(path: str) -> socket.socket:
    """Listen on a Unix socket of mode 0600, replacing the one of a dead server.

    Raises:
        OSError: it cannot be created, or another process listens on it.
    """
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise OSError(f"{path} is too long for a socket: at most {LONGEST_PATH} bytes. Use a shorter BOBSTAY_HOME.")
    _remove_stale_socket(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(path)
        os.chmod(path, 0o600)  # before listen(), so nobody can have connected yet
        listening.listen(64)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def _remove_stale_socket(path: str) -> None:
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise FileExistsError(f"{path} exists and is not a socket. Move it away.")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
    raise FileExistsError(f"Another server listens on {path}. Stop it first.")
