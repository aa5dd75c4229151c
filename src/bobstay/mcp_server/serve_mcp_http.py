"""Serves MCP clients over HTTP on this machine; each request must carry the token."""

import secrets
import socket
from typing import Any

import uvicorn

from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.mcp_server.serve_mcp import Say, running_service

GRACE_SECONDS = 2


async def serve_http(
    options: Options, environment: Environment, cwd: str, say: Say, *, port: int = 0, token: str = ""
) -> None:
    """Serve until this process is told to end. Without a `token` one is made. Raises `StartError`, `OSError`."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(128)  # before the address is told: whoever reads it may connect at once
        async with running_service(options, environment, cwd, say) as service:
            token = token or secrets.token_urlsafe(32)
            app = _require_token(service.server.streamable_http_app(), token)
            config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=GRACE_SECONDS)
            say(f"Serving MCP at http://127.0.0.1:{listening.getsockname()[1]}/mcp")
            say(f"Clients send the header: Authorization: Bearer {token}")
            await _HttpServer(config).serve(sockets=[listening])


class _HttpServer(uvicorn.Server):
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        # uvicorn would raise the signal again, and so end this process before the sessions are closed.
        self._captured_signals.clear()


def _require_token(app: Any, token: str) -> Any:
    expected = f"Bearer {token}".encode()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            given = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(given) != 1 or not secrets.compare_digest(given[0], expected):
                headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b"The token is missing or wrong.\n"})
                return
        elif scope["type"] != "lifespan":
            return
        await app(scope, receive, send)

    return guarded
