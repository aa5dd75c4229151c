"""The server's side of `benchmarks.server_fanout`: a whole console that writes entries to a log when it is told to.

Orders come as lines of JSON, and each is answered with one. The console is put together as `bobstay serve` does it:
doors, index, log and sockets are the real ones. Only whoever writes the entries is no engine, so that none is measured.
"""

import asyncio
import gc
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import uvicorn
import uvloop

from bobstay.config.environment import Environment
from bobstay.model.event import BlockDone, Durable, MessageDone, Prompted, RunDone, ToolDone, ToolStarted, TurnStarted
from bobstay.model.message import Text, ToolCall, ToolReply, Usage
from bobstay.model.session_events import SessionConfig
from bobstay.server.auth.auth_settings import AuthSettings
from bobstay.server.build_console import ConsoleServer, build_console
from bobstay.server.server_options import ServerOptions
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.streams.socket_protocol import listening_socket
from bobstay.server.streams.stream_server import StreamServer, server_options

WORDS = "as much as a short paragraph of an answer has, which is what most entries of a log are " * 3
ROOM = 128 * 1024
"""Bytes that may wait for any watcher while entries are written as fast as it goes."""


async def serve(core: int) -> None:
    """Serve until the orders end. The folder is the home of this process."""
    os.sched_setaffinity(0, {core})
    environment = Environment.read()
    listening = listening_socket("127.0.0.1", 0)
    config = ServerOptions(os.path.join(environment.paths.bobstay, "server"), port=listening.getsockname()[1])
    built = await build_console(config, environment, AuthSettings.of(config))
    options = server_options(built.services.streams.timing)
    settings = uvicorn.Config(built.app, lifespan="on", log_config=None, proxy_headers=False, **options)
    server = StreamServer(settings, built.services.streams.hub)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    gc.freeze()
    publisher = Publisher(built)
    _answer({"port": config.port, **publisher.new()})
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        order = json.loads(line)
        match order["do"]:
            case "new":
                _answer(publisher.new(order.get("size", len(WORDS))))
            case "publish":
                _answer(await publisher.publish(order["count"], order["rate"]))
            case _:
                _answer(publisher.state())
    server.should_exit = True
    await serving


class Publisher:
    def __init__(self, built: ConsoleServer) -> None:
        self._registry = built.services.registry
        self._hub = built.services.streams.hub
        self._index = built.services.database.writer
        self._session: OpenSession
        self._entries: Iterator[tuple[Durable, bool]]

    def new(self, size: int = len(WORDS)) -> dict[str, Any]:
        """Begin a session, with texts of so many characters."""
        self._session = self._registry.create("/", SessionConfig())
        self._entries = conversation(WORDS * (size // len(WORDS)))
        return {"session": self._session.id}

    async def publish(self, number: int, rate: float) -> dict[str, Any]:
        """Write entries evenly at `rate` a second, or, if that is 0, as fast as those who watch can follow.

        It is over when the tables have them, too.
        """
        began, cpu = time.perf_counter(), processor()
        for written in range(number):
            if rate:
                wait = began + written / rate - time.perf_counter()
                if wait > 0:
                    await asyncio.sleep(wait)
            else:
                await asyncio.sleep(0)
                while any(client.waiting > ROOM for client in self._hub.clients()):
                    await asyncio.sleep(0.001)
            event, sync = next(self._entries)
            self._session.append(event, sync=sync)
        while any(client.waiting for client in self._hub.clients() if client.topics):
            await asyncio.sleep(0.001)
        await self._index.idle()
        return {"wall": time.perf_counter() - began, "cpu": processor() - cpu, "seq": self._session.seq}

    def state(self) -> dict[str, Any]:
        return {"memory": memory(), "clients": len(self._hub.clients())}


def conversation(words: str) -> Iterator[tuple[Durable, bool]]:
    """Turns as an engine stores them, each event with whether it must be on the disk before anything follows.

    What the model says begins with when it was made.
    """
    for turn in count(1):
        id, call = f"m{turn}", f"c{turn}"
        yield Prompted(f"p{turn}", (Text("Go on."),)), True
        yield TurnStarted(turn, "sonnet", "default"), False
        for number in range(3):
            yield BlockDone(id, number, Text(stamped(words))), False
        yield BlockDone(id, 3, ToolCall(call, "Bash", {"command": "true"})), False
        yield MessageDone(id, "sonnet", "tool_use", Usage(10, 10)), False
        yield ToolStarted(call, "Bash", {"command": "true"}), True
        yield ToolDone(ToolReply(call, (Text(words),)), "Bash"), False
        for number in range(3):
            yield BlockDone(f"{id}b", number, Text(stamped(words))), False
        yield MessageDone(f"{id}b", "sonnet", "end_turn", Usage(10, 10)), False
        yield RunDone("completed", WORDS), True


def stamped(words: str) -> str:
    return f"{time.monotonic_ns()} {words}"


def processor() -> float:
    """Seconds of all threads of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def _answer(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
