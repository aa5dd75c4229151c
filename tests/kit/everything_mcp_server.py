"""The reference server of the protocol, from npm: `make test` installs it (scripts/test_servers.sh)."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.kit.python_mcp_server import free_port
from tests.kit.waiting import until

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "scripts/test_servers/node_modules/@modelcontextprotocol/server-everything/dist/index.js"


def install() -> None:
    """Install it, unless it is there: one test run does it for all its processes."""
    subprocess.run(["bash", str(ROOT / "scripts/test_servers.sh")], check=True, capture_output=True)


def over_stdio() -> dict[str, Any]:
    return {"command": "node", "args": [str(PROGRAM), "stdio"], "env": {"PATH": os.environ["PATH"]}}


@asynccontextmanager
async def over_http(kind: str) -> AsyncIterator[dict[str, Any]]:
    """The entry of `mcpServers` of a running server of this kind: `http` or `sse`."""
    port = free_port()
    named = "streamableHttp" if kind == "http" else "sse"
    process = await asyncio.create_subprocess_exec(
        "node",
        str(PROGRAM),
        named,
        env={"PATH": os.environ["PATH"], "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await until(lambda: _is_listening(port), "the server did not start")
        yield {"type": kind, "url": f"http://127.0.0.1:{port}/{'mcp' if kind == 'http' else 'sse'}"}
    finally:
        process.kill()
        await process.wait()


def _is_listening(port: int) -> bool:
    import socket

    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
