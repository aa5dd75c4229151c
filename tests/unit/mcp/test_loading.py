"""The SDK is loaded for sessions with servers only, and nothing waits for it (H8-1)."""

import asyncio
import subprocess
import sys
from pathlib import Path

from tests.kit.mcp_sessions import McpSession, configure, scripted_entry
from tests.kit.waiting import until

PROGRAM = """
import asyncio, sys
from bobstay.config.paths import Paths
from bobstay.mcp.config_sources import McpSources, collect_servers
from bobstay.mcp.mcp_ports import McpOptions
from bobstay.mcp.mcp_servers import McpServers

async def main():
    found = collect_servers(McpSources("/", Paths("/x", "/x/b", "/x/c")))
    servers = McpServers(found.servers, McpOptions("/", {}, "s", lambda: ()))
    servers.start()
    assert await servers.settled(0)
    assert servers.tools() == () and servers.status() == []
    await servers.close()

asyncio.run(main())
heavy = {"mcp", "pydantic", "httpx2", "anyio", "jsonschema", "PIL", "http", "mimetypes"}
print(sorted({name.split(".")[0] for name in sys.modules} & heavy))
"""


def test_a_session_without_servers_loads_nothing_of_the_sdk() -> None:
    """H8-1"""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_servers_start_while_the_sdk_still_waits_to_be_loaded(tmp_path: Path) -> None:
    """H8-1"""
    pids = tmp_path / "pids"
    session = McpSession(tmp_path, configure(t=scripted_entry(MCP_PID=str(pids))), {})
    first_request = asyncio.Event()
    session.servers.start(first_request)
    try:
        await until(pids.exists)
        assert session.state("t") == "pending"
        first_request.set()
        assert await session.servers.settled(60)
        assert session.state("t") == "connected"
    finally:
        await session.servers.close()


async def test_the_time_that_loading_the_sdk_takes_is_not_counted_as_that_of_the_servers(tmp_path: Path) -> None:
    """H8-3"""
    pids = tmp_path / "pids"
    session = McpSession(tmp_path, configure(t=scripted_entry(MCP_PID=str(pids))), {})
    is_loadable = asyncio.Event()
    session.servers.start(is_loadable)
    waiting = asyncio.ensure_future(session.servers.settled(0.001))
    try:
        await until(pids.exists)
        assert not waiting.done(), "nobody could have talked to the server yet"
        is_loadable.set()
        await waiting
    finally:
        await session.servers.close()
