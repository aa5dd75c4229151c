"""Command hooks of the settings as hooks of a session, and several kinds of hooks as one."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from bobstay.config.digest import TooMuch, digests_of
from bobstay.config.trust_parts import referenced
from bobstay.hooks.command import run_command
from bobstay.hooks.event import NO_OPINION, HookCall, HookName, HookOutcome, HookReport, Hooks, Ran
from bobstay.hooks.matcher import CommandHook, matches
from bobstay.hooks.outcome import blocked, failed, merged, outcome_of
from bobstay.model.ids import new_id

BLOCKS = 2
"""The exit code that says no."""
_LONGEST_REASON = 10_000
_SPEAKING: frozenset[str] = frozenset({"UserPromptSubmit", "SessionStart"})
"""Moments at which plain text on stdout is for the model."""

_SILENT = Ran(None, "", "")


class CommandHooks:
    """All hooks of a moment run at once, each in a process of its own."""

    def __init__(
        self,
        hooks: Sequence[CommandHook],
        *,
        cwd: str,
        environment: Mapping[str, str],
        session_id: str = "",
        report: Callable[[HookReport], None] | None = None,
    ) -> None:
        self._hooks = tuple(hooks)
        self._cwd = cwd
        self._environment = {**environment, "BOBSTAY_PROJECT_DIR": cwd, "CLAUDE_PROJECT_DIR": cwd}
        self._session_id = session_id
        self._report = report

    def wants(self, name: HookName, subject: str = "") -> bool:
        return any(hook.event == name and matches(hook.pattern, subject) for hook in self._hooks)

    async def run(self, call: HookCall) -> HookOutcome:
        concerned = [hook for hook in self._hooks if hook.event == call.name and matches(hook.pattern, call.subject)]
        # The same command from two sources is one hook.
        distinct = list({hook.command: hook for hook in reversed(concerned)}.values())
        given = msgspec.json.encode({"hook_event_name": call.name, **call.fields})
        return merged(await asyncio.gather(*(self._one(hook, call, given) for hook in reversed(distinct))))

    async def _one(self, hook: CommandHook, call: HookCall, given: bytes) -> HookOutcome:
        if changed := _changed(hook):
            return blocked(
                call.name,
                f"{changed} changed since this session began, so the hook that names it was not run. "
                "If the change is wanted, start again and trust the folder anew.",
            )
        told = HookReport(new_id(), f"{call.name}:{call.subject}" if call.subject else call.name, call.name)
        self._tell(told)
        ran, word = _SILENT, "cancelled"
        try:
            ran = await run_command(
                hook.command,
                given,
                cwd=self._cwd,
                environment=self._environment,
                limit=hook.timeout,
                mark=self._session_id,
            )
            word = "success" if ran.code == 0 else "cancelled" if ran.code is None else "error"
        except (OSError, ValueError) as error:
            ran, word = Ran(None, "", str(error)), "error"
            return failed(call.name, f"it could not be started: {error}", block=hook.block)
        finally:
            self._tell(msgspec.structs.replace(told, ran=ran, outcome=word))
        return outcome_of_command(hook, call.name, ran)

    def _tell(self, report: HookReport) -> None:
        if self._report is not None:
            self._report(report)


def outcome_of_command(hook: CommandHook, name: HookName, ran: Ran) -> HookOutcome:
    """What a command that ended means: 0 and JSON (or text), 2 for no, anything else for a failure."""
    if ran.code is None:
        return failed(name, f"no answer within {hook.timeout:g} s: {hook.command[:200]}", block=hook.block)
    if ran.code == BLOCKS:
        return blocked(name, ran.stderr.strip()[:_LONGEST_REASON] or f"denied by the hook {hook.command[:200]}")
    if ran.code != 0:
        why = ran.stderr.strip()[:_LONGEST_REASON] or hook.command[:200]
        return failed(name, f"exit code {ran.code}: {why}", block=hook.block)
    said = ran.stdout.strip()
    if said.startswith("{"):
        try:
            answer = msgspec.json.decode(said, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            return failed(name, f"its output is no JSON object: {error}", block=hook.block)
        return outcome_of(name, answer)
    return HookOutcome(context=(said,)) if said and name in _SPEAKING else NO_OPINION


class JoinedHooks:
    """Hooks of several kinds as one: all are asked at once, and the strictest answer counts."""

    def __init__(self, *members: Hooks) -> None:
        self._members = members
        self._opening: tuple[str, ...] = ()

    def wants(self, name: HookName, subject: str = "") -> bool:
        waiting = name == "UserPromptSubmit" and bool(self._opening)
        return waiting or any(member.wants(name, subject) for member in self._members)

    async def run(self, call: HookCall) -> HookOutcome:
        wanting = [member for member in self._members if member.wants(call.name, call.subject)]
        outcomes = await asyncio.gather(*(member.run(call) for member in wanting))
        if call.name == "UserPromptSubmit" and self._opening:
            opening, self._opening = HookOutcome(context=self._opening), ()
            outcomes = [opening, *outcomes]
        return merged(outcomes)

    def open_with(self, texts: tuple[str, ...]) -> None:
        """Keep what hooks said when the session began: the model reads it beside the first prompt."""
        self._opening = texts


def _changed(hook: CommandHook) -> str:
    """A file of the folder that a hook names and that is not what it was; "" if there is none."""
    if not hook.folder:
        return ""
    try:
        now = digests_of(referenced(hook.command, hook.folder))
    except TooMuch as error:
        return str(error)
    return next((path for path in (*hook.files, *now) if now.get(path) != hook.files.get(path)), "")
