"""The hooks that settings name as hooks of a session, and several kinds of hooks as one."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from bobstay.config.digest import TooMuch, digests_of
from bobstay.config.trust_parts import referenced
from bobstay.hooks.command_hook import argv_of, run_command
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookName, HookOutcome, HookReport, Hooks, Ran
from bobstay.hooks.hook_outcome import blocked, failed, merged, outcome_of
from bobstay.hooks.hook_settings import CommandHook, HttpHook, SettingsHook
from bobstay.hooks.http_hook import NoAnswerError, Post, ask
from bobstay.hooks.matcher import matches
from bobstay.model.ids import new_id

BLOCKS = 2
"""The exit code that says no."""
_LONGEST_REASON = 10_000
_SPEAKING: frozenset[str] = frozenset({"UserPromptSubmit", "SessionStart"})
"""Events at which plain text on stdout is for the model."""
_DELIVERING: frozenset[str] = frozenset({"UserPromptSubmit", "PostToolBatch"})
"""Events that bring along what hooks in the background have said since."""

_SILENT = Ran(None, "", "")


class CommandHooks:
    """All hooks of an event run at once, each in a process or request of its own."""

    def __init__(
        self,
        hooks: Sequence[SettingsHook],
        *,
        cwd: str,
        environment: Mapping[str, str],
        session_id: str = "",
        report: Callable[[HookReport], None] | None = None,
        post: Post | None = None,
        variables: Callable[[HttpHook], Mapping[str, str]] | None = None,
    ) -> None:
        """`post` and `variables` are for HTTP hooks: how they are sent, and what may stand in their headers."""
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
        self._post = post
        self._variables = variables
        self._behind: set[asyncio.Task[None]] = set()
        self._late: list[HookOutcome] = []
        self.env_files: str = ""
        """A folder in which each hook has a file of its own for variables (`CLAUDE_ENV_FILE`); "" for none."""

    def wants(self, name: HookName, subject: str = "") -> bool:
        if self._late and name in _DELIVERING:
            return True
        return any(hook.event == name and matches(hook.pattern, subject) for hook in self._hooks)

    async def run(self, call: HookCall) -> HookOutcome:
        given = msgspec.json.encode({"hook_event_name": call.name, **call.fields})
        waited = []
        for number, hook in enumerate(_distinct(self._concerned(call))):
            if hook.background:
                task = asyncio.ensure_future(self._run_behind(hook, call, given, number))
                self._behind.add(task)
                task.add_done_callback(self._behind.discard)
            else:
                waited.append(self._one(hook, call, given, number))
        late, self._late = (self._late, []) if call.name in _DELIVERING else ([], self._late)
        return merged([*late, *await asyncio.gather(*waited)])

    async def close(self) -> None:
        """End what still runs in the background."""
        running = list(self._behind)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def _concerned(self, call: HookCall) -> list[SettingsHook]:
        named = [hook for hook in self._hooks if hook.event == call.name and matches(hook.pattern, call.subject)]
        if not any(hook.condition for hook in named):
            return named
        from bobstay.hooks.condition import meets

        home = self._environment.get("HOME", "/")
        return [hook for hook in named if meets(hook.condition, call, home=home)]

    async def _run_behind(self, hook: SettingsHook, call: HookCall, given: bytes, number: int) -> None:
        outcome = await self._one(hook, call, given, number)
        # It is too late to decide anything; what it has to say is still heard.
        self._late.append(HookOutcome(context=outcome.context, messages=outcome.messages))

    async def _one(self, hook: SettingsHook, call: HookCall, given: bytes, number: int) -> HookOutcome:
        told = HookReport(new_id(), call.label, call.name)
        if isinstance(hook, HttpHook):
            return await self._sent(hook, call, given, told)
        if changed := _changed(hook):
            return blocked(
                call,
                f"{changed} changed since this session began, so the hook that names it was not run. "
                "If the change is wanted, start again and trust the folder anew.",
            )
        self._tell(told)
        ran, word = _SILENT, "cancelled"
        try:
            ran = await run_command(
                argv_of(hook, self._cwd, self._environment.get("PATH", "")),
                given,
                cwd=self._place(hook, call),
                environment=self._environment_of(call, number),
                limit=hook.timeout,
                mark=self._session_id,
            )
            word = "success" if ran.code == 0 else "cancelled" if ran.code is None else "error"
        except (OSError, ValueError) as error:
            ran, word = Ran(None, "", str(error)), "error"
            return failed(call, f"it could not be started: {error}", block=hook.block)
        finally:
            self._tell(msgspec.structs.replace(told, ran=ran, outcome=word))
        return outcome_of_command(hook, call, ran)

    async def _sent(self, hook: HttpHook, call: HookCall, given: bytes, told: HookReport) -> HookOutcome:
        if self._post is None:
            return failed(call, "nothing can be sent from here", block=hook.block)
        self._tell(told)
        ran, word = _SILENT, "cancelled"
        try:
            body = await ask(hook, given, self._post, self._variables(hook) if self._variables else {})
            ran, word = Ran(0, body.decode(errors="replace"), ""), "success"
        except TimeoutError:
            return _timed_out(hook, call)
        except NoAnswerError as error:
            ran, word = Ran(None, "", str(error)), "error"
            return failed(call, str(error), block=hook.block)
        finally:
            self._tell(msgspec.structs.replace(told, ran=ran, outcome=word))
        return _answer(hook, call, ran.stdout.strip())

    def _place(self, hook: CommandHook, call: HookCall) -> str:
        """Where a hook runs: where the session's shell stands.

        A hook of the project runs in the project: a relative path in it must not lead to another file because the
        model went elsewhere.
        """
        now = call.fields.get("cwd")
        return now if not hook.folder and isinstance(now, str) and os.path.isdir(now) else self._cwd

    def _environment_of(self, call: HookCall, number: int) -> Mapping[str, str]:
        more: dict[str, str] = {}
        effort = call.fields.get("effort")
        if isinstance(effort, dict) and isinstance(effort.get("level"), str):
            more["CLAUDE_EFFORT"] = effort["level"]
        if self.env_files and call.name == "SessionStart":
            more["CLAUDE_ENV_FILE"] = os.path.join(self.env_files, f"sessionstart-hook-{number:03}.sh")
        return {**self._environment, **more}

    def _tell(self, report: HookReport) -> None:
        if self._report is not None:
            self._report(report)


def outcome_of_command(hook: CommandHook, call: HookCall, ran: Ran) -> HookOutcome:
    """What a command that ended means: 0 and JSON (or text), 2 for no, anything else for a failure."""
    if ran.code is None:
        return _timed_out(hook, call)
    if ran.code == BLOCKS:
        return blocked(call, ran.stderr.strip()[:_LONGEST_REASON] or f"denied by the hook {hook.text[:200]}")
    if ran.code != 0:
        why = ran.stderr.strip()[:_LONGEST_REASON] or hook.text[:200]
        return failed(call, f"exit code {ran.code}: {why}", block=hook.block)
    return _answer(hook, call, ran.stdout.strip())


def _answer(hook: SettingsHook, call: HookCall, said: str) -> HookOutcome:
    if said.startswith("{"):
        try:
            answer = msgspec.json.decode(said, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            return failed(call, f"its output is no JSON object: {error}", block=hook.block)
        return outcome_of(call, answer, block=hook.block)
    return HookOutcome(context=(said,)) if said and call.name in _SPEAKING else NO_OPINION


def _timed_out(hook: SettingsHook, call: HookCall) -> HookOutcome:
    error = f"no answer within {hook.timeout:g} s: {hook.text[:200]}"
    return failed(call, error, block=hook.block, late=True)


def _distinct(hooks: Sequence[SettingsHook]) -> list[SettingsHook]:
    """The same command from two sources is one hook, and blocks on failure if one of them says so."""
    found: dict[tuple[Any, ...], SettingsHook] = {}
    for hook in hooks:
        key = (hook.command, hook.args, hook.shell) if isinstance(hook, CommandHook) else (hook.url, str(hook.headers))
        first = found.setdefault(key, hook)
        if hook.block and not first.block:
            found[key] = msgspec.structs.replace(first, block=True)
    return list(found.values())


class JoinedHooks:
    """Hooks of several kinds as one: all are asked at once, and the strictest answer counts."""

    def __init__(self, *members: Hooks) -> None:
        self._members = members

    def wants(self, name: HookName, subject: str = "") -> bool:
        return any(member.wants(name, subject) for member in self._members)

    async def run(self, call: HookCall) -> HookOutcome:
        wanting = [member for member in self._members if member.wants(call.name, call.subject)]
        return merged(await asyncio.gather(*(member.run(call) for member in wanting)))


def _changed(hook: CommandHook) -> str:
    """A file of the folder that a hook names and that is not what it was; "" if there is none."""
    if not hook.folder:
        return ""
    try:
        now = digests_of(referenced(hook.text, hook.folder))
    except TooMuch as error:
        return str(error)
    return next((path for path in (*hook.files, *now) if now.get(path) != hook.files.get(path)), "")
