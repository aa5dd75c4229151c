"""A real `bobstay serve` on one core, with authentication, index and log, for the benchmarks of the server."""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
from typing import Any

TICK = os.sysconf("SC_CLK_TCK")


class Served:
    """The process and a client of it. The benchmark itself moves to another core, if there are two."""

    def __init__(self, folder: str, model: int, *arguments: str) -> None:
        self.folder = folder
        cores = sorted(os.sched_getaffinity(0))
        self.variables = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "BOBSTAY_HOME": os.path.join(folder, "home"),
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model}",
            "ANTHROPIC_API_KEY": "dummy",
            "BOBSTAY_MODEL": "sonnet",
        }
        command = [sys.executable, "-m", "bobstay", "serve", "--port", "0", "--no-browser", *arguments]
        self.process = subprocess.Popen(
            ["taskset", "-c", str(cores[0]), *command],
            env=self.variables,
            cwd=folder,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        found = re.search(r":(\d+)/", self.process.stdout.readline())
        assert found
        self.port = int(found[1])
        os.sched_setaffinity(0, {cores[-1]})
        self.token = token_for(self.variables)

    @property
    def pid(self) -> int:
        return self.process.pid

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

    def memory(self) -> int:
        """PSS of the server alone, in bytes."""
        return _proportional(self.pid)

    def memory_with_children(self) -> int:
        return sum(map(_proportional, _family(self.pid)))

    def processor(self) -> float:
        """Seconds of all its threads."""
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


def token_for(variables: dict[str, str]) -> str:
    """A token as any program gets one."""
    command = [sys.executable, "-m", "bobstay", "token", "create", "--scope", "read,operate"]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout.split()[-1]


async def delayed(port: int, seconds: float) -> int:
    """The port of a proxy that hands on what the server says after so long."""

    def put(writer: asyncio.StreamWriter, data: bytes) -> None:
        if not writer.is_closing():
            writer.write(data)

    async def hand_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, wait: float) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                loop.call_later(wait, put, writer, data)
        loop.call_later(wait, writer.close)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(hand_on(reader, ours, 0), hand_on(theirs, writer, seconds))

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    found: int = proxy.sockets[0].getsockname()[1]
    return found


def _proportional(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup") as file:
            found = re.search(r"Pss:\s+(\d+)", file.read())
    except OSError:  # it has just ended
        return 0
    return int(found[1]) * 1024 if found else 0


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += [each for child in file.read().split() for each in _family(int(child))]
        except OSError:
            continue
    return found
