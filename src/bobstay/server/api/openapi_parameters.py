"""Parameters of operations that no struct describes: path parameters and the Idempotency-Key header."""

import re
from typing import Any

from bobstay.server.api.endpoint import Endpoint
from bobstay.server.api.idempotency import HEADER, LONGEST, is_repeatable

_NAME = re.compile(r"{(\w+)(?::\w+)?}")
_MEANINGS = {
    "/auth/clients/{id}": "Id of the token or browser.",
    "/auth/users/{name}": "Name of the user.",
    "/interactions/{id}": "Id of the interaction.",
    "/providers/{name}": "Name of the provider, such as `anthropic`.",
    "/push/subscriptions/{id}": "Id of the device.",
    "/sessions/{id}": "Id of the session.",
    "/sessions/{id}/background/{background_id}": "Id of the sub-agent or background command.",
    "/sessions/{id}/blobs/{call_id}": "Id of the tool call.",
    "/sessions/{id}/calls/{call_id}": "Id of the tool call.",
    "/sessions/{id}/inputs/{input_id}": "Id of the queued message.",
    "/sessions/{id}/mcp-servers/{name}": "Name of the MCP server.",
    "/sessions/{id}/workers/{worker_id}": "Id of the worker.",
    "/tasks/{id}": "Id of the task.",
    "/terminals/{worker_id}": "Id of the terminal.",
    "/trash/{id}": "Id of the deleted session.",
}
"""By the path up to the parameter."""


def plain_path(path: str) -> str:
    """A path in OpenAPI syntax, without the converters of the router."""
    return _NAME.sub(r"{\1}", path)


def has_parameters(path: str) -> bool:
    return _NAME.search(path) is not None


def path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    path = plain_path(endpoint.path)
    for match in _NAME.finditer(path):
        schema = {"type": "string", "minLength": 1}
        parameter = {"name": match[1], "in": "path", "required": True, "schema": schema}
        text = _MEANINGS.get(path[: match.end()], "")
        found.append({**parameter, "description": text} if text else parameter)
    return found


def header_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    if not is_repeatable(endpoint):
        return []
    text = (
        "Chosen by the client, new for each request. A request repeated with its key within a day is not run again:"
        " it gets the first response, with the header `Idempotent-Replayed`."
    )
    schema = {"type": "string", "maxLength": LONGEST}
    return [{"name": HEADER.title(), "in": "header", "required": False, "schema": schema, "description": text}]
