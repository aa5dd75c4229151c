"""MCP service: answers the requests of MCP clients with the tools and sessions of bobstay."""

import asyncio
import secrets
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    ImageContent,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)
from msgspec import Struct
from pydantic import ValidationError

from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.mcp_server.elicited_approval import ElicitingApprover
from bobstay.mcp_server.served_call import CallProgress, CallQuestion, CallResult, ServedCall, text_result
from bobstay.mcp_server.served_sessions import SESSION_TOOLS, ServedSessions
from bobstay.mcp_server.served_tools import ServedTools
from bobstay.model.message import Text
from bobstay.version import __version__

INSTRUCTIONS = (
    "Tools of the coding agent bobstay, and its sessions. Calls that the permission rules of the served folder do not "
    "allow are denied, or put to a person by elicitation. session_start gives a whole task to an agent of its own."
)
ANSWER_SECONDS = 600.0
"""How long a call waits for a client that was told to ask a person and return."""
MAX_WAITING = 64
MAX_RUNNING = 32
KEY = "approval"

RequestContext = ServerRequestContext[Any, Any]


class _WaitingCall(Struct, frozen=True):
    """A call whose client must return with an answer."""

    call: ServedCall
    question: CallQuestion
    expiry: asyncio.TimerHandle


class McpService:
    """Use it as an async context manager: at the end all sessions are closed, and nothing they started is left."""

    def __init__(self, options: Options, environment: Environment, cwd: str) -> None:
        """`options` hold for the tools and for every session."""
        self._options = options
        approver = ElicitingApprover()
        self._approver = approver
        self._tools: ServedTools | None = None
        self._sessions = ServedSessions(options, approver, environment.paths.sessions, (cwd, *options.add_dirs))
        self._running: set[ServedCall] = set()
        self._waiting: dict[str, _WaitingCall] = {}
        self.server: Server[Any] = Server(
            "bobstay",
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    async def open(self) -> list[str]:
        """Open the session of the tools; return warnings for a person. Raises `StartError`."""
        self._tools = await ServedTools.open(self._options, self._approver)
        return self._tools.warnings

    async def close(self) -> None:
        for waiting in list(self._waiting.values()):
            waiting.expiry.cancel()
        self._waiting.clear()
        for call in list(self._running):
            await call.cancel()
        await self._sessions.close()
        if self._tools is not None:
            await self._tools.close()

    # ------------------------------------------------------------ requests

    async def _list_tools(self, _ctx: RequestContext, _params: PaginatedRequestParams | None) -> ListToolsResult:
        assert self._tools is not None
        builtin = [
            Tool(name=spec.name, description=spec.description, input_schema=spec.schema) for spec in self._tools.specs
        ]
        sessions = [
            Tool(name=tool.name, description=tool.description, input_schema=tool.schema) for tool in SESSION_TOOLS
        ]
        return ListToolsResult(tools=[*builtin, *sessions])

    async def _call_tool(
        self, ctx: RequestContext, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        if params.request_state is not None:
            call = self._resume(params)
            if call is None:
                return _encode(text_result("This call is over: its question was not answered in time.", is_error=True))
        elif len(self._running) >= MAX_RUNNING:
            return _encode(text_result(f"{MAX_RUNNING} calls are running, which is the most.", is_error=True))
        else:
            call = self._start(ctx, params)
        try:
            return await self._await_end(ctx, call)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await call.cancel()
            raise

    def _start(self, ctx: RequestContext, params: CallToolRequestParams) -> ServedCall:
        name, given = params.name, dict(params.arguments or {})

        async def work(served: ServedCall) -> CallResult:
            if any(tool.name == name for tool in SESSION_TOOLS):
                return await self._sessions.call(name, given, served)
            assert self._tools is not None
            return await self._tools.call(name, given, served)

        capabilities = ctx.session.client_capabilities
        elicitation = capabilities.elicitation if capabilities else None
        # A client that names no mode supports forms.
        can_ask = elicitation is not None and (elicitation.form is not None or elicitation.url is None)
        call = ServedCall(work, can_ask=can_ask)
        self._running.add(call)
        call.when_done(lambda: self._running.discard(call))
        return call

    async def _await_end(self, ctx: RequestContext, call: ServedCall) -> CallToolResult | InputRequiredResult:
        """Follow a call to its end, or to a question that only another request can answer."""
        reported = 0
        while True:
            step = await call.step()
            match step:
                case CallResult():
                    return _encode(step)
                case CallProgress(text=text):
                    reported += 1
                    await ctx.session.report_progress(reported, message=text)
                case CallQuestion():
                    if not ctx.session.can_send_request:
                        return self._wait(call, step)
                    step.answer(await _elicit(ctx, step))

    # ------------------------------------------------------------ questions without a channel to the client

    def _wait(self, call: ServedCall, question: CallQuestion) -> CallToolResult | InputRequiredResult:
        """Tell the client to ask, and to send its request again with the answer."""
        if len(self._waiting) >= MAX_WAITING:
            question.answer(None)
            return _encode(text_result("Too many calls wait for an answer.", is_error=True))
        state = secrets.token_urlsafe(24)
        expiry = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self._expire, state)
        self._waiting[state] = _WaitingCall(call, question, expiry)
        asked = ElicitRequest(
            params=ElicitRequestFormParams(message=question.message, requested_schema=question.schema)
        )
        return InputRequiredResult(input_requests={KEY: asked}, request_state=state)

    def _resume(self, params: CallToolRequestParams) -> ServedCall | None:
        waiting = self._waiting.pop(params.request_state or "", None)
        if waiting is None:
            return None
        waiting.expiry.cancel()
        answer = (params.input_responses or {}).get(KEY)
        waiting.question.answer(_read_answer(answer) if isinstance(answer, ElicitResult) else None)
        return waiting.call

    def _expire(self, state: str) -> None:
        """Nobody came back: the call is denied, and so ends."""
        if (waiting := self._waiting.pop(state, None)) is not None:
            waiting.question.answer(None)


async def _elicit(ctx: RequestContext, question: CallQuestion) -> dict[str, Any] | None:
    try:
        return _read_answer(await ctx.session.elicit_form(question.message, question.schema, ctx.request_id))
    except (MCPError, ValidationError):
        return None  # a client that cannot answer has not allowed it


def _read_answer(answer: ElicitResult) -> dict[str, Any] | None:
    return dict(answer.content or {}) if answer.action == "accept" else None


def _encode(result: CallResult) -> CallToolResult:
    content: list[ContentBlock] = [
        TextContent(text=part.text)
        if isinstance(part, Text)
        else ImageContent(data=part.data, mime_type=part.media_type)
        for part in result.content
    ]
    return CallToolResult(content=content, structured_content=result.structured, is_error=result.is_error)
