"""`python -m benchmarks.server_fanout [--short]`: how fast events of a session reach those who watch it.

The server is a process on one core with all that `bobstay serve` has: authentication, index, log on the disk. The
clients are another process on another core. Numbers of the server are per core, as it has but one. `--delay 1000`
holds everything back for so many milliseconds on its way to the clients, to see that the figures move.
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

import uvloop

from benchmarks.server_process import delayed, token_for
from benchmarks.server_watcher import Watcher

LET_GO = 60
"""Seconds after which a watcher that answers no pings is let go, with some room."""


def _same(watcher: Watcher) -> Watcher:
    return watcher


class Server:
    """The process of the server, to give orders to."""

    def __init__(self, core: int, delay: float) -> None:
        folder = tempfile.mkdtemp(prefix="fanout")
        variables = {"PATH": os.environ["PATH"], "HOME": folder, "BOBSTAY_HOME": os.path.join(folder, "home")}
        command = [sys.executable, "-m", "benchmarks.server_publisher", str(core)]
        here = os.path.dirname(os.path.dirname(__file__))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables, cwd=here)
        said = self._answer()
        self.port: int = said["port"]
        self.session: str = said["session"]
        self._token = token_for(variables)
        self._delay = delay
        self._door = 0

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
        if not self._door:
            self._door = await delayed(self.port, self._delay) if self._delay else self.port
        made: list[Watcher] = []
        host = f"127.0.0.1:{self.port}"
        for start in range(0, count, 50):
            number = min(50, count - start)
            some = [Watcher(f"session:{self.session}", host, self._token, **options) for _ in range(number)]
            for watcher in some:
                connection = socket.socket()
                if watcher.stalls:  # else the kernel would read on its behalf for long
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
                connection.setblocking(False)
                await loop.sock_connect(connection, ("127.0.0.1", self._door))
                await loop.create_connection(functools.partial(_same, watcher), sock=connection)
            await asyncio.gather(*(watcher.synchronized for watcher in some))
            made += some
        return made

    async def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        await asyncio.to_thread(self.process.wait, 30)


async def measure(core: int, seconds: int, delay: float, *, short: bool) -> bool:
    server = Server(core, delay)
    try:
        good = await fan_out(server, 1_000 if short else 5_000)
        good &= await delivery(server, 1 if short else 10)
        good &= await catch_up(server, 2_000 if short else 20_000)
        good &= await flooded(server, 3 if short else 30)
        return good & await stalled(server, 100 if short else 1_000, 3 if short else seconds)
    finally:
        await server.end()


async def fan_out(server: Server, count: int) -> bool:
    watchers = await server.watch(100)
    began = time.perf_counter()
    done = await server.order("publish", count=count, rate=0)
    await reached(watchers, done["seq"])
    rate, per_message = 100 * count / (time.perf_counter() - began), watchers[0].frames / watchers[0].messages
    print(f"fan-out to 100, as fast as it goes: {rate:,.0f} events/s per core, {per_message:.1f} a message,", end=" ")
    print(f"{100 * count / done['cpu']:,.0f} a second of its processor time")
    for pace in (150, 300):
        before = watchers[0].messages
        number = pace * max(count // 1000, 1)
        done = await server.order("publish", count=number, rate=pace)
        await reached(watchers, done["seq"])
        each = number / (watchers[0].messages - before)
        print(f"fan-out to 100, {number / done['wall']:.0f} of {pace} events/s: ", end="")
        print(f"{done['cpu'] / done['wall']:.0%} of the core, {each:.2f} a message")
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


async def flooded(server: Server, seconds: int) -> bool:
    """What waits for a watcher that stalls is bounded: 30 s of this are twice what the server may grow by."""
    await server.order("new", size=20_000)
    watchers = await server.watch(10)
    stuck = await server.watch(10, stalls=True)
    before = await server.order("state")
    done = await server.order("publish", count=300 * seconds, rate=300)
    after = await server.order("state")
    await reached(watchers, done["seq"])
    grown, left = (after["memory"] - before["memory"]) / 1e6, after["clients"] - len(watchers)
    gaps = sum(watcher.gaps for watcher in watchers)
    print(f"20 watchers, 10 stalled, {seconds} s at 300 events/s of 20 kB: {gaps} gaps, {grown:+.1f} MB,", end=" ")
    print(f"{left} of the stalled still there")
    close(watchers + stuck)
    return not gaps and grown <= 64 and not left


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
    return not gaps and grown <= 64 and (not left or seconds < LET_GO)


async def reached(watchers: list[Watcher], seq: int) -> None:
    """Wait until all have got an entry.

    Raises:
        RuntimeError: the server has closed some: figures of the others would say nothing.
    """
    async with asyncio.timeout(120):
        while any(watcher.seq < seq and not watcher.lost for watcher in watchers):
            await asyncio.sleep(0.005)
    if lost := sum(watcher.lost for watcher in watchers):
        raise RuntimeError(f"{lost} of {len(watchers)} watchers were closed")


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
    parser.add_argument("--delay", type=float, default=0, metavar="MS", help="hold frames back, to see figures move")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    first, last = cores()
    pin(last)
    found = uvloop.run(measure(first, options.seconds, options.delay / 1000, short=options.short))
    print("all goals met" if found else "a goal is missed")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
