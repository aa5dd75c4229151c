"""Gives messages to sessions outside this one: JSON-RPC over the Unix socket of a console, which starts their turns."""

import asyncio
import os
import socket
import struct
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.system.socket_path import short_path
from bobstay.tools.tool_error import ToolError

SOCKET = "uds:"
SESSION = "bridge:"
MOST_LISTED = 10
TIMEOUT = 30.0
_LONGEST_LINE = 8 * 1024 * 1024
_LONGEST_ERROR = 500


class PeerSession(Struct, frozen=True):
    """A session of another process, by the socket of the console that keeps it."""

    socket: str
    session: str = ""
    """Empty: the only session there is."""


def parse_peer(to: str, console: str) -> PeerSession | None:
    """Read `uds:/path/to/socket#session` or `bridge:session`; None for a recipient inside this session.

    `console` is the socket of this user's own console.

    Raises:
        ToolError: it names neither a socket nor a session.
    """
    if to.startswith(SESSION):
        session = to.removeprefix(SESSION).strip()
        if not session:
            raise ToolError("Name a session of the console: bridge:<session id>.")
        return PeerSession(console, session)
    if not to.startswith(SOCKET):
        return None
    path, _, session = to.removeprefix(SOCKET).partition("#")
    if not path.startswith("/") or "\0" in path:
        raise ToolError(
            "Name a socket by its absolute path: uds:/path/to/rpc.sock, or uds:/path/to/rpc.sock#<session>."
        )
    return PeerSession(os.path.realpath(path), session.strip())


def describe_peer(peer: PeerSession, console: str) -> tuple[str, ...]:
    """The ways in which a rule may name it, links resolved."""
    by_path = f"{SOCKET}{peer.socket}#{peer.session}" if peer.session else f"{SOCKET}{peer.socket}"
    if peer.socket == console:
        return (f"{SESSION}{peer.session}",)
    return (by_path, f"{SESSION}{peer.session}") if peer.socket == os.path.realpath(console) else (by_path,)


async def send_to_peer(peer: PeerSession, message: str, *, sender: str, message_id: str) -> str:
    """Deliver a message; returns the id of the session. The same `message_id` twice is one message.

    Raises:
        ToolError: nobody listens there, the socket is another user's, or the console refuses.
    """
    try:
        async with asyncio.timeout(TIMEOUT):
            return await _deliver(peer, message, sender=sender, message_id=message_id)
    except TimeoutError:
        raise ToolError(f"No answer from {peer.socket} within {TIMEOUT:.0f} s; the message may have arrived.") from None
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise ToolError(f"The connection to {peer.socket} broke: {error}. The message may have arrived.") from error


async def _deliver(peer: PeerSession, message: str, *, sender: str, message_id: str) -> str:
    reader, writer = await _connect(peer.socket)
    try:
        _check_owner(writer.get_extra_info("socket"), peer.socket)
        connection = _Connection(reader, writer)
        session = peer.session or _only_session(await connection.call("GET /sessions?limit=100", {}), peer)
        body = {"content": message, "sender": sender, "client_message_id": message_id}
        await connection.call("POST /sessions/{id}/messages", {"path": {"id": session}, "body": body})
        return session
    finally:
        writer.close()


async def _connect(path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        with short_path(path) as name:
            return await asyncio.open_unix_connection(name, limit=_LONGEST_LINE)
    except OSError as error:
        raise ToolError(
            f"No console listens on {path}: {error.strerror or error}. Nothing was sent. "
            "A person starts one with: bobstay serve"
        ) from error


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._last = 0

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        self._last += 1
        request = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        self._writer.write(msgspec.json.encode(request) + b"\n")
        await self._writer.drain()
        while line := await self._reader.readline():
            reply = msgspec.json.decode(line)
            if not isinstance(reply, dict) or reply.get("id") != self._last:
                continue  # a notification
            if isinstance(error := reply.get("error"), dict):
                raise ToolError(f"The console refused the message: {str(error.get('message'))[:_LONGEST_ERROR]}")
            return reply.get("result")
        raise ConnectionResetError("it was closed without an answer")


def _check_owner(connection: socket.socket, path: str) -> None:
    """Another user's socket would be told what only this user's agents should know."""
    if not hasattr(socket, "SO_PEERCRED"):
        return
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    if struct.unpack("3i", raw)[1] != os.geteuid():
        raise ToolError(f"The process that listens on {path} belongs to another user. Nothing was sent.")


def _only_session(listing: Any, peer: PeerSession) -> str:
    found = (
        [each for each in listing.get("sessions", ()) if isinstance(each, dict)] if isinstance(listing, dict) else []
    )
    if len(found) == 1:
        return str(found[0].get("id"))
    if not found:
        raise ToolError(f"The console at {peer.socket} has no session.")
    names = "\n".join(f"{each.get('id')} {str(each.get('title') or '')[:80]}" for each in found[:MOST_LISTED])
    raise ToolError(
        f"The console at {peer.socket} has several sessions. Name one, as {SOCKET}{peer.socket}#<id>:\n{names}"
    )
