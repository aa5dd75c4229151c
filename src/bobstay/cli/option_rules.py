"""Builds `Options` from the command line and the environment, and checks which flags go together."""

import os
from collections.abc import Mapping
from typing import Any

from bobstay.cli.flag_parser import UsageError, parse_arguments
from bobstay.config.options import Options
from bobstay.model.ids import is_uuid


def read_options(arguments: list[str], environment: Mapping[str, str], *, terminal: bool) -> Options:
    """Read the command line. `terminal`: whether both stdin and stdout are terminals.

    Raises:
        UsageError: the flags contradict each other.
    """
    values = parse_arguments(arguments)
    _normalise(values)
    values["print"] = values.get("print", False) or not terminal or values.get("input_format") == "stream-json"
    values["entrypoint"] = environment.get("CLAUDE_CODE_ENTRYPOINT", "")
    values["session_state_frames"] = _state_frames(environment)
    if (wait := environment.get("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS", "")).isdigit():
        values["background_wait"] = int(wait) / 1000
    options = Options(**values)
    _check_formats(options)
    _check_session(options)
    _check_permission(options, environment)
    return options


def _normalise(values: dict[str, Any]) -> None:
    """Normalise alternative spellings."""
    values.pop("version", None)
    values.pop("help", None)
    if values.get("permission_mode") == "manual":
        values["permission_mode"] = "default"
    if values.get("dangerously_skip_permissions"):
        values.setdefault("permission_mode", "bypassPermissions")
    if values.get("thinking") == "enabled":
        values["thinking"] = "adaptive"
    if values.get("tools") == ("default",):
        values["tools"] = None
    for field in ("prompt", "system_prompt", "append_system_prompt"):
        if field in values:
            # Bytes that are not UTF-8 arrive as lone surrogates, which JSON cannot represent.
            values[field] = values[field].encode(errors="surrogateescape").decode(errors="replace")


def _state_frames(environment: Mapping[str, str]) -> str:
    if _is_on(environment.get("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS")):
        return "all"
    return "host_only" if _is_on(environment.get("CLAUDE_CODE_SDK_READS_SESSION_STATE")) else ""


def _is_on(value: str | None) -> bool:
    return (value or "").lower() in ("1", "true", "yes", "on")


def _check_formats(options: Options) -> None:
    streams = options.output_format == "stream-json"
    if streams and not options.verbose:
        raise UsageError("Error: When using --print, --output-format=stream-json requires --verbose")
    if options.include_partial_messages and not streams:
        raise UsageError("Error: --include-partial-messages requires --print and --output-format=stream-json.")
    if options.input_format == "stream-json":
        if not streams:
            raise UsageError("Error: --input-format=stream-json requires --output-format=stream-json.")
        if options.prompt is not None:
            raise UsageError("Error: --input-format=stream-json takes prompts from stdin, not as an argument.")
    elif options.replay_user_messages:
        raise UsageError("Error: --replay-user-messages requires --input-format=stream-json.")
    for text, path in (
        (options.system_prompt, options.system_prompt_file),
        (options.append_system_prompt, options.append_system_prompt_file),
    ):
        if text and path is not None:
            raise UsageError("Error: a system prompt can be given as text or as a file, not both.")


def _check_session(options: Options) -> None:
    earlier = options.continue_ or options.resume is not None
    if options.resume == "":
        raise UsageError("Error: --resume needs the id of a session here. `bobstay sessions` lists them.")
    if options.continue_ and options.resume is not None:
        raise UsageError("Error: --continue and --resume cannot be used together.")
    if options.fork_session and not earlier:
        raise UsageError("Error: --fork-session requires --resume or --continue.")
    if options.session_id is not None:
        if not is_uuid(options.session_id):
            raise UsageError("Error: Invalid session ID. Must be a valid UUID.")
        if earlier and not options.fork_session:
            raise UsageError("Error: --session-id with --resume or --continue requires --fork-session.")
    if options.resume_session_at is not None and options.resume is None:
        raise UsageError("Error: --resume-session-at requires --resume.")
    if options.resume_drops_turn is not None and options.resume_session_at is None:
        raise UsageError("Error: --resume-drops-turn requires --resume-session-at.")


def _check_permission(options: Options, environment: Mapping[str, str]) -> None:
    if options.permission_prompt_tool == "stdio":
        if options.input_format != "stream-json":
            raise UsageError("Error: --permission-prompt-tool stdio requires --input-format=stream-json.")
    elif options.permission_prompt_tool is not None and not options.permission_prompt_tool.startswith("mcp__"):
        raise UsageError("Error: --permission-prompt-tool is `stdio` or the tool of an MCP server: mcp__SERVER__TOOL.")
    bypass = options.permission_mode == "bypassPermissions" or options.dangerously_skip_permissions
    if bypass and os.geteuid() == 0 and not _is_on(environment.get("IS_SANDBOX")):
        raise UsageError(
            "Error: permissions cannot be bypassed by root. In a container or another sandbox of your own, "
            "set IS_SANDBOX=1 to say so."
        )
