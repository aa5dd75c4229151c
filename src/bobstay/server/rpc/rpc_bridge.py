"""Calls the endpoints of the API as RPC methods, by `GET /sessions` or by function name, as the owner."""

import inspect
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, unquote, urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from bobstay.server.api.dispatch import audit_action, audit_refusal, run_endpoint, session_of
from bobstay.server.api.endpoint import ApiCall, Endpoint, EndpointAnswer
from bobstay.server.api.idempotency import HEADER, run_once
from bobstay.server.api.services import Services
from bobstay.server.auth.principal import OWNER, Principal
from bobstay.server.errors import ApiError, error_of_log
from bobstay.server.rpc.rpc_messages import INVALID_PARAMS, NO_METHOD, REFUSED, Params, RpcError, rpc_error_of
from bobstay.server.sessions.public_view import to_public
from bobstay.sessions.log import LogError
from bobstay.sessions.log_codec import to_json

PREFIX = "/api/v1"
_EndpointMatch: TypeAlias = tuple[Endpoint, dict[str, str], dict[str, str]]


class RpcRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The parameters of a method."""

    path: dict[str, str] = {}
    query: dict[str, Any] = {}
    body: Any = None
    headers: dict[str, str] = {}


class RpcBridge:
    """Calls endpoints without HTTP. Streams are excluded; `subscribe` replaces them."""

    def __init__(
        self,
        endpoints: tuple[Endpoint, ...],
        services: Services,
        principal: Principal = OWNER,
    ) -> None:
        self._endpoints = [endpoint for endpoint in endpoints if endpoint.media != "text/event-stream"]
        self._by_name = {endpoint.run.__name__: endpoint for endpoint in self._endpoints}
        self._patterns = [(endpoint, compile_path(endpoint.path)[0]) for endpoint in self._endpoints]
        self._services = services
        self._principal = principal

    def methods(self) -> list[dict[str, str]]:
        """List all methods with their summaries."""
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
        RpcError: the method does not exist, the parameters are invalid, or the endpoint refused.
        """
        endpoint, path, query = self._find(method)
        given = _parse_params(params)
        path, query = {**given.path, **path}, {**given.query, **query}
        missing = [name for name in compile_path(endpoint.path)[2] if name not in path]
        if missing:
            raise RpcError(INVALID_PARAMS, f"`path` lacks {', '.join(missing)}.")
        call = ApiCall(
            self._services,
            self._request(endpoint, path, query, given),
            self._principal,
            path,
            _convert(query, endpoint.query, "query", strict=False),
            _convert(given.body, endpoint.body, "body", strict=True),
        )
        session = session_of(self._services, endpoint, path)
        try:
            result = _json_value(await _run(endpoint, call))
        except ApiError as error:
            audit_refusal(self._services, endpoint, self._principal.name, session, error)
            raise rpc_error_of(error) from error
        except LogError as error:
            raise rpc_error_of(error_of_log(error)) from error
        url_path = PREFIX + compile_path(endpoint.path)[1].format(**path)
        audit_action(endpoint, call, session, path=url_path, status=endpoint.status, by="rpc")
        return result

    def _find(self, method: str) -> _EndpointMatch:
        named = self._by_name.get(method)
        if named is not None:
            return named, {}, {}
        verb, _, where = method.partition(" ")
        url_path, _, query = where.strip().removeprefix(PREFIX).partition("?")
        for endpoint, pattern in self._patterns:
            if endpoint.method == verb.upper():
                if endpoint.path == url_path:
                    return endpoint, {}, dict(parse_qsl(query))
                match = pattern.match(url_path)
                if match is not None:
                    path = {name: unquote(value) for name, value in match.groupdict().items()}
                    return endpoint, path, dict(parse_qsl(query))
        raise RpcError(NO_METHOD, f"There is no method {method[:200]!r}. `rpc.methods` lists all methods.")

    def _request(self, endpoint: Endpoint, path: dict[str, str], query: dict[str, Any], given: RpcRequest) -> Request:
        """A request for endpoints that read it themselves."""
        body = b"" if given.body is None else to_json(given.body)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        headers += [(_header(name.lower()), _header(value)) for name, value in given.headers.items()]
        url_path = PREFIX + compile_path(endpoint.path)[1].format(**path)
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": endpoint.method,
            "scheme": "http",
            "path": url_path,
            "raw_path": url_path.encode(errors="replace"),
            "root_path": "",
            "query_string": urlencode(query, doseq=True, errors="replace").encode(),
            "headers": headers,
            "client": None,
            "server": None,
            "path_params": path,
            "state": {},
        }

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        return Request(scope, receive)


async def _run(endpoint: Endpoint, call: ApiCall) -> Any:
    """Run the endpoint; a request repeated with the same `Idempotency-Key` gets the first result."""
    if HEADER not in call.request.headers:
        return await endpoint.run(call)
    return await run_once(endpoint, call, lambda: run_endpoint(endpoint, call))


def _header(text: str) -> bytes:
    return text.encode("latin-1", "replace")


def _parse_params(params: Params) -> RpcRequest:
    try:
        return msgspec.convert({} if params is None else params, RpcRequest)
    except msgspec.ValidationError as error:
        text = f"Parameters are an object with `path`, `query`, `body` and `headers`, each if needed: {error}"
        raise RpcError(INVALID_PARAMS, text) from None


def _convert(value: Any, shape: Any, name: str, *, strict: bool) -> Any:
    if shape is None:
        return None
    try:
        return msgspec.convert(value, shape, strict=strict)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"Invalid {name}: {error}") from None


def _json_value(result: Any) -> Any:
    """The result of an endpoint as a JSON value."""
    if isinstance(result, EndpointAnswer):
        return to_public(result.value)
    if not isinstance(result, Response):
        return to_public(result)
    body = getattr(result, "body", None)
    if not isinstance(body, bytes | bytearray | memoryview) or type(result).__call__ is not Response.__call__:
        raise RpcError(REFUSED, "This is streamed: get it over HTTP.", {"code": "not_supported", "status": 422})
    raw = bytes(body)
    if result.status_code >= 400:
        data = {"status": result.status_code, "body": raw.decode(errors="replace")}
        raise RpcError(REFUSED, "The server refused the request.", data)
    kind = (result.media_type or result.headers.get("content-type", "")).partition(";")[0].strip()
    if kind == "application/json":
        return msgspec.Raw(raw) if raw else None
    if kind.startswith("text/"):
        return raw.decode(errors="replace")
    from base64 import b64encode

    return {"base64": b64encode(raw).decode(), "type": kind} if raw else None
