"""Runs the hooks of the settings for a session, and joins hooks of several kinds."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from bobstay.config.digest import DigestLimitError, digest_files
from bobstay.config.trust_parts import find_referenced_files
from bobstay.hooks.command_hook import argv_of, run_command
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookName, HookOutcome, HookReport, HookRunResult, Hooks
from bobstay.hooks.hook_outcome import blocking_outcome, failure_outcome, merge_outcomes, parse_outcome
from bobstay.hooks.hook_settings import CommandHook, HttpHook, SettingsHook
from bobstay.hooks.http_hook import NoAnswerError, post_hook
from bobstay.hooks.matcher import matches
from bobstay.http.network import Network
from bobstay.model.ids import new_id

BLOCKING_EXIT_CODE = 2
"""The exit code by which a command blocks."""
_LONGEST_REASON = 10_000
_STDOUT_FOR_MODEL: frozenset[str] = frozenset({"UserPromptSubmit", "SessionStart"})
"""Events for which plain text on stdout is context for the model."""
_DELIVERS_LATE: frozenset[str] = frozenset({"UserPromptSubmit", "PostToolBatch"})
"""Events that deliver the output of background hooks that ended meanwhile."""

_NO_RESULT = HookRunResult(None, "", "")


class CommandHooks:
    """The hooks of the settings. All hooks of an event run concurrently, each in its own process or request."""

    def __init__(
        self,
        hooks: Sequence[SettingsHook],
        *,
        cwd: str,
        environment: Mapping[str, str],
        session_id: str = "",
        report: Callable[[HookReport], None] | None = None,
        network: Network | None = None,
        variables: Callable[[HttpHook], Mapping[str, str]] | None = None,
    ) -> None:
        """`network` is for HTTP hooks; `variables` returns the variables that their headers may use."""
        self._hooks = tuple(hooks)
        self._cwd = cwd
        self._environment = {
            **environment,
            "BOBSTAY_PROJECT_DIR": cwd,
            "CLAUDE_PROJECT_DIR": cwd,
            "CLAUDE_CODE_SESSION_ID": session_id,
            "CLAUDECODE": "1",
        }
        self._session_id = session_id
        self._report = report
        self._network = network or Network()
        self._variables = variables
        self._background: set[asyncio.Task[None]] = set()
        self._late: list[HookOutcome] = []

    def wants(self, name: HookName, subject: str = "") -> bool:
        if self._late and name in _DELIVERS_LATE:
            return True
        return any(hook.event == name and matches(hook.pattern, subject) for hook in self._hooks)

    async def run(self, call: HookCall) -> HookOutcome:
        payload = msgspec.json.encode({"hook_event_name": call.name, **call.fields})
        waited = []
        for number, hook in enumerate(_distinct(self._matching(call))):
            if hook.background:
                task = asyncio.ensure_future(self._run_in_background(hook, call, payload, number))
                self._background.add(task)
                task.add_done_callback(self._background.discard)
            else:
                waited.append(self._run_hook(hook, call, payload, number))
        late, self._late = (self._late, []) if call.name in _DELIVERS_LATE else ([], self._late)
        return merge_outcomes([*late, *await asyncio.gather(*waited)])

    async def close(self) -> None:
        """Cancel the hooks that still run in the background."""
        running = list(self._background)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def _matching(self, call: HookCall) -> list[SettingsHook]:
        named = [hook for hook in self._hooks if hook.event == call.name and matches(hook.pattern, call.subject)]
        if not any(hook.condition for hook in named):
            return named
        from bobstay.hooks.condition import matches_condition

        home = self._environment.get("HOME", "/")
        return [hook for hook in named if matches_condition(hook.condition, call, home=home)]

    async def _run_in_background(self, hook: SettingsHook, call: HookCall, payload: bytes, number: int) -> None:
        # Nobody waits to read the variables it exports, and the folder for them may be gone when it writes.
        call = msgspec.structs.replace(call, env_files="")
        outcome = await self._run_hook(hook, call, payload, number)
        # Too late for a decision: only its context and messages are delivered.
        self._late.append(HookOutcome(context=outcome.context, messages=outcome.messages))

    async def _run_hook(self, hook: SettingsHook, call: HookCall, payload: bytes, number: int) -> HookOutcome:
        report = HookReport(new_id(), call.label, call.name)
        if isinstance(hook, HttpHook):
            return await self._run_http(hook, call, payload, report)
        if changed := _changed_file(hook):
            return blocking_outcome(
                call,
                f"{changed} changed since this session began, so the hook that names it was not run. "
                "If the change is intended, start a new session and trust the folder again.",
            )
        self._send_report(report)
        result, status = _NO_RESULT, "cancelled"
        try:
            result = await run_command(
                argv_of(hook, self._cwd, self._environment.get("PATH", "")),
                payload,
                cwd=self._working_directory(hook, call),
                environment=self._environment_of(call, number),
                limit=hook.timeout,
                mark=self._session_id,
            )
            status = "success" if result.code == 0 else "cancelled" if result.code is None else "error"
        except (OSError, ValueError) as error:
            result, status = HookRunResult(None, "", str(error)), "error"
            return failure_outcome(call, f"it could not be started: {error}", block=hook.block)
        finally:
            self._send_report(msgspec.structs.replace(report, result=result, outcome=status))
        return outcome_of_command(hook, call, result)

    async def _run_http(self, hook: HttpHook, call: HookCall, payload: bytes, report: HookReport) -> HookOutcome:
        self._send_report(report)
        result, status = _NO_RESULT, "cancelled"
        try:
            body = await post_hook(hook, payload, self._network, self._variables(hook) if self._variables else {})
            result, status = HookRunResult(0, body.decode(errors="replace"), ""), "success"
        except TimeoutError:
            return _timed_out(hook, call)
        except NoAnswerError as error:
            result, status = HookRunResult(None, "", str(error)), "error"
            return failure_outcome(call, str(error), block=hook.block)
        finally:
            self._send_report(msgspec.structs.replace(report, result=result, outcome=status))
        return _parse_output(hook, call, result.stdout.strip())

    def _working_directory(self, hook: CommandHook, call: HookCall) -> str:
        """Return the directory a hook runs in: the working directory of the session's shell.

        A hook of the project runs in the project: its relative paths must not lead to another file because the model
        changed the directory.
        """
        now = call.fields.get("cwd")
        return now if not hook.folder and isinstance(now, str) and os.path.isdir(now) else self._cwd

    def _environment_of(self, call: HookCall, number: int) -> Mapping[str, str]:
        more: dict[str, str] = {}
        effort = call.fields.get("effort")
        if isinstance(effort, dict) and isinstance(effort.get("level"), str):
            more["CLAUDE_EFFORT"] = effort["level"]
        if call.env_files:
            more["CLAUDE_ENV_FILE"] = os.path.join(call.env_files, f"sessionstart-hook-{number:03}.sh")
        return {**self._environment, **more}

    def _send_report(self, report: HookReport) -> None:
        if self._report is not None:
            self._report(report)


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


def _parse_output(hook: SettingsHook, call: HookCall, output: str) -> HookOutcome:
    if output.startswith("{"):
        try:
            answer = msgspec.json.decode(output, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            return failure_outcome(call, f"its output is not a JSON object: {error}", block=hook.block)
        return parse_outcome(call, answer, block=hook.block)
    return HookOutcome(context=(output,)) if output and call.name in _STDOUT_FOR_MODEL else NO_OPINION


def _timed_out(hook: SettingsHook, call: HookCall) -> HookOutcome:
    error = f"no answer within {hook.timeout:g} s: {hook.text[:200]}"
    return failure_outcome(call, error, block=hook.block, late=True)


def _distinct(hooks: Sequence[SettingsHook]) -> list[SettingsHook]:
    """Merge equal hooks of several sources; the merged hook blocks on failure if one of them does."""
    found: dict[tuple[Any, ...], SettingsHook] = {}
    for hook in hooks:
        key = (hook.command, hook.args, hook.shell) if isinstance(hook, CommandHook) else (hook.url, str(hook.headers))
        first = found.setdefault(key, hook)
        if hook.block and not first.block:
            found[key] = msgspec.structs.replace(first, block=True)
    return list(found.values())


class JoinedHooks:
    """Joins hooks of several kinds: all run concurrently, and the strictest answer counts."""

    def __init__(self, *members: Hooks) -> None:
        self._members = members

    def wants(self, name: HookName, subject: str = "") -> bool:
        return any(member.wants(name, subject) for member in self._members)

    async def run(self, call: HookCall) -> HookOutcome:
        wanting = [member for member in self._members if member.wants(call.name, call.subject)]
        return merge_outcomes(await asyncio.gather(*(member.run(call) for member in wanting)))


def _changed_file(hook: CommandHook) -> str:
    """Return a file the hook refers to that changed since the session began; "" if there is none."""
    if not hook.folder:
        return ""
    try:
        now = digest_files(find_referenced_files(hook.text, hook.folder))
    except DigestLimitError as error:
        return str(error)
    return next((path for path in (*hook.files, *now) if now.get(path) != hook.files.get(path)), "")
