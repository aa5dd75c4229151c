"""Runs one hook of any type and reads its answer."""

import asyncio
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from bobstay.config.digest import DigestLimitError, digest_files
from bobstay.config.trust_parts import find_referenced_files
from bobstay.hooks.command_hook import argv_of, run_command
from bobstay.hooks.event_fields import fill_input, fill_prompt, fill_variables
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookOutcome, HookRunResult
from bobstay.hooks.hook_outcome import answer_outcome, blocking_outcome, failure_outcome, parse_outcome
from bobstay.hooks.hook_ports import HookPorts, NoAnswerError
from bobstay.hooks.hook_settings import CommandHook, HttpHook, PromptHook, SettingsHook, ToolHook
from bobstay.hooks.http_hook import post_hook
from bobstay.http.network import Network

BLOCKING_EXIT_CODE = 2
"""The exit code by which a command blocks."""
_LONGEST_REASON = 10_000
_STDOUT_FOR_MODEL: frozenset[str] = frozenset({"UserPromptSubmit", "SessionStart", "PreCompact"})
"""Events for which plain text on stdout is context for the model."""

HeaderVariables: TypeAlias = Callable[[HttpHook], Mapping[str, str]]
NOT_RUN = HookRunResult(None, "", "")


class HookRun(Struct, frozen=True):
    """One hook ran: what it printed or answered, and what that means."""

    result: HookRunResult
    outcome: HookOutcome
    status: str = "success"
    """`success`, `error`, or `cancelled` if it was stopped."""


class HookExecution:
    """What hooks of a session share: directory, environment, network and ports."""

    def __init__(
        self,
        *,
        cwd: str,
        environment: Mapping[str, str],
        session_id: str = "",
        network: Network | None = None,
        variables: HeaderVariables | None = None,
        ports: HookPorts | None = None,
    ) -> None:
        """`network` is for HTTP hooks; `variables` returns the variables that their headers may use."""
        self._cwd = cwd
        self.environment = {
            **environment,
            "BOBSTAY_PROJECT_DIR": cwd,
            "CLAUDE_PROJECT_DIR": cwd,
            "CLAUDE_CODE_SESSION_ID": session_id,
            "CLAUDECODE": "1",
        }
        self._session_id = session_id
        self._network = network or Network()
        self._variables = variables
        self._ports = ports or HookPorts()

    async def run(
        self, hook: SettingsHook, call: HookCall, payload: bytes, number: int, first_line: Callable[[bytes], None]
    ) -> HookRun:
        """Run a hook. `number` tells hooks of one event apart; `first_line` is called with that of a command's output.

        Every failure is part of the outcome.
        """
        try:
            match hook:
                case CommandHook():
                    return await self._run_command(hook, call, payload, number, first_line)
                case HttpHook():
                    body = await post_hook(
                        hook, payload, self._network, self._variables(hook) if self._variables else {}
                    )
                    return _answered(hook, call, body.decode(errors="replace"))
                case PromptHook():
                    return await self._ask(hook, call, payload)
                case ToolHook():
                    return await self._call_tool(hook, call)
        except TimeoutError:
            return HookRun(NOT_RUN, _timed_out(hook, call), "cancelled")
        except NoAnswerError as error:
            outcome = failure_outcome(call, str(error), block=hook.block)
            return HookRun(HookRunResult(None, "", str(error)), outcome, "error")

    async def _run_command(
        self, hook: CommandHook, call: HookCall, payload: bytes, number: int, first_line: Callable[[bytes], None]
    ) -> HookRun:
        if changed := _changed_file(hook):
            why = (
                f"{changed} changed since this session began, so the hook that names it was not run. "
                "If the change is intended, start a new session and trust the folder again."
            )
            return HookRun(HookRunResult(None, "", why), blocking_outcome(call, why), "error")
        try:
            result = await run_command(
                argv_of(hook, self._cwd, self.environment.get("PATH", "")),
                payload,
                cwd=self._working_directory(hook, call),
                environment=self._environment_of(hook, call, number),
                limit=hook.timeout,
                mark=self._session_id,
                first_line=first_line,
            )
        except (OSError, ValueError) as error:
            raise NoAnswerError(f"it could not be started: {error}") from error
        status = "success" if result.code == 0 else "cancelled" if result.code is None else "error"
        return HookRun(result, outcome_of_command(hook, call, result), status)

    async def _ask(self, hook: PromptHook, call: HookCall, payload: bytes) -> HookRun:
        ask = self._ports.ask_agent if hook.agent else self._ports.ask_model
        if ask is None:
            kind = "agent" if hook.agent else "prompt"
            raise NoAnswerError(f"hooks of type {kind} cannot run in this session: {hook.text[:200]}")
        prompt = fill_prompt(fill_variables(hook.prompt, hook.variables), payload)
        async with asyncio.timeout(hook.timeout):
            answer = await ask(prompt, hook.model, call)
        shown = msgspec.json.encode({"ok": answer.ok, "reason": answer.reason}).decode()
        return HookRun(HookRunResult(0, shown, ""), answer_outcome(call, answer))

    async def _call_tool(self, hook: ToolHook, call: HookCall) -> HookRun:
        if self._ports.call_tool is None:
            raise NoAnswerError(f"there is no MCP server called {hook.server[:80]!r}")
        given = fill_input(hook.input, {"hook_event_name": call.name, **call.fields, **hook.variables})
        async with asyncio.timeout(hook.timeout):
            text = await self._ports.call_tool(hook.server, hook.tool, given)
        return _answered(hook, call, text)

    def _working_directory(self, hook: CommandHook, call: HookCall) -> str:
        """Return the directory a hook runs in: the working directory of the session's shell.

        A hook of the project runs in the project: its relative paths must not lead to another file because the model
        changed the directory.
        """
        now = call.fields.get("cwd")
        return now if not hook.folder and isinstance(now, str) and os.path.isdir(now) else self._cwd

    def _environment_of(self, hook: CommandHook, call: HookCall, number: int) -> Mapping[str, str]:
        more = dict(hook.variables)
        effort = call.fields.get("effort")
        if isinstance(effort, dict) and isinstance(effort.get("level"), str):
            more["CLAUDE_EFFORT"] = effort["level"]
        if call.env_files:
            more["CLAUDE_ENV_FILE"] = os.path.join(call.env_files, f"{call.name.lower()}-hook-{number:03}.sh")
        return {**self.environment, **more}


def outcome_of_command(hook: CommandHook, call: HookCall, result: HookRunResult) -> HookOutcome:
    """Parse the result of a command: 0 with JSON or text, 2 to block, any other exit code is a failure."""
    if result.code is None:
        return _timed_out(hook, call)
    if result.code == BLOCKING_EXIT_CODE:
        return blocking_outcome(
            call, result.stderr.strip()[:_LONGEST_REASON] or f"denied by the hook {hook.text[:200]}"
        )
    if result.code != 0:
        why = result.stderr.strip()[:_LONGEST_REASON] or hook.text[:200]
        return failure_outcome(call, f"exit code {result.code}: {why}", block=hook.block)
    return _parse_output(hook, call, result.stdout.strip())


def asks_for_background(line: bytes) -> bool:
    """Whether the first line of a command's output says that nobody shall wait for the rest."""
    if not line.lstrip().startswith(b"{"):
        return False
    try:
        answer = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return False
    return isinstance(answer, dict) and answer.get("async") is True


def _answered(hook: SettingsHook, call: HookCall, text: str) -> HookRun:
    return HookRun(HookRunResult(0, text, ""), _parse_output(hook, call, text.strip()))


def _parse_output(hook: SettingsHook, call: HookCall, output: str) -> HookOutcome:
    if output.startswith("{"):
        first, _, rest = output.partition("\n")
        if rest and asks_for_background(first.encode(errors="replace")):
            return _parse_output(hook, call, rest.strip())
        try:
            answer = msgspec.json.decode(output, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            return failure_outcome(call, f"its output is not a JSON object: {error}", block=hook.block)
        return parse_outcome(call, answer, block=hook.block)
    return HookOutcome(context=(output,)) if output and call.name in _STDOUT_FOR_MODEL else NO_OPINION


def _timed_out(hook: SettingsHook, call: HookCall) -> HookOutcome:
    error = f"no answer within {hook.timeout:g} s: {hook.text[:200]}"
    return failure_outcome(call, error, block=hook.block, late=True)


def _changed_file(hook: CommandHook) -> str:
    """Return a file the hook refers to that changed since the session began; "" if there is none."""
    if not hook.folder:
        return ""
    try:
        now = digest_files(find_referenced_files(hook.named_text, hook.folder))
    except DigestLimitError as error:
        return str(error)
    return next((path for path in (*hook.files, *now) if now.get(path) != hook.files.get(path)), "")
