"""`python -m benchmarks.server_sessions [--sessions 1000 --streaming 100]`: many sessions of our engine in one server.

The server has one core; the scripted model and the client that watches share the other. Each piece of text says when it
left the model; how late it is on the client's socket, the wanted wait for more pieces left out, is what is counted.
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
from typing import Any

import websockets

DELTAS_A_SECOND = 30
INTERVAL = 0.05
STAMP = re.compile(r"@(\d+\.\d+)@")


class Model:
    """Answers like the Messages API: at once for `quick`, with a piece every 33 ms for `slow`."""

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
                await self._answer(writer, slow=b"slow please" in body)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter, *, slow: bool) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
        _event(writer, {"type": "message_start", "message": message})
        _event(writer, {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        deadline = time.monotonic() + (self.seconds if slow else 0)
        while True:
            text = f"@{time.monotonic():.6f}@ some words more "
            _event(writer, {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
            if time.monotonic() >= deadline:
                break
            await asyncio.sleep(1 / DELTAS_A_SECOND)
        _event(writer, {"type": "content_block_stop", "index": 0})
        _event(writer, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}})
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


async def main(sessions: int, streaming: int, seconds: float, beside: int) -> None:
    folder = tempfile.mkdtemp(prefix="sessions")
    model = Model(seconds)
    await model.start()
    server, port = _server(folder, model.port, sessions)
    try:
        token = _token(folder)
        api = Api(port, token)
        before = _memory(server.pid)
        ids = await _launch(api, folder, sessions)
        after = _memory(server.pid)
        a_session = (after - before) / sessions
        print(
            f"memory: {before / 1e6:.0f} MB empty, {after / 1e6:.0f} MB with {sessions}: {a_session / 1e6:.2f} MB each"
        )
        late = await _stream(api, ids[:streaming], seconds)
        late.sort()
        p50, p99 = late[len(late) // 2], late[int(len(late) * 0.99)]
        print(f"added latency of {len(late)} frames: p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms", end=" ")
        print(f"(mean {statistics.mean(late) * 1000:.1f} ms)")
        if beside:
            await _beside(api, folder, server.pid, beside, a_session)
        print(_verdict("memory a session <= 1.5 MB", a_session <= 1.5e6))
        print(_verdict("p50 <= 15 ms", p50 <= 0.015))
        print(_verdict("p99 <= 150 ms", p99 <= 0.150))
    finally:
        server.terminate()
        server.wait(30)


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


async def _launch(api: Api, folder: str, sessions: int) -> list[str]:
    began = time.monotonic()
    ids = []
    for number in range(sessions):
        body = {"cwd": folder, "prompt": f"quick {number}"}
        ids.append((await api.ask("POST", "/sessions", body))["id"])
    while True:
        listed = await api.ask("GET", "/sessions?status=completed&limit=1000")
        if len(listed["sessions"]) >= min(sessions, 500):
            break
        await asyncio.sleep(0.2)
    print(f"{sessions} sessions launched and answered in {time.monotonic() - began:.1f} s")
    return ids


async def _stream(api: Api, ids: list[str], seconds: float) -> list[float]:
    headers = {"Authorization": f"Bearer {api.token}"}
    url = f"ws://127.0.0.1:{api.port}/api/v1/ws"
    late: list[float] = []
    async with websockets.connect(url, additional_headers=headers, max_size=None, compression=None) as socket:
        await socket.send(json.dumps({"type": "hello", "protocol": 1}))
        for id in ids:
            await socket.send(json.dumps({"type": "subscribe", "topic": f"session:{id}", "after": "now"}))
        for id in ids:
            await api.ask("POST", f"/sessions/{id}/messages", {"content": "slow please"})
        last: dict[str, float] = {}
        deadline = time.monotonic() + seconds - 1
        while (left := deadline - time.monotonic()) > 0:
            try:
                message = await asyncio.wait_for(socket.recv(), left)
            except TimeoutError:
                break
            now = time.monotonic()
            for frame in json.loads(message):
                if frame["type"] != "part.delta":
                    continue
                stamps = STAMP.findall(frame["data"]["text"])
                if stamps:
                    wanted = max(float(stamps[0]), last.get(frame["session_id"], 0) + INTERVAL)
                    late.append(max(now - wanted, 0.0))
                    last[frame["session_id"]] = now
    return late


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
    given = parser.parse_args()
    asyncio.run(main(given.sessions, given.streaming, given.seconds, given.beside))
