"""`python -m benchmarks.server_fanout [--short]`: how fast events of a session reach those who watch it.

The server is a process on one core with the streams of the console and a real log; the clients are another process on
another core. Numbers of the server are per core, as it has but one.
"""

import argparse
import asyncio
import functools
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any

import uvicorn
import uvloop
from starlette.applications import Starlette

from benchmarks.server_watcher import Watcher
from bobstay.model.around import SessionConfig
from bobstay.model.event import BlockDone
from bobstay.model.message import Text
from bobstay.server.doors.principal import OWNER
from bobstay.server.ports import NoIndex
from bobstay.server.sessions.open import OpenSession
from bobstay.server.sessions.registry import Registry
from bobstay.server.stream.follow import Streams
from bobstay.server.stream.hub import Hub
from bobstay.server.stream.serving import StreamServer, server_options
from bobstay.server.stream.socket_protocol import listening_socket
from bobstay.server.stream.timing import Timing
from bobstay.server.stream.websocket import websocket_route
from bobstay.sessions.store import Store

WORDS = "as much as a short paragraph of an answer has, which is what most entries of a log are " * 3


# ---------------------------------------------------------------- the server's side


async def serve(core: int) -> None:
    """Take orders as lines of JSON, answer each with one."""
    pin(core)
    hub = Hub()
    registry = Registry(Store(os.path.join(tempfile.mkdtemp(prefix="fanout"), "sessions")), hub, NoIndex())
    streams = Streams(registry, timing=Timing())

    async def admit(_: Any) -> Any:
        return OWNER

    app = Starlette(routes=[websocket_route(streams, admit)])
    options: dict[str, Any] = {**server_options(streams.timing), "log_level": "error", "lifespan": "off"}
    server = StreamServer(uvicorn.Config(app, **options), hub)
    listening = listening_socket("127.0.0.1", 0)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    session = registry.create("/", SessionConfig())
    answer({"port": listening.getsockname()[1], "session": session.id})
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        order = json.loads(line)
        if order["do"] == "new":
            session = registry.create("/", SessionConfig())
            answer({"session": session.id})
        elif order["do"] == "publish":
            answer(await published(session, hub, order["count"], order["rate"]))
        elif order["do"] == "state":
            answer({"memory": memory(), "clients": len(hub.clients()), "seq": session.seq, "cpu": processor()})
    server.should_exit = True
    await serving


async def published(session: OpenSession, hub: Hub, count: int, rate: float) -> dict[str, Any]:
    """Append entries evenly at `rate` a second, or, if that is 0, as fast as those who watch can follow."""
    began, cpu = time.perf_counter(), processor()
    for number in range(count):
        if rate:
            wait = began + number / rate - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
        else:
            await asyncio.sleep(0)
            while any(client.waiting > 128 * 1024 for client in hub.clients()):
                await asyncio.sleep(0.001)
        session.append(BlockDone("m", number, Text(f"{time.monotonic_ns()} {WORDS}")))
    while any(client.waiting for client in hub.clients() if client.topics):
        await asyncio.sleep(0.001)
    return {"wall": time.perf_counter() - began, "cpu": processor() - cpu, "seq": session.seq}


def answer(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


# ---------------------------------------------------------------- the clients' side


def _same(watcher: Watcher) -> Watcher:
    return watcher


class Server:
    """The process of the server, to give orders to."""

    def __init__(self, core: int) -> None:
        command = [sys.executable, "-m", "benchmarks.server_fanout", "--serve", str(core)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        said = self._answer()
        self.port: int = said["port"]
        self.session: str = said["session"]

    async def order(self, do: str, **fields: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **fields}).encode() + b"\n")
        self.process.stdin.flush()
        said = await asyncio.to_thread(self._answer)
        self.session = said.get("session", self.session)
        return said

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    async def watch(self, count: int, **options: Any) -> list[Watcher]:
        loop = asyncio.get_running_loop()
        made: list[Watcher] = []
        for start in range(0, count, 50):
            some = [Watcher(f"session:{self.session}", **options) for _ in range(min(50, count - start))]
            for watcher in some:
                connection = socket.socket()
                if watcher.stalls:  # else the kernel would read on its behalf for long
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
                connection.setblocking(False)
                await loop.sock_connect(connection, ("127.0.0.1", self.port))
                await loop.create_connection(functools.partial(_same, watcher), sock=connection)
            await asyncio.gather(*(watcher.synchronized for watcher in some))
            made += some
        return made

    async def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        await asyncio.to_thread(self.process.wait, 30)


async def measure(core: int, seconds: int, *, short: bool) -> bool:
    server = Server(core)
    try:
        good = await fan_out(server, 1_000 if short else 20_000)
        good &= await delivery(server, 1 if short else 10)
        good &= await catch_up(server, 2_000 if short else 20_000)
        return good & await stalled(server, 100 if short else 1_000, 3 if short else seconds)
    finally:
        await server.end()


async def fan_out(server: Server, count: int) -> bool:
    watchers = await server.watch(100)
    done = await server.order("publish", count=count, rate=0)
    await reached(watchers, done["seq"])
    rate, per_message = 100 * count / done["wall"], watchers[0].frames / watchers[0].messages
    print(f"fan-out to 100, as fast as it goes: {rate:,.0f} events/s per core, {per_message:.1f} a message")
    for pace in (150, 300):
        before = watchers[0].messages
        done = await server.order("publish", count=pace * max(count // 4000, 1), rate=pace)
        await reached(watchers, done["seq"])
        each = pace * max(count // 4000, 1) / (watchers[0].messages - before)
        print(f"fan-out to 100, {pace} events/s: {done['cpu'] / done['wall']:.0%} of the core, {each:.2f} a message")
    gaps = sum(watcher.gaps for watcher in watchers)
    close(watchers)
    return rate >= 15_000 and not gaps


async def delivery(server: Server, seconds: int) -> bool:
    await server.order("new")
    watchers = await server.watch(100, sample=True)
    done = await server.order("publish", count=50 * seconds, rate=50)
    await reached(watchers, done["seq"])
    found = sorted(latency for watcher in watchers for latency in watcher.latencies)
    p50, p99 = found[len(found) // 2], found[int(len(found) * 0.99)]
    print(f"append to delivery, 100 watchers, 50 events/s: p50 {p50:.2f} ms, p99 {p99:.2f} ms")
    close(watchers)
    return p50 <= 5


async def catch_up(server: Server, count: int) -> bool:
    await server.order("new")
    await server.order("publish", count=count, rate=0)
    times: list[float] = []
    for _ in range(3):
        began = time.perf_counter()
        (watcher,) = await server.watch(1)
        times.append(time.perf_counter() - began)
        assert watcher.frames >= count, watcher.frames
        assert not watcher.gaps
        watcher.close()
    print(f"catch-up of {count:,} events: {times[0]:.2f} s, again {min(times[1:]):.2f} s")
    return max(times) <= 2


async def stalled(server: Server, count: int, seconds: int) -> bool:
    await server.order("new")
    watchers = await server.watch(count - 10)
    stuck = await server.watch(10, stalls=True)
    before = await server.order("state")
    done = await server.order("publish", count=20 * seconds, rate=20)
    await reached(watchers, done["seq"])
    after = await server.order("state")
    grown = (after["memory"] - before["memory"]) / 1e6
    gaps = sum(watcher.gaps for watcher in watchers)
    left = after["clients"] - len(watchers)
    each = before["memory"] / 1e6
    print(f"{count:,} watchers, 10 stalled, {seconds} s at 20 events/s: {gaps} gaps, {grown:+.1f} MB", end=" ")
    print(f"(of {each:.0f} MB), {done['cpu'] / done['wall']:.0%} of the core, {left} of the stalled still there")
    close(watchers + stuck)
    return not gaps and grown <= 64


async def reached(watchers: list[Watcher], seq: int) -> None:
    async with asyncio.timeout(120):
        while any(watcher.seq < seq and not watcher.lost for watcher in watchers):
            await asyncio.sleep(0.005)
    lost = sum(watcher.lost for watcher in watchers)
    if lost:
        print(f"{lost} watchers were closed")


def close(watchers: list[Watcher]) -> None:
    for watcher in watchers:
        watcher.close()


def cores() -> list[int]:
    found = sorted(os.sched_getaffinity(0))
    return [found[0], found[-1]]


def pin(core: int) -> None:
    os.sched_setaffinity(0, {core})


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.server_fanout", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a few seconds, to see that it runs")
    parser.add_argument("--seconds", type=int, default=300, help="how long the stalled ones stall")
    parser.add_argument("--serve", type=int, metavar="CORE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    if options.serve is not None:
        uvloop.run(serve(options.serve))
        return 0

    first, last = cores()
    pin(last)
    found = uvloop.run(measure(first, options.seconds, short=options.short))
    print("all goals met" if found else "a goal is missed")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
