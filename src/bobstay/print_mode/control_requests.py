"""Answers the control requests of a host, one method each; unknown requests get an error."""

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from bobstay.assembly.conversation import Conversation
from bobstay.assembly.session import AgentSession
from bobstay.assembly.session_modes import BypassNotLaunched, UnknownMode
from bobstay.print_mode.host_hooks import BadMatcherError, HostHooks
from bobstay.sessions.log import LogError
from bobstay.version import PROTOCOL_LEVEL
from bobstay.wire.control_channel import failure, success
from bobstay.wire.event_encoder import EventEncoder
from bobstay.wire.wire_frames import CAPABILITIES, Frame

if TYPE_CHECKING:
    from bobstay.mcp.mcp_servers import McpServers


class RefusedRequestError(Exception):
    """A request that is refused; `code` is for programs."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class Requests:
    def __init__(
        self,
        conversation: Conversation,
        hooks: HostHooks,
        encoder: Callable[[], EventEncoder],
        send: Callable[[Frame], None],
        busy: Callable[[], bool],
    ) -> None:
        """`encoder` returns that of the session at work."""
        self._conversation = conversation
        self._hooks = hooks
        self._encoder = encoder
        self._send = send
        self._busy = busy
        self._methods: dict[str, Callable[[Frame], Awaitable[Frame | None]]] = {
            "initialize": self._initialize,
            "interrupt": self._interrupt,
            "set_permission_mode": self._set_mode,
            "set_model": self._set_model,
            "get_context_usage": self._context_usage,
            "supported_commands": self._commands,
            "mcp_status": self._mcp_status,
            "mcp_reconnect": self._mcp_reconnect,
            "mcp_toggle": self._mcp_toggle,
            "mcp_set_servers": self._set_servers,
            "rewind_files": self._rewind,
            "stop_task": self._stop_task,
            "set_max_thinking_tokens": self._set_thinking,
        }

    @property
    def _session(self) -> AgentSession:
        return self._conversation.session

    async def answer(self, frame: Frame) -> None:
        """Answer one `control_request`."""
        request_id = str(frame.get("request_id", ""))
        request = frame.get("request")
        request = request if isinstance(request, dict) else {}
        subtype = str(request.get("subtype", ""))
        method = self._methods.get(subtype)
        if method is None:
            text = f"Unsupported control request subtype: {subtype}"
            self._send(failure(request_id, text, "unsupported_request"))
            return
        try:
            response = await method(request)
        except RefusedRequestError as refusal:
            self._send(failure(request_id, str(refusal), refusal.code))
            return
        except LogError as error:
            self._send(failure(request_id, str(error), "not_stored"))
            return
        extra: Frame = {"pending_permission_requests": []} if subtype == "initialize" else {}
        self._send(success(request_id, response, **extra))
        if subtype == "set_permission_mode":
            for mode_frame in self._encoder().mode(self._session.mode):
                self._send(mode_frame)

    async def _initialize(self, request: Frame) -> Frame:
        try:
            self._hooks.register(request.get("hooks"))
        except BadMatcherError as error:
            raise RefusedRequestError(str(error), "invalid_hooks") from error
        self._session.set_host_library(request.get("skills"), request.get("agents"))
        if isinstance(names := request.get("sdkMcpServers"), list) and names:
            entries = {name: {"type": "sdk", "name": name} for name in names if isinstance(name, str)}
            await self._session.set_host_servers(entries)
        info = self._session.info()
        return {
            "commands": info.get("commands", []),
            "agents": info.get("agents", []),
            "output_style": info["output_style"],
            "available_output_styles": info["available_output_styles"],
            "models": info.get("models", []),
            "account": info.get("account", {}),
            "pid": os.getpid(),
            "claude_code_version": PROTOCOL_LEVEL,
            "current_permission_mode": self._session.mode,
            "hook_on_failure_supported": True,
            "session_state": "running" if self._busy() else "idle",
            "capabilities": CAPABILITIES,
        }

    async def _interrupt(self, request: Frame) -> Frame:
        return {"still_queued": list(await self._session.interrupt())}

    async def _set_mode(self, request: Frame) -> Frame:
        mode = request.get("mode")
        try:
            await self._session.set_mode("default" if mode == "manual" else str(mode))
        except BypassNotLaunched as error:
            raise RefusedRequestError(str(error), "bypass_not_launched") from error
        except UnknownMode as error:
            raise RefusedRequestError(str(error), "invalid_mode") from error
        return {"mode": self._session.mode}

    async def _set_model(self, request: Frame) -> Frame:
        model = request.get("model")
        if model is not None and not isinstance(model, str):
            raise RefusedRequestError("`model` must be a name or null", "invalid_model")
        try:
            name = await self._session.set_model(model)
        except ValueError as error:
            raise RefusedRequestError(str(error), "invalid_model") from error
        self._send(self._encoder().local_output(f"Set model to `{name}`"))
        return {"model": name}

    async def _context_usage(self, request: Frame) -> Frame:
        return self._session.context_usage()

    async def _commands(self, request: Frame) -> Frame:
        return {"commands": self._session.info().get("commands", [])}

    async def _mcp_status(self, request: Frame) -> Frame:
        servers = self._session.servers
        return {"mcpServers": servers.status() if servers is not None else []}

    async def _mcp_reconnect(self, request: Frame) -> Frame:
        await self._with_server(request, lambda servers, name: servers.reconnect(name))
        return {}

    async def _mcp_toggle(self, request: Frame) -> Frame:
        enabled = request.get("enabled") is True
        await self._with_server(request, lambda servers, name: servers.toggle(name, enabled=enabled))
        return {}

    async def _with_server(self, request: Frame, act: "Callable[[McpServers, str], Awaitable[None]]") -> None:
        from bobstay.mcp.mcp_servers import McpRequestError

        try:
            await act(self._session.require_servers(), str(request.get("serverName", "")))
        except McpRequestError as error:
            raise RefusedRequestError(str(error)) from error

    async def _set_servers(self, request: Frame) -> Frame:
        entries = request.get("servers")
        return await self._session.set_host_servers(entries if isinstance(entries, dict) else {})

    async def _rewind(self, request: Frame) -> Frame:
        raise RefusedRequestError("File checkpointing is not enabled in this session, so files cannot be rewound.")

    async def _set_thinking(self, request: Frame) -> None:
        given = request.get("max_thinking_tokens")
        if given is not None and (not isinstance(given, int) or isinstance(given, bool) or given < 0):
            raise RefusedRequestError("max_thinking_tokens must be a number of tokens or null", "invalid_request")
        self._session.set_thinking(given)

    async def _stop_task(self, request: Frame) -> Frame:
        """Stop a background task. An unknown id is not an error: the task may have ended already."""
        task = str(request.get("task_id", ""))
        if await self._session.agents.stop(task, tell_later=True) is None:
            await self._session.background.stop(task)
        return {}
