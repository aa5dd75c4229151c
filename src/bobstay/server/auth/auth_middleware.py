"""Authentication middleware: enforces origin rules and blocks responses of routes that skip authorization."""

import logging
from typing import NoReturn

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bobstay.server.auth.origin_policy import KEY, OriginPolicy, RequestOrigin
from bobstay.server.auth.security_headers import add_security_headers
from bobstay.server.errors import ApiError, ProblemBody
from bobstay.sessions.log_codec import to_json

log = logging.getLogger(__name__)

DENIAL_EXTENSION = "websocket.http.response"
"""ASGI extension for refusing a WebSocket with an HTTP response."""


class AuthMiddleware:
    """The outermost application. It checks Host and Origin; `Authorizer.admit`, which every route calls, the principal.

    A route that forgets to call it is detected here: its response is not sent.
    """

    def __init__(self, app: ASGIApp, origin_policy: OriginPolicy) -> None:
        self._app = app
        self._origin_policy = origin_policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        guarded = _GuardedSend(scope, send)
        try:
            self._origin_policy.inspect(scope)
            await self._app(scope, receive, guarded.send)
        except ApiError as error:
            await guarded.refuse(error)
        except _Unguarded:
            return


class PublicStaticFiles:
    """Wraps the static files of the page, which need no authentication."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request: RequestOrigin = scope[KEY]
        request.static_file = request.read_only
        await self._app(scope, receive, send)


class _Unguarded(Exception):  # noqa: N818 - reads as what happened
    """Stops a route whose response was blocked."""


class _GuardedSend:
    """The `send` of one connection: adds security headers and blocks unauthorized responses."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._started = False

    async def send(self, message: Message) -> None:
        kind: str = message["type"]
        if kind in ("http.response.start", "websocket.http.response.start"):
            request: RequestOrigin = self._scope[KEY]
            if 200 <= message["status"] < 300 and not (request.admitted or request.static_file):
                await self._block_unauthorized()
            headers = add_security_headers(
                list(message.get("headers", ())), static_file=request.static_file and message["status"] < 400
            )
            self._started = True
            await self._send({**message, "headers": headers})
            return
        if kind == "websocket.accept" and not self._scope[KEY].admitted:
            await self._block_unauthorized()
        self._started = True
        await self._send(message)

    async def refuse(self, error: ApiError) -> None:
        """Respond with an error; if a response has begun, end it."""
        if self._started:
            if self._scope["type"] == "websocket":
                await self._send({"type": "websocket.close", "code": 1008, "reason": error.problem.code})
                return
            raise error
        self._started = True
        if self._scope["type"] == "websocket" and DENIAL_EXTENSION not in self._scope.get("extensions", {}):
            await self._send({"type": "websocket.close", "code": 1008, "reason": error.problem.code})
            return
        prefix = "websocket.http" if self._scope["type"] == "websocket" else "http"
        headers = [(b"content-type", b"application/json")]
        body = to_json(ProblemBody(error.problem))
        headers.append((b"content-length", str(len(body)).encode()))
        start = {
            "type": f"{prefix}.response.start",
            "status": error.status,
            "headers": add_security_headers(headers, static_file=False),
        }
        await self._send(start)
        await self._send({"type": f"{prefix}.response.body", "body": body})

    async def _block_unauthorized(self) -> NoReturn:
        log.error("%s answered without authorizing the request; the response was not sent", ascii(self._scope["path"]))
        await self.refuse(
            ApiError("internal", "This route does not authorize its requests, so it is blocked. Report it.")
        )
        raise _Unguarded
