"""`python -m benchmarks.server_sessions [--sessions 1000 --streaming 100]`: many sessions of our engine in one server.

The server is the real `bobstay serve` on one core, with authentication, index and log; the scripted model and the
client share the other. Each piece of text says when it left the model. Counted is how old each piece is when it arrives
at the client, the server's wait for more pieces included. `--delay 1000` puts a proxy between server and client that
holds everything back for so many milliseconds, to see that the figure moves.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
import time
from typing import Any

import msgspec
import websockets

from benchmarks.server_model import READ_BYTES, READS, Model
from benchmarks.server_process import Served, delayed

STAMP = re.compile(r"@(\d+\.\d+)@")
SETTLED = 12.0
"""Seconds after which a server has written and given back all it will of turns that ended."""
PATIENCE = 10.0
"""Seconds beyond a delay for which the last pieces are waited for."""


async def main(given: argparse.Namespace) -> int:
    folder = tempfile.mkdtemp(prefix="sessions")
    for number in range(READS):
        with open(os.path.join(folder, f"file{number}.txt"), "w") as file:
            file.write("".join(f"line {line:05} of a file with {number}\n" for line in range(READ_BYTES // 30)))
    model = Model(given.seconds)
    await model.start()
    running = given.sessions + given.readers + given.beside
    server = Served(folder, model.port, "--max-running", str(running), *_engine())
    try:
        ids, small, large = await _memory(server, given.sessions, given.readers)
        ages = await _latency(server, model, ids[: given.streaming], given.delay / 1000)
        if given.beside:
            await _beside(server, given.beside, small)
    finally:
        server.stop()
    goals = (
        ("memory after reads <= 1.5 MB", large <= 1.5e6),
        ("p50 <= 60 ms", _percentile(ages.pieces, 0.5) <= 0.060),
        ("p99 <= 250 ms", _percentile(ages.pieces, 0.99) <= 0.250),
        ("every piece arrived", len(ages.pieces) == model.sent),
    )
    for what, good in goals:
        print(f"{'ok    ' if good else 'MISSED'} {what}")
    return 0 if all(good for _, good in goals) else 1


# ---------------------------------------------------------------- memory


async def _memory(server: Served, sessions: int, readers: int) -> tuple[list[str], float, float]:
    """What a session of one line takes, and what one takes that has read files."""
    empty = server.memory()
    ids = await _launch(server, sessions, "quick")
    with_small = await _settled_memory(server)
    small = (with_small - empty) / sessions
    sizes = f"({empty / 1e6:.0f} MB empty, {with_small / 1e6:.0f} MB with all)"
    print(f"a session of one line: {small / 1e6:.2f} MB {sizes}")
    await _launch(server, readers, "read please")
    at_once = (server.memory() - with_small) / readers
    large = (await _settled_memory(server) - with_small) / readers
    print(f"a session after {READS} reads of {READ_BYTES // 1000} kB: {large / 1e6:.2f} MB", end=" ")
    print(f"({at_once / 1e6:.2f} MB at the moment the last one ended)")
    return ids, small, large


async def _launch(server: Served, number_of: int, prompt: str) -> list[str]:
    """Start sessions, and wait until each of them has answered."""
    began = time.monotonic()
    ids: list[str] = []
    for number in range(number_of):
        body = {"cwd": server.folder, "prompt": f"{prompt} {number}"}
        ids.append((await server.ask("POST", "/sessions", body))["id"])
    for id in ids:
        while (status := (await server.ask("GET", f"/sessions/{id}"))["status"]) != "completed":
            if status not in ("starting", "running", "queued"):
                raise RuntimeError(f"session {id} is {status}")
            await asyncio.sleep(0.1)
    print(f"{number_of} sessions launched and answered in {time.monotonic() - began:.1f} s")
    return ids


async def _settled_memory(server: Served) -> int:
    await asyncio.sleep(SETTLED)
    return server.memory()


async def _beside(server: Served, count: int, native: float) -> None:
    """The same talk of one line with processes of the official command."""
    before = server.memory_with_children()
    for number in range(count):
        await server.ask("POST", "/sessions", {"cwd": server.folder, "prompt": f"quick {number}", "engine": "claude"})
    while True:
        listed = await server.ask("GET", "/sessions?status=completed&limit=500&q=quick")
        if sum(view["config"].get("engine") == "claude" for view in listed["sessions"]) >= count:
            break
        await asyncio.sleep(0.2)
    each = (server.memory_with_children() - before) / count
    print(f"a `claude` process takes {each / 1e6:.0f} MB: {each / native:.0f} times a session of our own engine")


def _engine() -> list[str]:
    """The official command, where its package is installed."""
    from importlib.util import find_spec

    found = find_spec("claude_agent_sdk")
    if found is None or found.origin is None:
        return []
    return ["--engine", f"claude={os.path.join(os.path.dirname(found.origin), '_bundled', 'claude')}"]


# ---------------------------------------------------------------- latency


class Ages(msgspec.Struct):
    """In seconds."""

    pieces: list[float] = []
    newest: list[float] = []
    """Of each frame: what of it the server did not wait for."""


async def _latency(server: Served, model: Model, ids: list[str], delay: float) -> Ages:
    port = await delayed(server.port, delay) if delay else server.port
    began, processor = time.monotonic(), server.processor()
    ages = await _stream(server, model, ids, port, PATIENCE + delay)
    wall, used = time.monotonic() - began, server.processor() - processor
    print(f"age of {len(ages.pieces):,} of {model.sent:,} pieces in {len(ages.newest):,} frames,", end=" ")
    print(f"{len(ids)} streaming: {_spread(ages.pieces)}; newest of each frame: {_spread(ages.newest)}")
    print(f"the server used {used / wall:.0%} of its core, {used / model.sent * 1e6:.0f} µs a piece")
    return ages


async def _stream(server: Served, model: Model, ids: list[str], port: int, patience: float) -> Ages:
    """Have all sessions answer slowly at once, and follow until all pieces have come or none do any more."""
    headers = {"Authorization": f"Bearer {server.token}"}
    url = f"ws://127.0.0.1:{server.port}/api/v1/ws"
    ages = Ages()
    async with websockets.connect(
        url, additional_headers=headers, max_size=None, compression=None, port=port
    ) as socket:
        await socket.send(json.dumps({"type": "hello", "protocol": 1}))
        for id in ids:
            await socket.send(json.dumps({"type": "subscribe", "topic": f"session:{id}", "after": "now"}))
        saying = asyncio.create_task(_say(server, ids))
        while not saying.done() or model.answering or len(ages.pieces) < model.sent:
            try:
                message = await asyncio.wait_for(socket.recv(), patience)
            except TimeoutError:
                break
            now = time.monotonic()
            for frame in ages_of(json.loads(message), now):
                ages.pieces += frame
                ages.newest.append(frame[-1])
        await saying
    return ages


async def _say(server: Served, ids: list[str]) -> None:
    for id in ids:
        await server.ask("POST", f"/sessions/{id}/messages", {"content": "slow please"})


def ages_of(frames: list[dict[str, Any]], now: float) -> list[list[float]]:
    """How old each piece of each frame of text is, the newest last."""
    texts = (frame["data"]["text"] for frame in frames if frame["type"] == "part.delta")
    return [[now - float(stamp) for stamp in stamps] for text in texts if (stamps := STAMP.findall(text))]


def _spread(ages: list[float]) -> str:
    return f"p50 {_percentile(ages, 0.5) * 1000:.1f} ms, p99 {_percentile(ages, 0.99) * 1000:.1f} ms"


def _percentile(ages: list[float], part: float) -> float:
    return sorted(ages)[int(len(ages) * part)] if ages else float("inf")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--streaming", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--beside", type=int, default=0, help="so many `claude` processes, for comparison")
    parser.add_argument("--readers", type=int, default=50, help="sessions that read files, for the memory of one")
    parser.add_argument("--delay", type=float, default=0, metavar="MS", help="hold frames back, to see the figure move")
    sys.exit(asyncio.run(main(parser.parse_args())))
