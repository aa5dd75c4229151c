"""The pipeline of one tool call, in six phases: schema, check, hooks before, approval, run, hooks after.

Each phase may end the call; only the fifth has side effects. Every failure becomes the reply to the call and does not
end the run, but a person or a hook may ask for that.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Literal

from msgspec import Struct

from bobstay.engine import approval
from bobstay.engine.auto_mode import Advice
from bobstay.engine.event_redaction import redact_parts
from bobstay.engine.tool_progress import ProgressChannel
from bobstay.engine.toolbox import PreparedCall, Refused, Toolbox
from bobstay.engine.turn_hooks import notes_for_result
from bobstay.hooks.hook_event import HookCall, HookName, HookOutcome
from bobstay.model.event import (
    Decided,
    Event,
    HookRan,
    InteractionClosed,
    InteractionOpened,
    Noted,
    ToolDone,
    ToolStarted,
)
from bobstay.model.message import ReplyPart, Text, ToolCall, ToolReply
from bobstay.tools.base import Outcome, ToolError
from bobstay.tools.output_limit import limit_output

log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())  # tracebacks are shown only with --debug

INTERRUPTED = "Interrupted {reason} before it finished. What it did until then stays done: check before trying again."
NEVER_STARTED = "Interrupted {reason} before it began: it had no effect."
HARMLESS = frozenset({"read", "none", "person"})
"""Kinds of access that change nothing outside the session."""


class PriorProgress(Struct, frozen=True):
    """How far a call had come before a crash: a person was asked about it, and may have allowed it."""

    opened: InteractionOpened | None = None
    granted: InteractionClosed | None = None


NO_PRIOR_PROGRESS = PriorProgress()


class CallPipeline:
    """One call on its way to its reply. Consume `events` to its end; then the other fields hold the outcome."""

    def __init__(self, toolbox: Toolbox, call: ToolCall, prior: PriorProgress = NO_PRIOR_PROGRESS) -> None:
        self.call = call
        self.prior = prior
        self.done: ToolDone | None = None
        self.ending: Literal["", "interrupt", "hook_stopped", "deferred", "auto_denied"] = ""
        self.reason = ""
        self.structured: Any = None
        self.decided: Decided | None = None
        self.advice: Advice | None = None
        self.open_interaction = ""
        self.toolbox = toolbox
        self.prepared: PreparedCall | None = None
        self._channel = ProgressChannel(call.id, toolbox.redactor)
        self._started = 0.0
        self.refusal = ""
        try:
            self.prepared = toolbox.prepare(call, self._channel.report)
        except Refused as refusal:
            self.refusal = str(refusal)
        self.ticket = toolbox.enter(self.prepared)

    async def events(self) -> AsyncGenerator[Event, None]:
        """Take the call through its phases, ending with its `ToolDone`. On cancellation, see `interrupted`."""
        try:
            await self.ticket.wait_ready()
            async for event in self._phases():
                yield event
        except Exception as error:  # boundary: a defect in a tool or hook must not end the run
            log.exception("call of %s broke", self.call.name)
            fault = f"{type(error).__name__}: {error}"
            yield self._finish(self._error(f"{self.call.name} broke: {fault}. The fault is not in the call itself."))
        finally:
            self.ticket.finish()

    def interrupted(self, reason: str) -> list[Event]:
        """Return the last events of a cancelled call; `reason` says why, such as `by the user`."""
        closing: list[Event] = []
        if self.open_interaction:
            closing.append(InteractionClosed(self.open_interaction, "cancelled", by="interrupt"))
        began = self._started > 0
        text = (INTERRUPTED if began else NEVER_STARTED).format(reason=reason)
        self.done = self._reply(text, is_error=True, interrupted=True)
        return [*closing, self.done]

    async def _phases(self) -> AsyncIterator[Event]:
        if self.prepared is None:
            yield self._finish(self._error(f"<tool_use_error>{self.refusal}</tool_use_error>"))
            return
        try:
            checked = self.prepared
            await checked.tool.check(checked.args, self._current_context())
            self._check_placeholders()
            async for event in self._run_pre_hooks():
                yield event
            if not self.ending:
                async for event in approval.obtain_approval(self):
                    yield event
            if self.prepared is not checked:
                await self.prepared.tool.check(self.prepared.args, self._current_context())
                self._check_placeholders()
        except ToolError as error:
            yield self._finish(self._error(f"<tool_use_error>{error}</tool_use_error>", error.display))
            return
        except Refused as refusal:
            yield self._finish(self._error(str(refusal), denied=True))
            return
        if self.ending == "deferred":
            return
        async for event in self._run():
            yield event

    def _check_placeholders(self) -> None:
        """Refuse to write a placeholder over the secret it stands for, which would destroy the secret.

        A command can write anything, and so may a tool that does not declare its accesses, so every call is refused
        that is not certainly read-only. Searching for the placeholder itself is harmless.
        """
        prepared = self.prepared
        assert prepared is not None
        placeholder = self.toolbox.redactor.find_placeholder(prepared.input)
        if not placeholder or prepared.read_only:
            return
        accesses = prepared.tool.access(prepared.args, prepared.context)
        if accesses and all(access.kind in HARMLESS for access in accesses):
            return
        raise ToolError(
            f"{placeholder} stands for a secret that was not shown to you; where you saw it is the true value. Writing "
            "this would destroy that, so nothing was run. Change only what is around it, with an edit that does not "
            "touch its line. If the line itself must change, ask the person to do it."
        )

    # ------------------------------------------------------------ third phase

    async def _run_pre_hooks(self) -> AsyncIterator[Event]:
        assert self.prepared is not None
        tool = self.prepared.tool.name
        self.hooked = HookOutcome()
        if not self.toolbox.hooks.wants("PreToolUse", tool):
            return
        self.hooked = outcome = await self.toolbox.hooks.run(self.hook_call("PreToolUse"))
        yield HookRan(f"PreToolUse:{tool}", "PreToolUse", outcome.decision or "none", outcome.reason)
        for note in notes_for_result(outcome, f"PreToolUse:{tool}"):
            yield note
        if outcome.decision in ("deny", "block") or outcome.stop:
            if outcome.stop:
                self.ending, self.reason = "hook_stopped", outcome.stop_reason
            self.decided = Decided("reject", "hook", "hook", outcome.reason)
            raise Refused(f"PreToolUse:{tool} hook error: {outcome.reason or outcome.stop_reason or 'denied'}")
        if outcome.updated_input is not None:
            self.rewrite(outcome.updated_input)
        if outcome.decision == "defer":
            self.ending = "deferred"

    def hook_call(self, name: HookName, **fields: Any) -> HookCall:
        """Build the hook call for a tool event."""
        assert self.prepared is not None
        prepared, tool = self.prepared, self.prepared.tool
        common = {"tool_name": tool.name, "tool_input": prepared.input, "tool_use_id": self.call.id}
        accesses = tool.access(prepared.args, prepared.context)
        return HookCall(name, {**self.toolbox.facts(), **common, **fields}, tool.name, self.call.id, accesses)

    def rewrite(self, input: dict[str, Any]) -> None:
        """Continue with another input, validated like the first."""
        assert self.prepared is not None
        try:
            self.prepared = self.toolbox.prepare_again(self.prepared, input)
        except Refused as refusal:
            raise ToolError(f"The input was rewritten, and the new input is invalid. {refusal}") from refusal
        self.ticket.claims = self.prepared.tool.claims(self.prepared.args, self.prepared.context)

    # ------------------------------------------------------------ fifth and sixth phase

    async def _run(self) -> AsyncIterator[Event]:
        prepared = self.prepared
        assert prepared is not None
        await self.ticket.start()
        yield ToolStarted(self.call.id, prepared.tool.name, prepared.input, prepared.read_only)
        self._started = time.monotonic()
        task = asyncio.ensure_future(prepared.tool.run(prepared.args, self._current_context()))
        self._channel.follow(task)
        try:
            async for progress in self._channel:
                yield progress
            outcome = await task
        except ToolError as error:
            async for event in self._failed(str(error), error.display):
                yield event
            return
        finally:
            await _cancel_and_wait(task)
        for event in outcome.events:
            yield event
        if outcome.is_error:
            async for event in self._failed(outcome.content, outcome.display, outcome):
                yield event
            return
        async for event in self._succeeded(outcome):
            yield event

    async def _succeeded(self, outcome: Outcome) -> AsyncIterator[Event]:
        assert self.prepared is not None
        tool, hooks = self.prepared.tool, self.toolbox.hooks
        notes: list[Event] = []
        content, display = outcome.content, outcome.display
        if hooks.wants("PostToolUse", tool.name):
            after = await self._run_post_hooks("PostToolUse", {"tool_response": self._hook_view(display, content)})
            yield HookRan(f"PostToolUse:{tool.name}", "PostToolUse", after.decision or "none", after.reason)
            notes = notes_for_result(after, f"PostToolUse:{tool.name}", objects=True)
            if after.updated_output is not None:
                from bobstay.engine.hook_replacement import WrongShapeError, replace_result

                try:
                    content, display = replace_result(tool, outcome, after.updated_output)
                except WrongShapeError as error:
                    notes.append(Noted(f"PostToolUse:{tool.name} hook: {error}", "warning"))
        self.structured = outcome.structured
        yield self._finish(self._reply(content, display=display, outcome=outcome))
        for note in notes:
            yield note

    async def _failed(
        self, content: str | tuple[ReplyPart, ...], display: Any, outcome: Outcome | None = None
    ) -> AsyncIterator[Event]:
        assert self.prepared is not None
        tool, hooks = self.prepared.tool, self.toolbox.hooks
        notes: list[Event] = []
        if hooks.wants("PostToolUseFailure", tool.name):
            text = content if isinstance(content, str) else "\n".join(p.text for p in content if isinstance(p, Text))
            after = await self._run_post_hooks(
                "PostToolUseFailure", {"error": self.toolbox.redactor.redact(text), "is_interrupt": False}
            )
            yield HookRan(
                f"PostToolUseFailure:{tool.name}", "PostToolUseFailure", after.decision or "none", after.reason
            )
            notes = notes_for_result(after, f"PostToolUseFailure:{tool.name}", objects=True)
        yield self._finish(self._reply(content, is_error=True, display=display, outcome=outcome))
        for note in notes:
            yield note

    async def _run_post_hooks(
        self, name: Literal["PostToolUse", "PostToolUseFailure"], fields: dict[str, Any]
    ) -> HookOutcome:
        outcome = await self.toolbox.hooks.run(self.hook_call(name, **fields, duration_ms=self._elapsed()))
        if outcome.stop:
            self.ending, self.reason = "hook_stopped", outcome.stop_reason
        return outcome

    # ------------------------------------------------------------ replies

    def _hook_view(self, display: Any, content: Any) -> Any:
        """The result for hooks, redacted because they may run elsewhere."""
        return self.toolbox.redactor.redact_value(display if display is not None else content)

    def _current_context(self) -> Any:
        """Update the context: an earlier call may have changed the working directory or the mode."""
        assert self.prepared is not None
        self.prepared.context = self.toolbox.tool_environment.context(
            self.call.id, self.toolbox.judge.mode, self._channel.report
        )
        return self.prepared.context

    def _finish(self, done: ToolDone) -> ToolDone:
        self.done = done
        return done

    def _error(self, text: str, display: Any = None, *, denied: bool = False) -> ToolDone:
        return self._reply(text, is_error=True, display=display, denied=denied)

    def _reply(
        self,
        content: str | tuple[ReplyPart, ...],
        *,
        is_error: bool = False,
        display: Any = None,
        denied: bool = False,
        interrupted: bool = False,
        outcome: Outcome | None = None,
    ) -> ToolDone:
        prepared = self.prepared
        cap = prepared.tool.cap if prepared else 10_000
        parts, _ = limit_output(
            redact_parts(content, self.toolbox.redactor), cap, self.toolbox.tool_environment.spill, self.call.id
        )
        rewritten = prepared.input if prepared and prepared.input is not self.call.input else None
        return ToolDone(
            ToolReply(self.call.id, parts, is_error=is_error),
            name=prepared.tool.name if prepared else self.call.name,
            display=display,
            duration_ms=self._elapsed(),
            decided=self.decided,
            denied=denied,
            interrupted=interrupted,
            input=rewritten,
            files=outcome.files if outcome else {},
            cwd=outcome.cwd if outcome else "",
            lines_added=outcome.lines_added if outcome else 0,
            lines_removed=outcome.lines_removed if outcome else 0,
        )

    def _elapsed(self) -> int:
        return int((time.monotonic() - self._started) * 1000) if self._started else 0


def not_started_reply(call: ToolCall, reason: str) -> ToolDone:
    """The reply to a call that arrived after the run was aborted."""
    text = NEVER_STARTED.format(reason=reason)
    return ToolDone(ToolReply(call.id, (Text(text),), is_error=True), name=call.name, interrupted=True)


async def _cancel_and_wait(task: "asyncio.Future[Outcome]") -> None:
    """Cancel a tool that is still running, and wait for its end."""
    if not task.done():
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()
