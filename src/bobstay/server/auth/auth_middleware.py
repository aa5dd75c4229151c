"""Stands before every route, file and socket: looks who knocks, and holds back answers nobody was admitted for."""

import logging
from typing import NoReturn

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bobstay.server.auth.origin_policy import KEY, OriginPolicy, RequestOrigin
from bobstay.server.auth.security_headers import hardened
from bobstay.server.errors import ApiError, ProblemBody
from bobstay.sessions.log_codec import to_json

log = logging.getLogger(__name__)

DENIED = "websocket.http.response"
"""The extension of ASGI by which a socket is refused with an answer one can read."""


class AuthMiddleware:
    """The outermost application. It asks for Host and Origin; `Doors.admit`, which every route calls, for the person.

    A route that forgets to ask is found out here: its answer does not leave.
    """

    def __init__(self, app: ASGIApp, threshold: OriginPolicy) -> None:
        self._app = app
        self._threshold = threshold

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        way_out = _Exit(scope, send)
        try:
            self._threshold.visit(scope)
            await self._app(scope, receive, way_out.send)
        except ApiError as error:
            await way_out.refuse(error)
        except _Unguarded:
            return


class Shell:
    """Around the static files of the page: whoever may know this server's name may have them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit: RequestOrigin = scope[KEY]
        visit.shell = visit.reads
        await self._app(scope, receive, send)


class _Unguarded(Exception):  # noqa: N818 - reads as what happened
    """Stops a route whose answer was held back."""


class _Exit:
    """The way out of one connection."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._started = False

    async def send(self, message: Message) -> None:
        kind: str = message["type"]
        if kind in ("http.response.start", "websocket.http.response.start"):
            visit: RequestOrigin = self._scope[KEY]
            if 200 <= message["status"] < 300 and not (visit.admitted or visit.shell):
                await self._forgotten()
            headers = hardened(list(message.get("headers", ())), shell=visit.shell and message["status"] < 400)
            self._started = True
            await self._send({**message, "headers": headers})
            return
        if kind == "websocket.accept" and not self._scope[KEY].admitted:
            await self._forgotten()
        self._started = True
        await self._send(message)

    async def refuse(self, error: ApiError) -> None:
        """Answer with an error, or, where an answer has begun, end it."""
        if self._started:
            if self._scope["type"] == "websocket":
                await self._send({"type": "websocket.close", "code": 1008, "reason": error.problem.code})
                return
            raise error
        self._started = True
        if self._scope["type"] == "websocket" and DENIED not in self._scope.get("extensions", {}):
            await self._send({"type": "websocket.close", "code": 1008, "reason": error.problem.code})
            return
        prefix = "websocket.http" if self._scope["type"] == "websocket" else "http"
        headers = [(b"content-type", b"application/json")]
        body = to_json(ProblemBody(error.problem))
        headers.append((b"content-length", str(len(body)).encode()))
        start = {"type": f"{prefix}.response.start", "status": error.status, "headers": hardened(headers, shell=False)}
        await self._send(start)
        await self._send({"type": f"{prefix}.response.body", "body": body})

    async def _forgotten(self) -> NoReturn:
        log.error("%s was answered without asking who is there. The answer was not sent.", ascii(self._scope["path"]))
        await self.refuse(ApiError("internal", "This part of the server is not guarded, so it stays shut. Report it."))
        raise _Unguarded
