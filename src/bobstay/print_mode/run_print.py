"""Runs print mode: opens a session, runs the prompt or serves a host, and returns the exit code."""

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from bobstay.assembly.build_session import StartError, open_session
from bobstay.assembly.conversation import Conversation
from bobstay.assembly.server_presence import HostPorts
from bobstay.assembly.session import AgentSession
from bobstay.assembly.session_hooks import HookWatcher
from bobstay.config.options import Options
from bobstay.hooks.hook_event import HookReport
from bobstay.model.ids import new_id
from bobstay.model.message import Text
from bobstay.print_mode.delayed_control import DelayedControlSocket
from bobstay.print_mode.print_face import PrintFace, run_once
from bobstay.print_mode.signals import SignalStop
from bobstay.wire.stdio import BadLineError, FrameWriter, HostGoneError

if TYPE_CHECKING:
    from bobstay.print_mode.prompt_tool_approver import PromptToolApprover
    from bobstay.wire.control_channel import ControlChannel


async def run(options: Options, prompt: str) -> int:
    stop = SignalStop()
    stop.listen()
    output = FrameWriter()
    try:
        if options.input_format == "stream-json":
            code = await _run_hosted(options, output, stop)
        else:
            code = await _run_single(options, prompt, output, stop)
    except StartError as error:
        _refuse(options, output, str(error))
        code = 1
    except BadLineError as error:
        sys.stderr.write(f"{error}\n")
        code = 1
    except HostGoneError:
        # The reader is gone, so there is nobody to report to.
        code = 1
    return stop.code or code


async def _run_single(options: Options, prompt: str, output: FrameWriter, stop: SignalStop) -> int:
    control = DelayedControlSocket()
    prompt_tool = _prompt_tool(options)
    approver = control.socket() if options.ask == "console" else prompt_tool
    session = await open_session(options, approver, None, hook_watcher=_hook_watcher(options, output))
    conversation, warnings = Conversation(session), _Warnings()

    async def attach(session: AgentSession) -> None:
        warnings.show(session)
        if prompt_tool is not None:
            prompt_tool.attach(session)
        if not options.no_session_persistence:
            await control.close()
            control.attach(session)

    conversation.begun.append(attach)
    try:
        await attach(session)
        face = _face(options, session, output)
        wait, seconds = options.background_wait, options.max_seconds
        return await run_once(conversation, (Text(prompt),), face, stop, wait=wait, seconds=seconds)
    finally:
        await control.close()
        await conversation.session.close()
        warnings.show(conversation.session)


def _prompt_tool(options: Options) -> "PromptToolApprover | None":
    """Build the approver of `--permission-prompt-tool`, if that names the tool of an MCP server."""
    tool = options.permission_prompt_tool or ""
    if not tool.startswith("mcp__"):
        return None
    from bobstay.print_mode.prompt_tool_approver import PromptToolApprover

    return PromptToolApprover(tool)


def _face(options: Options, session: AgentSession, output: FrameWriter) -> PrintFace:
    if options.output_format == "text":
        from bobstay.print_mode.text_output import TextFace

        return TextFace(output, options.max_turns)
    if options.output_format == "json":
        from bobstay.print_mode.json_output import JsonFace

        return JsonFace(session, output, verbose=options.verbose)
    from bobstay.print_mode.stream_json_output import StreamFace

    return StreamFace(session, output, partial=options.include_partial_messages)


async def _run_hosted(options: Options, output: FrameWriter, stop: SignalStop) -> int:
    from bobstay.print_mode.host_approver import HostApprover
    from bobstay.print_mode.host_hooks import HostHooks
    from bobstay.print_mode.host_server import HostServer, StateFrames
    from bobstay.wire.control_channel import ControlChannel
    from bobstay.wire.stdio import LineReader

    lines = LineReader()
    channel = ControlChannel(output.send)
    state = StateFrames(output, options.session_state_frames)
    hooks = HostHooks(channel)
    prompt_tool = _prompt_tool(options)
    approver = HostApprover(channel, state.change) if options.permission_prompt_tool == "stdio" else prompt_tool
    watcher = _hook_watcher(options, output)
    ports = HostPorts(partial(_elicit, channel), partial(_send_message, channel))
    session = await open_session(options, approver, hooks, hook_watcher=watcher, ports=ports)
    conversation, warnings = Conversation(session), _Warnings()

    async def attach(session: AgentSession) -> None:
        warnings.show(session)
        if prompt_tool is not None:
            prompt_tool.attach(session)

    conversation.begun.append(attach)
    try:
        await attach(session)
        server = HostServer(conversation, channel, hooks, output, state, options)
        return await server.run(lines, stop, options.background_limit)
    finally:
        await conversation.session.close()
        warnings.show(conversation.session)


async def _elicit(channel: "ControlChannel", question: dict[str, Any]) -> dict[str, Any] | None:
    """Ask the host the question of an MCP server."""
    from bobstay.wire.control_channel import ControlError

    try:
        return await channel.request({"subtype": "elicitation", **question})
    except ControlError:
        return None


async def _send_message(channel: "ControlChannel", server: str, message: dict[str, Any]) -> dict[str, Any] | None:
    """Send a message to an MCP server in the host's own process."""
    response = await channel.request({"subtype": "mcp_message", "server_name": server, "message": message})
    answer = response.get("mcp_response")
    return answer if isinstance(answer, dict) else None


def _hook_watcher(options: Options, output: FrameWriter) -> HookWatcher | None:
    """Reports command hooks as frames: those of SessionStart always, others on request."""
    if options.output_format != "stream-json":
        return None

    def report_hook(session_id: str, report: HookReport) -> None:
        if options.include_hook_events or report.event == "SessionStart":
            from bobstay.print_mode.hook_frames import build_hook_frame

            output.send(build_hook_frame(session_id, report))

    return report_hook


class _Warnings:
    """Prints the warnings of a session, and of those that take its place, each once."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def show(self, session: AgentSession) -> None:
        for warning in session.warnings:
            if warning not in self._shown:
                self._shown.add(warning)
                sys.stderr.write(f"Warning: {warning}\n")


def _refuse(options: Options, output: FrameWriter, error: str) -> None:
    """Report why there is no session; also as a frame if the session to resume does not exist."""
    sys.stderr.write(f"{error}\n")
    if options.output_format == "stream-json" and options.resume is not None:
        from bobstay.wire.result_frame import refused_start

        output.send(refused_start(new_id(), error))
