"""The OpenAPI document, generated from the table of endpoints."""

import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from starlette.responses import Response

from bobstay.model.event import Durable
from bobstay.server.api.dispatch import json_response
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.api.idempotency import is_repeatable
from bobstay.server.api.json_schemas import REF, components, fields_of, prune, schema_of, without_defaults
from bobstay.server.api.openapi_parameters import has_parameters, header_parameters, path_parameters, plain_path
from bobstay.server.auth.principal import SCOPES
from bobstay.server.errors import STATUS, Code, ProblemBody
from bobstay.server.streams import live_frames
from bobstay.server.streams.live_frames import AnyLive
from bobstay.server.streams.stream_frames import NAMES, Frame
from bobstay.version import __version__

PREFIX = "/api/v1"
STREAMED = ("StreamFrame", "LiveFrame")
_ANY_TIME: tuple[Code, ...] = (
    *("bad_request", "unauthorized", "forbidden", "bad_origin", "bad_host"),
    *("unavailable", "storage", "internal"),
)
_WITH_BODY: tuple[Code, ...] = ("invalid_json", "too_large", "unsupported_media_type", "invalid")
_MEANINGS = {
    400: "The request is malformed.",
    401: "The request is not authenticated.",
    403: "The request is not allowed.",
    404: "Not found.",
    409: "The request conflicts with the current state.",
    413: "The body is too large.",
    415: "The media type of the body is not supported.",
    416: "The range cannot be satisfied.",
    421: "This server does not answer under that host name.",
    422: "The request is well formed but invalid.",
    429: "Too many requests. Wait.",
    500: "Internal error of the server.",
    503: "Temporarily unavailable. Try again soon.",
    507: "It could not be stored.",
}


def document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The whole API as OpenAPI 3.1."""
    table = tuple(endpoints)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in table:
        paths.setdefault(plain_path(endpoint.path), {})[endpoint.method.lower()] = operation(endpoint)
    bodies = [endpoint.body for endpoint in table if endpoint.body is not None]
    answers = [endpoint.returns for endpoint in table if _is_type(endpoint.returns)]
    schemas = {**_stream_components(), **components((*answers, ProblemBody), bodies)}
    failures = _share_failures(paths)
    roots = [paths, failures, *(_pointer(name) for name in STREAMED)]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "bobstay console",
            "version": __version__,
            "summary": "Run, watch, steer and approve coding agents.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": PREFIX}],
        "tags": _tags(table),
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(prune(schemas, roots).items())),
            "responses": failures,
            "securitySchemes": _security_schemes(),
        },
    }


def operation(endpoint: Endpoint) -> dict[str, Any]:
    """One entry of `paths`."""
    tag = _tag(endpoint.run.__module__)
    spec: dict[str, Any] = {
        "operationId": _operation_id(tag, endpoint.run.__name__),
        "tags": [tag],
        "summary": (endpoint.run.__doc__ or "").strip().partition("\n")[0],
        "description": _description(endpoint),
    }
    parameters = [*path_parameters(endpoint), *_query_parameters(endpoint), *header_parameters(endpoint)]
    if parameters:
        spec["parameters"] = parameters
    if endpoint.body is not None:
        spec["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema_of(endpoint.body)}}}
    spec["responses"] = {str(_status(endpoint)): _success(endpoint), **_failures(endpoint)}
    if endpoint.scope is None:
        spec["security"] = []
    else:
        spec["security"] = [{"bearer": [endpoint.scope]}, {"cookie": [endpoint.scope]}]
        spec["x-scope"] = endpoint.scope
    return spec


def codes_of(endpoint: Endpoint) -> tuple[Code, ...]:
    """All error codes of an endpoint."""
    codes: list[Code] = [*_ANY_TIME, *endpoint.errors]
    if has_parameters(endpoint.path):
        codes.append("not_found")
    if endpoint.query is not None:
        codes.append("invalid")
    if endpoint.body is not None:
        codes += _WITH_BODY
    if is_repeatable(endpoint):
        codes.append("conflict")  # its Idempotency-Key was used for another request
    return tuple(sorted(set(codes)))


def stream_frame(frame: dict[str, Any]) -> dict[str, Any]:
    """The schema of a durable frame, with the union of events as its data."""
    named = sorted(set(NAMES.values()) | {"tool.call"})
    properties = {
        **frame["properties"],
        "type": {"enum": named},
        "data": schema_of(Durable),
    }
    return {**frame, "title": "StreamFrame", "properties": properties}


def stream_schema() -> dict[str, Any]:
    """JSON Schema of the frames of streams, for clients that do not use OpenAPI."""
    roots = [_pointer(name) for name in STREAMED]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Frames of bobstay's streams",
        "anyOf": roots,
        "components": {"schemas": dict(sorted(prune(_stream_components(), roots).items()))},
    }


def openapi_endpoint(current: Callable[[], dict[str, Any]]) -> Endpoint:
    """The endpoint that shows the document of all endpoints, itself among them, which `current` returns."""

    async def openapi(_: ApiCall) -> Response:
        """Show this OpenAPI document."""
        return json_response(current())

    return Endpoint("GET", "/openapi.json", openapi, returns=Response)


def _stream_components() -> dict[str, dict[str, Any]]:
    schemas = components((Frame, AnyLive, Durable))
    for name, schema in components((AnyLive,)).items():
        if hasattr(live_frames, name):
            schemas[name] = without_defaults(schema)
    schemas["StreamFrame"] = stream_frame(schemas.pop("Frame"))
    schemas["LiveFrame"] = {
        "title": "LiveFrame",
        "description": "A frame that is not stored in the log.",
        **schema_of(AnyLive),
    }
    return schemas


def _pointer(name: str) -> dict[str, str]:
    return {"$ref": REF.format(name=name)}


def _share_failures(paths: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Move equal failure responses out of `paths` and replace them by references."""
    found: dict[str, Any] = {}
    for operations in paths.values():
        for spec in operations.values():
            for status, answer in spec["responses"].items():
                codes = answer.pop("x-codes", None)
                if codes is not None:
                    name = f"Failed{status}_{'_'.join(codes)}"
                    found[name] = answer
                    spec["responses"][status] = {"$ref": f"#/components/responses/{name}"}
    return dict(sorted(found.items()))


def _operation_id(tag: str, name: str) -> str:
    """The resource and the action, without repeating the name of the resource."""
    own = {word.removesuffix("s") for word in tag.split("_")}
    return "_".join([tag, *(word for word in name.split("_") if word.removesuffix("s") not in own)])


def _description(endpoint: Endpoint) -> str:
    """The endpoint's docstring, with the scope it needs."""
    text = " ".join((inspect.getdoc(endpoint.run) or "").partition("\n\nRaises:")[0].split())
    who = "Needs no token." if endpoint.scope is None else f"Needs the scope `{endpoint.scope}`."
    return f"{text} {who}"


def _query_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    if endpoint.query is None:
        return []
    found: list[dict[str, Any]] = []
    for name, schema, required in fields_of(endpoint.query):
        text = schema.pop("description", "")
        parameter = {"name": name, "in": "query", "required": required, "schema": schema}
        found.append({**parameter, "description": text} if text else parameter)
    return found


def _success(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.returns is None:
        return {"description": "Done, without a body."}
    schema = schema_of(endpoint.returns) if _is_type(endpoint.returns) else {}
    media = [kind.strip() for kind in endpoint.media.split(",")]
    if media != ["application/json"] and not _is_type(endpoint.returns):
        return {"description": "Success.", "content": {kind: {} for kind in media}}
    return {"description": "Success.", "content": {kind: {"schema": schema} for kind in media}}


def _status(endpoint: Endpoint) -> int:
    return 204 if endpoint.returns is None else endpoint.status


def _failures(endpoint: Endpoint) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for code in codes_of(endpoint):
        by_status.setdefault(STATUS[code], []).append(code)
    return {str(status): _failure(status, codes) for status, codes in sorted(by_status.items())}


def _failure(status: int, codes: list[str]) -> dict[str, Any]:
    narrowed = {"properties": {"error": {"properties": {"code": {"enum": codes}}}}}
    schema = {"allOf": [_pointer("ProblemBody"), narrowed]}
    meaning = _MEANINGS.get(status, "The request failed.")
    return {
        "x-codes": codes,
        "description": f"{meaning} Codes: {', '.join(codes)}.",
        "content": {"application/json": {"schema": schema}},
    }


def _is_type(returns: Any) -> bool:
    return returns is not None and returns is not Response


def _tags(endpoints: tuple[Endpoint, ...]) -> list[dict[str, str]]:
    modules = sorted({endpoint.run.__module__ for endpoint in endpoints})
    found: list[dict[str, str]] = []
    for name in modules:
        text = (import_module(name).__doc__ or "").strip().partition("\n")[0]
        found.append({"name": _tag(name), "description": text})
    return found


def _tag(module: str) -> str:
    """Return the tag of all operations in a module: its name without the suffix that all of them have."""
    return module.rpartition(".")[2].removesuffix("_routes")


def _security_schemes() -> dict[str, Any]:
    scopes = ", ".join(SCOPES)
    return {
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "description": f"From `bobstay token create --scope …`. Scopes: {scopes}; admin includes all others.",
        },
        "cookie": {
            "type": "apiKey",
            "in": "cookie",
            "name": "bobstay_3001",
            "description": "Cookie of a browser, by exchange of a code; its name ends in the port. HttpOnly, and valid"
            " only together with an Origin of the server or a same-origin Sec-Fetch-Site.",
        },
    }
