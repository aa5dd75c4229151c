"""Runs the hooks of settings, plugins, skills and agents, and joins hooks of several kinds."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from bobstay.hooks.hook_event import HookCall, HookName, HookOutcome, HookReport, Hooks
from bobstay.hooks.hook_execution import (
    BLOCKING_EXIT_CODE,
    NOT_RUN,
    HookExecution,
    HookRun,
    asks_for_background,
)
from bobstay.hooks.hook_outcome import merge_outcomes
from bobstay.hooks.hook_settings import SettingsHook
from bobstay.hooks.matcher import MatcherIndex
from bobstay.model.ids import new_id

_DELIVERS_LATE: frozenset[str] = frozenset({"UserPromptSubmit", "PostToolBatch"})
"""Events that deliver the context of background hooks that ended meanwhile."""

Reporter: TypeAlias = Callable[[HookReport], None]
Waker: TypeAlias = Callable[[str, str], None]
"""Takes an event and a text: the model is told the text, in a turn of its own if none runs."""


class BackgroundSinks(msgspec.Struct, frozen=True):
    """Where hooks that nobody waits for deliver their results."""

    tell: Callable[[HookOutcome], None] | None = None
    """Takes the messages for the person; without it they come with a later event."""
    wake: Waker | None = None
    awaited: set[asyncio.Future[None]] | None = None
    """Gets the hooks that may wake the model, while they run."""


class CommandHooks:
    """Hooks that files define. All hooks of an event run concurrently, each in its own process or request."""

    def __init__(
        self,
        hooks: Sequence[SettingsHook],
        execution: HookExecution,
        report: Reporter | None = None,
        sinks: BackgroundSinks | None = None,
    ) -> None:
        self._execution = execution
        self._report = report
        self._sinks = sinks or BackgroundSinks()
        self._groups: dict[int, tuple[SettingsHook, ...]] = {0: tuple(hooks)}
        self._last_group = 0
        self._background: set[asyncio.Future[None]] = set()
        self._late: list[HookOutcome] = []
        self._build_index()

    def add(self, hooks: Sequence[SettingsHook]) -> Callable[[], None]:
        """Add hooks from now on. Returns the function that drops them again."""
        self._last_group += 1
        group = self._last_group
        self._groups[group] = tuple(hooks)
        self._build_index()

        def drop() -> None:
            if self._groups.pop(group, None) is not None:
                self._build_index()

        return drop

    def derive(self, hooks: Sequence[SettingsHook]) -> "CommandHooks":
        """Return other hooks of the same session: those of an agent, for as long as it runs.

        What they leave running in the background ends with the hooks they are derived from.
        """
        derived = CommandHooks(hooks, self._execution, self._report, self._sinks)
        derived._background = self._background
        return derived

    def wants(self, name: HookName, subject: str = "") -> bool:
        return bool(self._index.find(name, subject)) or (bool(self._late) and name in _DELIVERS_LATE)

    def list_matchers(self, name: HookName) -> tuple[str, ...]:
        """Return the matchers of an event's hooks."""
        return tuple(hook.pattern for group in self._groups.values() for hook in group if hook.event == name)

    async def run(self, call: HookCall) -> HookOutcome:
        payload = msgspec.json.encode({"hook_event_name": call.name, **call.fields})
        waited = []
        matching = _distinct(self._matching(call))
        self._use_up(matching)
        for number, hook in enumerate(matching):
            if hook.background:
                # Nobody waits to read the variables it exports, and the folder for them may be gone when it writes.
                alone = msgspec.structs.replace(call, env_files="")
                run = asyncio.ensure_future(self._run_hook(hook, alone, payload, number))
                self._continue_in_background(hook, alone, run)
            else:
                waited.append(self._run_waited(hook, call, payload, number))
        late, self._late = (self._late, []) if call.name in _DELIVERS_LATE else ([], self._late)
        return merge_outcomes([*late, *await asyncio.gather(*waited)])

    async def close(self, grace: float = 0.0) -> None:
        """Cancel the hooks that still run in the background after `grace` seconds."""
        if self._background and grace > 0:
            await asyncio.wait(self._background, timeout=grace)
        running = list(self._background)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def _build_index(self) -> None:
        self._index = MatcherIndex(
            (hook.event, hook.pattern, hook) for group in self._groups.values() for hook in group
        )

    def _use_up(self, hooks: Sequence[SettingsHook]) -> None:
        """Drop the hooks that run only once."""
        if used := [hook.identity for hook in hooks if hook.once]:
            for key, group in self._groups.items():
                self._groups[key] = tuple(hook for hook in group if not (hook.once and hook.identity in used))
            self._build_index()

    def _matching(self, call: HookCall) -> Sequence[SettingsHook]:
        named = self._index.find(call.name, call.subject)
        if not any(hook.condition for hook in named):
            return named
        from bobstay.hooks.condition import matches_condition

        home = self._execution.environment.get("HOME", "/")
        return [hook for hook in named if matches_condition(hook.condition, call, home=home)]

    async def _run_waited(self, hook: SettingsHook, call: HookCall, payload: bytes, number: int) -> HookOutcome:
        """Run a hook, and wait for it unless the first line of its output says not to."""
        left = asyncio.Event()
        run = asyncio.ensure_future(self._run_hook(hook, call, payload, number, left))
        leaving = asyncio.ensure_future(left.wait())
        try:
            await asyncio.wait((run, leaving), return_when=asyncio.FIRST_COMPLETED)
            if left.is_set():
                self._continue_in_background(hook, call, run)
                return HookOutcome()
            return run.result().outcome
        except asyncio.CancelledError:
            run.cancel()
            await asyncio.wait((run,))
            raise
        finally:
            leaving.cancel()

    def _continue_in_background(self, hook: SettingsHook, call: HookCall, run: "asyncio.Future[HookRun]") -> None:
        task = asyncio.ensure_future(self._finish_in_background(hook, call, run))
        watching = [self._background]
        if hook.wakes and self._sinks.awaited is not None:
            watching.append(self._sinks.awaited)
        for running in watching:
            running.add(task)
            task.add_done_callback(running.discard)

    async def _finish_in_background(self, hook: SettingsHook, call: HookCall, run: "asyncio.Future[HookRun]") -> None:
        began = time.monotonic()
        try:
            done = await run
        except asyncio.CancelledError:
            run.cancel()
            await asyncio.wait((run,))
            raise
        # Too late for a decision: only its context and messages are delivered.
        outcome = done.outcome
        if hook.wakes and self._sinks.wake is not None and done.result.code == BLOCKING_EXIT_CODE:
            why = done.result.stderr.strip() or done.result.stdout.strip()
            self._sinks.wake(call.label, why or f"{hook.text[:200]} reports a problem without saying which.")
        told = HookOutcome(
            messages=outcome.messages,
            failed=outcome.failed,
            spent=outcome.spent,
            label=call.label,
            duration_ms=int((time.monotonic() - began) * 1000),
        )
        if self._sinks.tell is not None:
            self._sinks.tell(told)
            if outcome.context:
                self._late.append(HookOutcome(context=outcome.context))
        elif outcome.context or outcome.messages:
            self._late.append(HookOutcome(context=outcome.context, messages=outcome.messages))

    async def _run_hook(
        self, hook: SettingsHook, call: HookCall, payload: bytes, number: int, left: asyncio.Event | None = None
    ) -> HookRun:
        report = HookReport(new_id(), call.label, call.name, status_message=hook.status_message)

        def first_line(line: bytes) -> None:
            if left is not None and asks_for_background(line):
                left.set()

        self._send_report(report)
        run = HookRun(NOT_RUN, HookOutcome(), "cancelled")
        try:
            run = await self._execution.run(hook, call, payload, number, first_line)
        finally:
            self._send_report(msgspec.structs.replace(report, result=run.result, outcome=run.status))
        return run

    def _send_report(self, report: HookReport) -> None:
        if self._report is not None:
            self._report(report)


def _distinct(hooks: Sequence[SettingsHook]) -> list[SettingsHook]:
    """Merge equal hooks of several sources; the merged hook blocks on failure if one of them does."""
    found: dict[tuple[object, ...], SettingsHook] = {}
    for hook in hooks:
        first = found.setdefault(hook.identity, hook)
        if hook.block and not first.block:
            found[hook.identity] = msgspec.structs.replace(first, block=True)
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
