"""Answers requests of MCP servers: questions to the person, the working directories, use of the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bobstay.mcp.clean_text import clean_text
from bobstay.mcp.mcp_ports import ElicitationAnswer, ElicitationRequest, McpOptions, McpPorts

if TYPE_CHECKING:
    from mcp.client import ClientRequestContext
    from mcp.types import CreateMessageRequestParams, ElicitRequestParams

_MAX_MESSAGE = 4_000
_REFUSED = -1
"""The code that the specification of sampling names for a person who refuses."""
_TOOL_PARTS = ("tool_use", "tool_result")


class ServerRequests:
    """Callbacks of the SDK for one server."""

    def __init__(self, server: str, options: McpOptions, ports: McpPorts) -> None:
        self._server = server
        self._options = options
        self._ports = ports

    @property
    def callbacks(self) -> dict[str, Any]:
        """Arguments of the SDK's client. A callback that is missing is a capability that is not offered."""
        found: dict[str, Any] = {"elicitation_callback": self.elicit, "list_roots_callback": self.list_roots}
        if self._ports.sample is not None:
            found["sampling_callback"] = self.sample
        return found

    async def elicit(self, _context: ClientRequestContext, params: ElicitRequestParams) -> Any:
        from mcp.types import ElicitResult

        answer = ElicitationAnswer()
        if self._ports.elicit is not None:
            given: dict[str, Any] = params.model_dump(by_alias=True, mode="json", exclude_none=True)
            request = ElicitationRequest(
                self._server,
                clean_text(params.message, _MAX_MESSAGE),
                params.mode,
                given.get("requestedSchema") or {},
                str(given.get("url", "")),
                str(given.get("elicitationId", "")),
            )
            try:
                answer = await self._ports.elicit(request)
            except Exception:  # noqa: BLE001 - whoever was to answer is gone or broken: the server hears `cancel`
                answer = ElicitationAnswer()
        content = answer.content if answer.action == "accept" and params.mode == "form" else None
        return ElicitResult(action=answer.action, content=content)

    async def list_roots(self, _context: ClientRequestContext) -> Any:
        from mcp.types import ListRootsResult, Root
        from pydantic import FileUrl

        folders = dict.fromkeys(Path(folder) for folder in self._options.directories())
        roots = [Root(uri=FileUrl(folder.as_uri()), name=folder.name or "/") for folder in folders]
        return ListRootsResult(roots=roots)

    async def sample(self, _context: ClientRequestContext, params: CreateMessageRequestParams) -> Any:
        from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CreateMessageResult, ErrorData

        assert self._ports.sample is not None
        given = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        if _wants_tools(given):
            return ErrorData(code=INVALID_PARAMS, message="Sampling with tools is not supported (sampling.tools)")
        try:
            result = await self._ports.sample(self._server, given)
            if result is not None:
                return CreateMessageResult.model_validate(result)
        except Exception as error:  # noqa: BLE001 - it fails the server's request, never the session
            return ErrorData(code=INTERNAL_ERROR, message=str(error)[:500])
        return ErrorData(code=_REFUSED, message="The person refused the use of the model")


def _wants_tools(given: dict[str, Any]) -> bool:
    """Whether the model should use tools of the server, which only a client may be asked that offers it."""
    contents = [each["content"] for each in given["messages"]]
    parts = [part for content in contents for part in (content if isinstance(content, list) else [content])]
    return "tools" in given or "toolChoice" in given or any(part["type"] in _TOOL_PARTS for part in parts)
