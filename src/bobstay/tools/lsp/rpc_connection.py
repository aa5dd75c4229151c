"""A language server's process and the requests to it. Whatever it does, requests end and memory stays bounded."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from bobstay.system.child_process import Child
from bobstay.system.process_tree import MARK
from bobstay.system.watchdog import mark_of_this_process, start_watchdog
from bobstay.tools.lsp.rpc_framing import BadFrameError, FrameDecoder, encode_frame

MAX_UNASKED = 64 << 20
"""Bytes a server may send between two messages to it; one that sends more is taken for broken."""
_MAX_WAITING = 32 << 20
_ERROR_TAIL = 2_000
_METHOD_MISSING = -32601


class ServerFailedError(Exception):
    """The server died, is broken, or does not answer. The text says which, without its name."""


class RpcConnection:
    """One running server. `closed` becomes true once it cannot be used any more; `reason` says why."""

    def __init__(
        self,
        command: tuple[str, ...],
        *,
        cwd: str,
        environment: dict[str, str],
        mark: str,
        notified: Callable[[str, Any], None],
        asked: Callable[[str, Any], Any],
        failed: Callable[[], None],
    ) -> None:
        """Start `command`. `notified` gets its notifications; `asked` answers its requests, or raises `LookupError`;
        `failed` is called once it cannot be used any more.

        Raises:
            OSError: it could not be started.
        """
        self.reason = ""
        self._notified, self._asked, self._failed = notified, asked, failed
        self._decoder = FrameDecoder()
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._next_id = 0
        self._unasked = 0
        self._errors = b""
        self._waiting: deque[bytes] = deque()
        self._waiting_size = 0
        self._loop = asyncio.get_running_loop()
        inherited = environment.get(MARK, "")
        own = f"{mark_of_this_process()}:{mark}"
        start_watchdog(inherited)
        reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        try:
            self._child = Child(
                command,
                cwd=cwd,
                environment={**environment, MARK: f"{inherited}/{own}" if inherited else own},
                receive=self._receive,
                mark=own,
                stdin=reader,
            )
        except BaseException:
            os.close(self._writer)
            raise
        finally:
            os.close(reader)
        self._child.ended.add_done_callback(self._ended)

    @property
    def closed(self) -> bool:
        return bool(self.reason)

    @property
    def pid(self) -> int:
        return self._child.pid

    async def request(self, method: str, params: Any, seconds: float) -> Any:
        """Ask the server and wait for its answer.

        Raises:
            ServerFailedError: it refused, failed, or did not answer in time.
        """
        self._next_id += 1
        number = self._next_id
        self._pending[number] = answer = self._loop.create_future()
        try:
            self._send({"id": number, "method": method, "params": params})
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            self.notify("$/cancelRequest", {"id": number})
            raise ServerFailedError(f"it did not answer {method} within {seconds:g} seconds") from None
        finally:
            self._pending.pop(number, None)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification. One to a server that is gone is dropped."""
        with suppress(ServerFailedError):
            self._send({"method": method, "params": params})

    async def close(self, grace: float = 0.5) -> None:
        """End the server and every process it started. It gets `grace` seconds to end by itself when asked."""
        if not self.closed:
            with suppress(ServerFailedError):
                await self.request("shutdown", None, grace)
            self.notify("exit", None)
        self._fail("it was ended")
        if not self._child.ended.done():
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await asyncio.shield(self._child.ended)
        await self._child.end(grace)
        self._child.close()

    def _send(self, message: dict[str, Any]) -> None:
        if self.closed:
            raise ServerFailedError(self.reason)
        self._unasked = 0
        try:
            frame = encode_frame(message)
        except UnicodeEncodeError:
            raise ServerFailedError("it cannot be sent text with half a character") from None
        self._waiting.append(frame)
        self._waiting_size += len(frame)
        if self._waiting_size > _MAX_WAITING:
            self._fail("it does not read what it is sent")
            raise ServerFailedError(self.reason)
        self._write()

    def _write(self) -> None:
        while self._waiting:
            try:
                written = os.write(self._writer, self._waiting[0])
            except BlockingIOError:
                self._loop.add_writer(self._writer, self._write)
                return
            except OSError:
                self._fail(self._describe_end("it closed its input"))
                return
            self._waiting_size -= written
            rest = self._waiting.popleft()[written:]
            if rest:
                self._waiting.appendleft(rest)
        self._loop.remove_writer(self._writer)

    def _receive(self, number: int, data: bytes) -> None:
        if number == 2:
            self._errors = (self._errors + data)[-_ERROR_TAIL:]
            return
        if self.closed:
            return
        self._unasked += len(data)
        if self._unasked > MAX_UNASKED:
            self._fail(f"it sent more than {MAX_UNASKED >> 20} MiB that nobody asked for")
            return
        try:
            for message in self._decoder.feed(data):
                self._take(message)
        except BadFrameError as error:
            self._fail(str(error))

    def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str) and number is None:
            self._notified(method, message.get("params"))
        elif isinstance(method, str):
            self._answer(method, number, message.get("params"))
        elif isinstance(number, int) and (answer := self._pending.get(number)) is not None and not answer.done():
            if "error" in message:
                answer.set_exception(ServerFailedError(f"it refused: {_error_text(message['error'])}"))
            else:
                answer.set_result(message.get("result"))

    def _answer(self, method: str, number: Any, params: Any) -> None:
        reply: dict[str, Any]
        try:
            reply = {"id": number, "result": self._asked(method, params)}
        except LookupError:
            reply = {"id": number, "error": {"code": _METHOD_MISSING, "message": "not supported"}}
        with suppress(ServerFailedError):
            unasked = self._unasked
            self._send(reply)
            self._unasked = unasked  # a server cannot earn room by asking

    def _ended(self, ended: "asyncio.Future[int]") -> None:
        if not ended.cancelled():
            self._fail(self._describe_end(f"it ended with code {ended.result()}"))

    def _describe_end(self, what: str) -> str:
        said = self._errors.decode(errors="replace").strip().splitlines()
        return f"{what} ({said[-1].strip()[:300]})" if said else what

    def _fail(self, reason: str) -> None:
        if self.closed:
            return
        self.reason = reason
        self._loop.remove_writer(self._writer)
        os.close(self._writer)
        self._waiting.clear()
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(ServerFailedError(reason))
        self._failed()
        if not self._child.ended.done():
            self._child.tree.kill(3)


def _error_text(error: Any) -> str:
    text = error.get("message") if isinstance(error, dict) else None
    return str(text)[:300] if text else msgspec.json.encode(error)[:300].decode(errors="replace")
