"""A small server with the real authentication on a real port, and a client that sends exactly the given bytes."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import uvicorn
from msgspec import Struct
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from bobstay.server.api.auth_routes import ENDPOINTS
from bobstay.server.api.dispatch import error_response, make_route
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.auth.audit_port import NoAuditLog, Refusals
from bobstay.server.auth.auth_middleware import AuthMiddleware, PublicStaticFiles
from bobstay.server.auth.auth_settings import AuthSettings
from bobstay.server.auth.authorization import Authorizer
from bobstay.server.auth.principal import Scope
from bobstay.server.errors import ApiError
from tests.kit.http_exchange import HttpReply, ask, exchange


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class AuditRecorder:
    """An audit log in memory."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str, dict[str, Any]]] = []

    def record(self, who: str, what: str, detail: dict[str, Any], session: str = "") -> None:
        self.entries.append((who, what, detail))

    def whats(self) -> list[str]:
        return [what for _, what, _ in self.entries]


class Actor(Struct, frozen=True):
    by: str


async def look(call: ApiCall) -> Actor:
    """Read something."""
    return Actor(call.principal.name)


async def act(call: ApiCall) -> Actor:
    """Do something."""
    call.request.app.state.acts.append(call.principal.name)
    return Actor(call.principal.name)


class Body(Struct, frozen=True):
    text: str = ""


MINE = (
    Endpoint("GET", "/things", look, "read", returns=Actor),
    Endpoint("POST", "/act", act, "operate", Body, None, Actor),
    Endpoint("POST", "/approve", act, "approve", Body, None, Actor),
    Endpoint("GET", "/health", look, None, returns=Actor),
)


class AuthServer:
    """`async with AuthServer(tmp_path) as auth_server`: a server with every kind of route."""

    def __init__(self, folder: Path, engine: AsyncEngine | None = None, clock: Any = None, **rules: Any) -> None:
        self.folder = folder
        self.clock = clock or Clock()
        self.audit = AuditRecorder()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.origin = f"http://{self.host}"
        self.engine = engine or create_async_engine(f"sqlite+aiosqlite:///{folder / 'auth.sqlite'}")
        self.rules = AuthSettings(port=self.port, **rules)
        self.auth = Authorizer(self.engine, self.rules, self.audit, self.clock)
        self.open_sockets: dict[asyncio.Event, str] = {}
        self.auth.track_connections(self.open_sockets.values, self._end_sockets)
        self.code = ""

    async def __aenter__(self) -> Self:
        await self.auth.start()
        self.code = await self.auth.start_code()
        self.app = self._app()
        config = uvicorn.Config(
            AuthMiddleware(self.app, self.auth.origin_policy),
            proxy_headers=False,
            server_header=False,
            log_config=None,
            lifespan="off",
            timeout_graceful_shutdown=1,
        )
        logging.getLogger("uvicorn.access").setLevel(logging.INFO)
        self.server = uvicorn.Server(config)
        self._serving = asyncio.create_task(self.server.serve(sockets=[self.socket]))
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.should_exit = True
        await self._serving
        await self.auth.close()
        await self.engine.dispose()

    # ------------------------------------------------------------ the client's side

    async def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: Any = None, host: str | None = None
    ) -> HttpReply:
        """Send these headers and no others, but for those of the body; an empty `host` sends no Host."""
        names = {} if host == "" else {"Host": host or self.host}
        return await ask(self.port, method, path, {**names, **(headers or {})}, body)

    async def send(self, raw: bytes) -> HttpReply:
        return await exchange(self.port, raw)

    async def enter(self, code: str = "") -> dict[str, str]:
        """Exchange a code; headers of the page that did so."""
        reply = await self.ask("POST", "/api/v1/auth/exchange", {"Origin": self.origin}, {"code": code or self.code})
        assert reply.status == 200, reply.body
        return {"Cookie": reply.header("set-cookie").split(";")[0], "Origin": self.origin}

    async def token(self, *scopes: Scope, lifetime: float | None = None) -> tuple[str, dict[str, str]]:
        """The id of a new token, and the header it is sent in."""
        client, secret = await self.auth.clients.create(
            "token", "token:test", scopes, label="test", by="test", lifetime=lifetime
        )
        return client.id, {"Authorization": f"Bearer {secret}"}

    def ws(self, path: str) -> str:
        return f"ws://{self.host}{path}"

    # ------------------------------------------------------------ the server's side

    def _app(self) -> Starlette:
        static = self.folder / "static"
        static.mkdir(exist_ok=True)
        (static / "index.html").write_text("<!doctype html><title>console</title>")
        (static / "app.js").write_text("'use strict'")
        # The routes used here need no other services.
        services: Any = SimpleNamespace(auth=self.auth, audit=NoAuditLog(), refusals=Refusals(NoAuditLog()))
        app = Starlette(
            routes=[
                *(make_route(endpoint, services) for endpoint in (*ENDPOINTS, *MINE)),
                Route("/api/v1/stream", self._stream),
                Route("/api/v1/forgotten", _forgotten),
                WebSocketRoute("/api/v1/ws", self._socket),
                WebSocketRoute("/api/v1/pty", self._terminal),
                WebSocketRoute("/api/v1/forgotten-ws", _forgotten_socket),
                Mount("/", PublicStaticFiles(StaticFiles(directory=static, html=True))),
            ]
        )
        app.state.acts = []
        return app

    async def _stream(self, request: Request) -> Response:
        try:
            principal = await self.auth.admit(request, "read")
        except ApiError as error:
            return error_response(error)

        async def events() -> AsyncIterator[bytes]:
            yield f"data: {principal.name}\n\n".encode()

        return StreamingResponse(events(), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})

    async def _socket(self, socket: WebSocket) -> None:
        await self._serve_socket(socket, "read")

    async def _terminal(self, socket: WebSocket) -> None:
        await self._serve_socket(socket, "terminal")

    def _end_sockets(self, client: str) -> None:
        for ended, whose in self.open_sockets.items():
            if whose == client:
                ended.set()

    async def _serve_socket(self, socket: WebSocket, scope: Scope) -> None:
        principal = await self.auth.admit(socket, scope)
        ended = asyncio.Event()
        await socket.accept()
        self.open_sockets[ended] = principal.client
        try:
            await socket.send_text(principal.name)
            reading = asyncio.create_task(_read_all(socket))
            ending = asyncio.create_task(ended.wait())
            await asyncio.wait([reading, ending], return_when=asyncio.FIRST_COMPLETED)
            for task in (reading, ending):
                task.cancel()
            await asyncio.gather(reading, ending, return_exceptions=True)
        finally:
            del self.open_sockets[ended]
        if ended.is_set():
            await socket.close(4001, "revoked")


async def _read_all(socket: WebSocket) -> None:
    try:
        while True:
            await socket.receive_text()
    except WebSocketDisconnect:
        return


async def _forgotten(_: Request) -> Response:
    return PlainTextResponse("all the secrets")


async def _forgotten_socket(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("all the secrets")


def is_root() -> bool:
    return os.geteuid() == 0
