"""Channel to an MCP server inside the program that runs the session: each message is one request to that program."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import msgspec

from bobstay.mcp.channel_transport import ChannelClosedError

SendToHost: TypeAlias = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Sends a JSON-RPC message to the server with this name; returns its response."""


class HostChannel:
    def __init__(self, server: str, send: SendToHost) -> None:
        self._server = server
        self._send = send
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: deque[bytes] = deque()
        self._arrived = asyncio.Event()
        self._is_closed = False

    async def receive(self) -> bytes | None:
        while not self._answers:
            if self._is_closed:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        return self._answers.popleft()

    async def send(self, message: bytes) -> None:
        if self._is_closed:
            raise ChannelClosedError("the session has ended")
        decoded = msgspec.json.decode(message)
        # Each message is a task: a slow call must not hold up the next one, or its own cancellation.
        task = asyncio.create_task(self._exchange(decoded))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        self._is_closed = True
        self._arrived.set()
        running = list(self._tasks)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    async def _exchange(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        try:
            answer = await self._send(self._server, message)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - the program's answer, whatever it is, ends only this request
            answer = {"error": {"code": -32603, "message": str(error)[:1000]}}
        if number is None:
            return  # a notification has no answer; an acknowledgement is of no use
        if not isinstance(answer, dict) or not (_is_result(answer) or _is_error(answer)):
            answer = {"error": {"code": -32603, "message": "the program sent no response"}}
        try:
            data = msgspec.json.encode({**answer, "jsonrpc": "2.0", "id": number})
        except (TypeError, ValueError, RecursionError) as error:
            failure = {"code": -32603, "message": f"the response is not JSON: {error}"}
            data = msgspec.json.encode({"jsonrpc": "2.0", "id": number, "error": failure})
        self._answers.append(data)
        self._arrived.set()


def _is_result(answer: dict[str, Any]) -> bool:
    return isinstance(answer.get("result"), dict)


def _is_error(answer: dict[str, Any]) -> bool:
    error = answer.get("error")
    return isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
