"""An MCP server with the official SDK, over stdio as a program, or over HTTP, SSE and WebSocket in this process."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from mcp.server.mcpserver import Context, MCPServer


def build_server() -> MCPServer:
    server = MCPServer("pythonic", instructions="Add numbers with it.", version="2", log_level="CRITICAL")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @server.tool()
    def big(n: int) -> str:
        """A long text."""
        return "x" * n

    @server.tool()
    async def grow(context: Context[Any, Any]) -> str:
        """Makes a new tool."""
        server.add_tool(lambda: "grown", name="grown", description="Is new.")
        await context.session.send_tool_list_changed()
        return "done"

    @server.tool()
    async def count(context: Context[Any, Any]) -> str:
        """Counts to three."""
        for step in range(1, 4):
            await context.report_progress(step, 3)
        return "three"

    @server.tool()
    async def headers(context: Context[Any, Any]) -> str:
        """The headers of the request."""
        return str(dict(context.headers or {}))

    @server.resource("doc://two", description="A page.")
    def page() -> str:
        return "the page"

    @server.prompt()
    def review(code: str) -> str:
        """Asks for a review."""
        return f"Review this: {code}"

    return server


def free_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class HttpMcpServer:
    """The server behind a port of this machine. It can be stopped and started again at the same port."""

    def __init__(self, make_app: Callable[[], Any]) -> None:
        self._make_app = make_app
        self.port = 0
        self._task: asyncio.Task[None] | None = None
        self._server: Any = None

    async def start(self) -> None:
        import uvicorn

        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._make_app(), log_config=None, lifespan="on", timeout_graceful_shutdown=1, ws="none"
        )
        self._server = uvicorn.Server(config)
        self._server.install_signal_handlers = lambda: None
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]))
        while not self._server.started:
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        if self._task is not None:
            self._server.should_exit = True
            self._server.force_exit = True
            await self._task
            self._task = None


@asynccontextmanager
async def http_mcp_server(
    kind: str, wrap: Callable[[Any], Any] = lambda app: app, **options: Any
) -> AsyncIterator[tuple[HttpMcpServer, dict[str, Any]]]:
    """A server of this kind (`http` or `sse`), and its entry of `mcpServers`. `wrap` adds middleware."""

    def make_app() -> Any:
        server = build_server()
        return wrap(server.streamable_http_app(**options) if kind == "http" else server.sse_app(**options))

    running = HttpMcpServer(make_app)
    await running.start()
    path = "mcp" if kind == "http" else "sse"
    try:
        yield running, {"type": kind, "url": f"http://127.0.0.1:{running.port}/{path}"}
    finally:
        await running.stop()


@asynccontextmanager
async def websocket_mcp_server(
    check: Callable[[Any, Any], Awaitable[Any] | Any] | None = None,
) -> AsyncIterator[dict[str, Any]]:
    """The entry of `mcpServers` of a server behind a WebSocket. `check` may answer the handshake instead."""
    from websockets.asyncio.server import ServerConnection, serve
    from websockets.typing import Subprotocol

    from bobstay.mcp.channel_transport import open_channel
    from bobstay.mcp.websocket_channel import WebsocketChannel

    async def connected(connection: ServerConnection) -> None:
        server = build_server()._lowlevel_server
        channel = WebsocketChannel(cast(Any, connection))  # both sides of a WebSocket have the same methods
        async with open_channel(channel) as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())

    options: dict[str, Any] = {"subprotocols": [Subprotocol("mcp")], "max_size": None, "process_request": check}
    async with serve(connected, "127.0.0.1", 0, **options) as listening:
        port = next(iter(listening.sockets)).getsockname()[1]
        yield {"type": "ws", "url": f"ws://127.0.0.1:{port}/"}


if __name__ == "__main__":
    build_server().run("stdio")
