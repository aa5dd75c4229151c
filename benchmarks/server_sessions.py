"""`python -m benchmarks.server_sessions [--sessions 1000 --streaming 100]`: many sessions of our engine in one server.

The server is the real `bobstay serve` on one core, with authentication, index and log; the scripted model and the
client share the other. Each piece of text says when it left the model. Counted is the age of the newest piece of each
frame when it arrives at the client, batching included. `--delay 1000` puts a proxy between server and client that holds
everything back for so many milliseconds, to see that the figure moves.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count
from typing import Any

import websockets

DELTAS_A_SECOND = 30
READS = 40
READ_BYTES = 20_000
_NUMBERS = count()
STAMP = re.compile(r"@(\d+\.\d+)@")


class Model:
    """Answers like the Messages API: `quick` at once, `slow` with a piece every 33 ms, `read` with calls of Read."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.port = 0

    async def start(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(re.search(rb"content-length: (\d+)", head, re.I)[1])  # type: ignore[index]
                body = await reader.readexactly(length)
                done = body.count(b'"tool_result"')
                if b"read please" in body and done < READS and b"slow please" not in body:
                    await self._call(writer, done)
                else:
                    await self._answer(writer, slow=b"slow please" in body)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    async def _call(self, writer: asyncio.StreamWriter, number: int) -> None:
        """One call of Read."""
        _begin(writer)
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {}}
        _event(writer, {"type": "content_block_start", "index": 0, "content_block": block})
        text = json.dumps({"file_path": f"file{number}.txt"})
        _event(
            writer,
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": text}},
        )
        await _end(writer, "tool_use")

    async def _answer(self, writer: asyncio.StreamWriter, *, slow: bool) -> None:
        _begin(writer)
        _event(writer, {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        deadline = time.monotonic() + (self.seconds if slow else 0)
        while True:
            text = f"@{time.monotonic():.6f}@ some words more "
            _event(writer, {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
            if time.monotonic() >= deadline:
                break
            await asyncio.sleep(1 / DELTAS_A_SECOND)
        await _end(writer, "end_turn")


def _begin(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    usage = {"input_tokens": 10, "output_tokens": 1}
    about = {"type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    message = {"id": f"msg_{next(_NUMBERS)}", **about}
    _event(writer, {"type": "message_start", "message": message})


async def _end(writer: asyncio.StreamWriter, stop: str) -> None:
    _event(writer, {"type": "content_block_stop", "index": 0})
    _event(writer, {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}})
    _event(writer, {"type": "message_stop"})
    writer.write(b"0\r\n\r\n")
    await writer.drain()


def _event(writer: asyncio.StreamWriter, event: dict[str, Any]) -> None:
    data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))


class Api:
    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.token = token

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        data = b"" if body is None else json.dumps(body).encode()
        writer.write(
            (
                f"{method} /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
                f"Authorization: Bearer {self.token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
            ).encode()
            + data
        )
        answer = await reader.read()
        writer.close()
        head, _, said = answer.partition(b"\r\n\r\n")
        if not re.match(rb"HTTP/1\.1 2", head):
            raise RuntimeError(f"{method} {path}: {answer[:500]!r}")
        return json.loads(said) if said else None


async def main(given: argparse.Namespace) -> int:
    folder = tempfile.mkdtemp(prefix="sessions")
    for number in range(READS):
        with open(os.path.join(folder, f"file{number}.txt"), "w") as file:
            file.write("".join(f"line {line:05} of a file with {number}\n" for line in range(READ_BYTES // 30)))
    model = Model(given.seconds)
    await model.start()
    server, port = _server(folder, model.port, given.sessions + given.readers + given.beside)
    try:
        api = Api(port, _token(folder))
        before = _memory(server.pid)
        ids = await _launch(api, folder, given.sessions, "quick")
        after = _memory(server.pid)
        small = (after - before) / given.sessions
        print(
            f"a session of one line: {small / 1e6:.2f} MB ({before / 1e6:.0f} MB empty, {after / 1e6:.0f} MB with all)"
        )
        await _launch(api, folder, given.readers, "read please")
        large = (_memory(server.pid) - after) / given.readers
        print(f"a session after {READS} reads of {READ_BYTES // 1000} kB: {large / 1e6:.2f} MB")
        watched = await delayed(port, given.delay / 1000) if given.delay else port
        ages = await _stream(api, ids[: given.streaming], given.seconds, watched)
        p50, p99 = ages[len(ages) // 2], ages[int(len(ages) * 0.99)]
        print(f"age of the newest piece of {len(ages)} frames, {given.streaming} streaming: ", end="")
        print(f"p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms, mean {statistics.mean(ages) * 1000:.1f} ms")
        if given.beside:
            await _beside(api, folder, server.pid, given.beside, small)
        goals = (
            ("memory after reads <= 1.5 MB", large <= 1.5e6),
            ("p50 <= 60 ms", p50 <= 0.060),
            ("p99 <= 250 ms", p99 <= 0.250),
        )
        for what, good in goals:
            print(_verdict(what, good))
        return 0 if all(good for _, good in goals) else 1
    finally:
        server.terminate()
        server.wait(30)


async def delayed(port: int, seconds: float) -> int:
    """The port of a proxy that hands on what the server says after so long."""

    async def hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, wait: float) -> None:
        loop = asyncio.get_running_loop()
        while data := await reader.read(1 << 16):
            loop.call_later(wait, writer.write, data)
        loop.call_later(wait, writer.close)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(hand_on(reader, ours, 0), hand_on(theirs, writer, seconds))

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    found: int = proxy.sockets[0].getsockname()[1]
    return found


async def _beside(api: Api, folder: str, pid: int, count: int, native: float) -> None:
    """The same with processes of the official command, as many as fit."""
    before = _tree_memory(pid)
    for number in range(count):
        await api.ask("POST", "/sessions", {"cwd": folder, "prompt": f"quick {number}", "engine": "claude"})
    while True:
        listed = await api.ask("GET", "/sessions?status=completed&limit=500&q=quick")
        if sum(view["config"].get("engine") == "claude" for view in listed["sessions"]) >= count:
            break
        await asyncio.sleep(0.2)
    each = (_tree_memory(pid) - before) / count
    print(f"a `claude` process takes {each / 1e6:.0f} MB: {each / native:.0f} times a session of our own engine")


def _tree_memory(pid: int) -> int:
    total = _memory(pid)
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children") as file:
                total += sum(_tree_memory(int(child)) for child in file.read().split())
        except OSError:
            continue
    return total


def _server(folder: str, model: int, sessions: int) -> tuple["subprocess.Popen[str]", int]:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    environment = {
        **{name: os.environ[name] for name in ("PATH",)},
        "HOME": folder,
        "BOBSTAY_HOME": os.path.join(folder, "home"),
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model}",
        "ANTHROPIC_API_KEY": "dummy",
        "BOBSTAY_MODEL": "sonnet",
    }
    core = min(os.sched_getaffinity(1) if os.geteuid() == 0 else {0})
    command = [
        sys.executable,
        "-m",
        "bobstay",
        "serve",
        "--port",
        "0",
        "--no-browser",
        "--max-running",
        str(sessions),
        *_engine(),
    ]
    server = subprocess.Popen(
        ["taskset", "-c", str(core), *command], env=environment, cwd=folder, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    found = re.search(r":(\d+)/", server.stdout.readline())
    assert found
    return server, int(found[1])


def _engine() -> list[str]:
    """The official command, where its package is installed."""
    from importlib.util import find_spec

    found = find_spec("claude_agent_sdk")
    if found is None or found.origin is None:
        return []
    return ["--engine", f"claude={os.path.join(os.path.dirname(found.origin), '_bundled', 'claude')}"]


def _token(folder: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": folder, "BOBSTAY_HOME": os.path.join(folder, "home")}
    command = [sys.executable, "-m", "bobstay", "token", "create", "--scope", "read,operate"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()[-1]


async def _launch(api: Api, folder: str, number_of: int, prompt: str) -> list[str]:
    began = time.monotonic()
    ids: list[str] = []
    for number in range(number_of):
        body = {"cwd": folder, "prompt": f"{prompt} {number}"}
        ids.append((await api.ask("POST", "/sessions", body))["id"])
    waiting = set(ids)
    while waiting:
        for id in tuple(waiting):
            status = (await api.ask("GET", f"/sessions/{id}"))["status"]
            if status == "failed":
                raise RuntimeError(f"session {id} failed")
            if status == "completed":
                waiting.discard(id)
            else:
                await asyncio.sleep(0.1)
                break
    print(f"{number_of} sessions launched and answered in {time.monotonic() - began:.1f} s")
    return ids


async def _stream(api: Api, ids: list[str], seconds: float, port: int) -> list[float]:
    """How old the newest piece in each frame was when it arrived, sorted."""
    headers = {"Authorization": f"Bearer {api.token}"}
    url = f"ws://127.0.0.1:{api.port}/api/v1/ws"
    ages: list[float] = []
    async with websockets.connect(
        url, additional_headers=headers, max_size=None, compression=None, port=port
    ) as socket:
        await socket.send(json.dumps({"type": "hello", "protocol": 1}))
        for id in ids:
            await socket.send(json.dumps({"type": "subscribe", "topic": f"session:{id}", "after": "now"}))
        for id in ids:
            await api.ask("POST", f"/sessions/{id}/messages", {"content": "slow please"})
        deadline = time.monotonic() + seconds - 1
        while (left := deadline - time.monotonic()) > 0:
            try:
                message = await asyncio.wait_for(socket.recv(), left)
            except TimeoutError:
                break
            ages += ages_of(json.loads(message), time.monotonic())
    return sorted(ages)


def ages_of(frames: list[dict[str, Any]], now: float) -> list[float]:
    """How old the newest piece of each frame of text is."""
    texts = (frame["data"]["text"] for frame in frames if frame["type"] == "part.delta")
    return [now - float(stamps[-1]) for text in texts if (stamps := STAMP.findall(text))]


def _memory(pid: int) -> int:
    """The server and its children."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        found = re.search(r"Pss:\s+(\d+)", file.read())
    assert found
    return int(found[1]) * 1024


def _verdict(what: str, good: bool) -> str:
    return f"{'ok    ' if good else 'MISSED'} {what}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--streaming", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--beside", type=int, default=0, help="so many `claude` processes, for comparison")
    parser.add_argument("--readers", type=int, default=50, help="sessions that read files, for the memory of one")
    parser.add_argument("--delay", type=float, default=0, metavar="MS", help="hold frames back, to see the figure move")
    sys.exit(asyncio.run(main(parser.parse_args())))
