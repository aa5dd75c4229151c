"""Every endpoint of the API as a method: `GET /sessions`, or by the name of its function. Who calls is the owner."""

import inspect
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlencode

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from bobstay.server.api.dispatch import note_deed, note_refusal, of_log, run, session_of
from bobstay.server.api.endpoint import ApiCall, Endpoint, EndpointAnswer
from bobstay.server.api.idempotency import HEADER, once
from bobstay.server.auth.principal import OWNER, Principal
from bobstay.server.console import Console
from bobstay.server.errors import ApiError
from bobstay.server.rpc.rpc_messages import INVALID_PARAMS, NO_METHOD, REFUSED, Params, RpcError, of_api
from bobstay.server.sessions.public_view import shown
from bobstay.sessions.log import LogError
from bobstay.sessions.log_codec import to_json

PREFIX = "/api/v1"
_Found: TypeAlias = tuple[Endpoint, dict[str, str], dict[str, str]]


class RpcRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The parameters of a method."""

    path: dict[str, str] = {}
    query: dict[str, Any] = {}
    body: Any = None
    headers: dict[str, str] = {}


class RpcBridge:
    """Calls endpoints without HTTP. Streams are not among them: `subscribe` is for those."""

    def __init__(
        self,
        endpoints: tuple[Endpoint, ...],
        console: Console,
        app: Starlette | None = None,
        principal: Principal = OWNER,
    ) -> None:
        self._endpoints = [endpoint for endpoint in endpoints if endpoint.media != "text/event-stream"]
        self._named = {endpoint.run.__name__: endpoint for endpoint in self._endpoints}
        self._patterns = [(endpoint, compile_path(endpoint.path)[0]) for endpoint in self._endpoints]
        self._console = console
        self._app = app
        self._principal = principal

    def methods(self) -> list[dict[str, str]]:
        """What can be called, for people who look around."""
        return [
            {
                "method": f"{endpoint.method} {endpoint.path}",
                "name": endpoint.run.__name__,
                "summary": (inspect.getdoc(endpoint.run) or "").partition("\n")[0],
            }
            for endpoint in self._endpoints
        ]

    async def call(self, method: str, params: Params) -> Any:
        """Raises:
        RpcError: there is no such method, what was given is not right, or it was refused.
        """
        endpoint, path, query = self._find(method)
        given = _given(params)
        path, query = {**given.path, **path}, {**given.query, **query}
        missing = [name for name in compile_path(endpoint.path)[2] if name not in path]
        if missing:
            raise RpcError(INVALID_PARAMS, f"`path` lacks {', '.join(missing)}.")
        call = ApiCall(
            self._console,
            self._request(endpoint, path, query, given),
            self._principal,
            path,
            _checked(query, endpoint.query, "query", strict=False),
            _checked(given.body, endpoint.body, "body", strict=True),
        )
        session = session_of(self._console, endpoint, path)
        try:
            said = _plain(await _answered(endpoint, call))
        except ApiError as error:
            note_refusal(self._console, endpoint, self._principal.name, session, error)
            raise of_api(error) from error
        except LogError as error:
            raise of_api(of_log(error)) from error
        place = PREFIX + compile_path(endpoint.path)[1].format(**path)
        note_deed(endpoint, call, session, path=place, status=endpoint.status, by="rpc")
        return said

    def _find(self, method: str) -> _Found:
        named = self._named.get(method)
        if named is not None:
            return named, {}, {}
        verb, _, where = method.partition(" ")
        place, _, query = where.strip().removeprefix(PREFIX).partition("?")
        for endpoint, pattern in self._patterns:
            if endpoint.method == verb.upper():
                if endpoint.path == place:
                    return endpoint, {}, dict(parse_qsl(query))
                match = pattern.match(place)
                if match is not None:
                    path = {name: unquote(value) for name, value in match.groupdict().items()}
                    return endpoint, path, dict(parse_qsl(query))
        raise RpcError(NO_METHOD, f"There is no method {method[:200]!r}. `rpc.methods` lists all there are.")

    def _request(self, endpoint: Endpoint, path: dict[str, str], query: dict[str, Any], given: RpcRequest) -> Request:
        """For endpoints that look at the request itself."""
        body = b"" if given.body is None else to_json(given.body)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(_header(name.lower()), _header(value)) for name, value in given.headers.items()]
        place = PREFIX + compile_path(endpoint.path)[1].format(**path)
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": endpoint.method,
            "scheme": "http",
            "path": place,
            "raw_path": place.encode(errors="replace"),
            "root_path": "",
            "query_string": urlencode(query, doseq=True, errors="replace").encode(),
            "headers": headers,
            "client": None,
            "server": None,
            "path_params": path,
            "state": {},
            "app": self._app,
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        return Request(scope, receive)


async def _answered(endpoint: Endpoint, call: ApiCall) -> Any:
    """What the endpoint says; or, to a request sent again with its `Idempotency-Key`, what it said the first time."""
    if HEADER not in call.request.headers:
        return await endpoint.run(call)
    return await once(endpoint, call, lambda: run(endpoint, call))


def _header(text: str) -> bytes:
    return text.encode("latin-1", "replace")


def _given(params: Params) -> RpcRequest:
    try:
        return msgspec.convert({} if params is None else params, RpcRequest)
    except msgspec.ValidationError as error:
        text = f"Parameters are an object with `path`, `query`, `body` and `headers`, each if needed: {error}"
        raise RpcError(INVALID_PARAMS, text) from None


def _checked(value: Any, shape: Any, name: str, *, strict: bool) -> Any:
    if shape is None:
        return None
    try:
        return msgspec.convert(value, shape, strict=strict)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"The {name} is not as it should be: {error}") from None


def _plain(said: Any) -> Any:
    """What an endpoint returned as a value of JSON."""
    if isinstance(said, EndpointAnswer):
        return shown(said.value)
    if not isinstance(said, Response):
        return shown(said)
    body = getattr(said, "body", None)
    if not isinstance(body, bytes | bytearray | memoryview) or type(said).__call__ is not Response.__call__:
        raise RpcError(REFUSED, "This comes in pieces: get it over HTTP.", {"code": "not_supported", "status": 422})
    raw = bytes(body)
    if said.status_code >= 400:
        data = {"status": said.status_code, "body": raw.decode(errors="replace")}
        raise RpcError(REFUSED, "The server refused.", data)
    kind = (said.media_type or said.headers.get("content-type", "")).partition(";")[0].strip()
    if kind == "application/json":
        return msgspec.Raw(raw) if raw else None
    if kind.startswith("text/"):
        return raw.decode(errors="replace")
    from base64 import b64encode

    return {"base64": b64encode(raw).decode(), "type": kind} if raw else None
