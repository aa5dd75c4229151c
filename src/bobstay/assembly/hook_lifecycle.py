"""Starts and ends the hooks of a session, and connects them with its models, its log and its tools."""

import asyncio
from typing import TYPE_CHECKING, Literal, TypeAlias

from bobstay.assembly.background_commands import BackgroundCommands
from bobstay.assembly.session_hooks import SessionHooks, run_session_end, run_session_start
from bobstay.assembly.start_context import StartContext
from bobstay.engine.event_redaction import redact_event
from bobstay.engine.hook_notes import HookNotes
from bobstay.engine.journal import Journal
from bobstay.engine.toolbox import GRACE, Toolbox
from bobstay.hooks.hook_event import HookOutcome
from bobstay.model.event import Noted
from bobstay.sessions.log import LogError

if TYPE_CHECKING:
    from bobstay.assembly.hook_file_watch import HookFileWatch
    from bobstay.hooks.hook_ports import HookPorts, PromptAsker, ServerToolCaller
    from bobstay.hooks.hook_runner import BackgroundSinks

EndReason: TypeAlias = Literal["clear", "other"]


def make_ports(
    start: StartContext,
    journal: Journal,
    ask_agent: "PromptAsker | None" = None,
    call_tool: "ServerToolCaller | None" = None,
) -> "HookPorts":
    """Make the ports of hooks. A hook whose port is missing fails, and the person is told."""
    from bobstay.assembly.auto_mode_judge import choose_small_model
    from bobstay.assembly.hook_model import HookModel
    from bobstay.hooks.hook_ports import HookPorts

    def choose(configured: str) -> str:
        return choose_small_model(configured, journal.state.model or start.model)

    return HookPorts(HookModel(start.routes, choose, start.redactor), ask_agent, call_tool)


def make_sinks(notes: HookNotes, background: BackgroundCommands) -> "BackgroundSinks":
    from bobstay.hooks.hook_runner import BackgroundSinks

    return BackgroundSinks(notes.add, background.wake, background.hooks)


class HookLifecycle:
    """From the start of a session to its end."""

    def __init__(self, hooks: SessionHooks, toolbox: Toolbox, start: StartContext, journal: Journal) -> None:
        self._hooks = hooks
        self._toolbox = toolbox
        self._start = start
        self._journal = journal
        self._watch: HookFileWatch | None = None
        self.end_reason: EndReason = "other"
        """Why the session ends, as SessionEnd hooks are told."""

    async def begin(self) -> HookOutcome:
        """Run the SessionStart hooks; their outcome is for the first prompt."""
        self._hooks.listeners.append(self._watch_files)
        source = "clear" if self._start.predecessor is not None else ""
        outcome = await run_session_start(self._hooks, self._start, self._toolbox.facts, source)
        self._watch_files()
        return outcome

    async def end(self) -> None:
        """Run the SessionEnd hooks, end those that still run, and record what nobody was told yet."""
        if self._watch is not None:
            await self._watch.close()
        self._toolbox.notes.add(await run_session_end(self._hooks, self._toolbox.facts, self.end_reason))
        if self._hooks.commands is not None:
            await self._hooks.commands.close(GRACE)
        await asyncio.sleep(0)  # what was just cancelled may still add a note
        notes = [redact_event(note, self._toolbox.redactor) for note in self._toolbox.notes.take()]
        # No turn will show these anymore; whoever closes the session shows its last warnings.
        self._start.warnings.extend(
            _printable(note.text) for note in notes if isinstance(note, Noted) and note.level == "warning"
        )
        try:
            for note in notes:
                self._journal.record(note)
        except LogError:
            return  # the log is full or gone, which the last turn reported

    def _watch_files(self) -> None:
        if self._watch is None and self._hooks.commands is not None:
            from bobstay.assembly.hook_file_watch import HookFileWatch

            self._watch = HookFileWatch(self._hooks, self._toolbox, self._start)
            self._watch.begin()


def _printable(text: str) -> str:
    """Return text for a terminal: it may quote what a program printed."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text)
