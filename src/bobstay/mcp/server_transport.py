"""Chooses and opens the transport of an MCP server."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from bobstay.mcp.channel_transport import open_channel
from bobstay.mcp.http_transport import HttpExchange, open_http
from bobstay.mcp.mcp_ports import McpOptions, McpPorts
from bobstay.mcp.server_config import McpServerConfig
from bobstay.mcp.stdio_channel import StdioChannel

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


def start_channel(config: McpServerConfig, options: McpOptions, number: int) -> StdioChannel | None:
    """Start the process of a server, if it is one. This needs nothing of the SDK.

    Raises:
        OSError: it could not be started.
    """
    if config.transport != "stdio":
        return None
    # Both names: servers that were written for another agent look for the first.
    project = {"CLAUDE_PROJECT_DIR": options.cwd, "BOBSTAY_PROJECT_DIR": options.cwd}
    return StdioChannel(
        [config.command, *config.args],
        cwd=options.cwd,
        environment={**options.environment, **project, **config.env},
        session_id=options.session_id,
        number=number,
    )


async def open_transport(
    config: McpServerConfig,
    options: McpOptions,
    ports: McpPorts,
    channel: StdioChannel | None,
    exchange: HttpExchange,
) -> AbstractAsyncContextManager[TransportStreams]:
    """Return the transport of a server, to be entered by the SDK, which must be loaded.

    Raises:
        OSError: the connection failed.
    """
    if channel is not None:
        return open_channel(channel)
    if config.transport == "sdk":
        from bobstay.mcp.host_channel import HostChannel

        if ports.send_to_host is None:
            raise ConnectionError("the program that offers this server is not connected")
        return open_channel(HostChannel(str(config.raw.get("name") or config.name), ports.send_to_host))
    if config.transport == "ws":
        from bobstay.mcp.websocket_channel import WebsocketChannel, WebsocketRefusedError

        try:
            opened = await WebsocketChannel.open(config.url, config.headers, options.network, options.connect_timeout)
        except WebsocketRefusedError as error:
            exchange.status = error.status
            raise
        return open_channel(opened)
    auth = ports.auth(config) if ports.auth is not None else None
    return open_http(config, auth=auth, network=options.network, exchange=exchange)
