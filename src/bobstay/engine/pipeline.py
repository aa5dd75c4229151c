"""The pipeline of one tool call, in six phases: schema, check, hooks before, approval, run, hooks after.

Each phase may end the call; only the fifth has side effects. Every failure becomes the reply to the call and does not
end the run, but a person or a hook may ask for that.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Literal

from bobstay.engine.approval import NO_PRIOR_PROGRESS, Approval, PriorProgress
from bobstay.engine.event_redaction import redact_parts
from bobstay.engine.hook_notes import messages_of
from bobstay.engine.reminders import NESTED_INSTRUCTIONS, remind
from bobstay.engine.tool_progress import ProgressChannel
from bobstay.engine.toolbox import CallEnding, PreparedCall, Refused, Toolbox
from bobstay.engine.turn_hooks import notes_for_result, run_hooks
from bobstay.hooks.hook_event import NO_OPINION, HookOutcome
from bobstay.model.event import (
    Decided,
    Event,
    InteractionClosed,
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
RETRY = "A hook says that you may make this call again."
NEVER_STARTED = "Interrupted {reason} before it began: it had no effect."
CUT_OFF = (
    "Your output limit cut this call off before its input was complete: it had no effect. Do not send it again as it "
    "was. Write it in parts: a shorter call first, then further calls that add the rest."
)


class CallPipeline:
    """One call on its way to its reply. Consume `events` to its end; then the other fields hold the outcome."""

    def __init__(self, toolbox: Toolbox, call: ToolCall, prior: PriorProgress = NO_PRIOR_PROGRESS) -> None:
        self.call = call
        self.done: ToolDone | None = None
        self.ending: CallEnding = ""
        self.reason = ""
        self.structured: Any = None
        self.prepared: PreparedCall | None = None
        self._toolbox = toolbox
        self._prior = prior
        self._hooked = NO_OPINION
        self._approval: Approval | None = None
        self._decided: Decided | None = None
        self._channel = ProgressChannel(call.id, toolbox.redactor)
        self._started = 0.0
        self._problem = ""
        """Why the call could not be prepared."""
        try:
            self.prepared = toolbox.prepare(call, self._channel.report)
        except Refused as refusal:
            self._problem = str(refusal)
        self.ticket = toolbox.enter(self.prepared)

    async def events(self) -> AsyncGenerator[Event, None]:
        """Take the call through its phases, ending with its `ToolDone`. On cancellation, see `interrupted`."""
        try:
            await self.ticket.wait_ready()
            async with aclosing(self._phases()) as phases:
                async for event in phases:
                    yield event
        except Exception as error:  # boundary: a defect in a tool or hook must not end the run
            log.exception("call of %s broke", self.call.name)
            fault = f"{type(error).__name__}: {error}"
            yield self._finish(self._error(f"{self.call.name} broke: {fault}. The fault is not in the call itself."))
        finally:
            self.ticket.finish()

    @property
    def may_be_cut_off(self) -> bool:
        """Whether the output limit may have ended the call's input."""
        return self.prepared is None and (bool(self.call.malformed) or not self.call.input)

    def cut_off(self) -> None:
        """Tell the model that the output limit ended the call's input, rather than what is wrong with the rest."""
        self._problem = CUT_OFF

    def interrupted(self, reason: str) -> list[Event]:
        """Return the last events of a cancelled call; `reason` says why, such as `by the user`."""
        closing: list[Event] = []
        if self._approval is not None and self._approval.open_interaction:
            closing.append(InteractionClosed(self._approval.open_interaction, "cancelled", by="interrupt"))
        began = self._started > 0
        text = (INTERRUPTED if began else NEVER_STARTED).format(reason=reason)
        self.done = self._reply(text, is_error=True, interrupted=True)
        return [*closing, self.done]

    @property
    def hook_fields(self) -> dict[str, Any]:
        """The call and its result, for hooks after a batch of calls."""
        return {
            "tool_name": self.prepared.tool.name if self.prepared else self.call.name,
            "tool_input": (self.prepared or self.call).input,
            "tool_use_id": self.call.id,
            "tool_response": self.done.reply.text if self.done is not None else "",
        }

    async def _phases(self) -> AsyncGenerator[Event, None]:
        if self.prepared is None:
            yield self._finish(self._error(f"<tool_use_error>{self._problem}</tool_use_error>"))
            return
        try:
            async with aclosing(self._before_run(self.prepared)) as events:
                async for event in events:
                    yield event
        except ToolError as error:
            yield self._finish(self._error(f"<tool_use_error>{error}</tool_use_error>", error.display))
            return
        except Refused as refusal:
            self._decided, self.ending, self.reason = refusal.decided, refusal.ending, refusal.reason
            denied = await self._after_denial(self.prepared, refusal)
            text = f"{refusal}\n{RETRY}" if denied.retry else str(refusal)
            yield self._finish(self._error(text, denied=True))
            for note in notes_for_result(denied, f"PermissionDenied:{self.prepared.tool.name}"):
                yield note
            return
        if self.ending == "deferred":
            return
        before = str(self._toolbox.tool_environment.cwd)
        async with aclosing(self._run(self.prepared)) as events:
            async for event in events:
                yield event
        now = str(self._toolbox.tool_environment.cwd)
        if now != before:  # before the next command begins, which may need what hooks export
            for note in messages_of(await run_hooks(self._toolbox, "CwdChanged", old_cwd=before, new_cwd=now)):
                yield note

    async def _after_denial(self, prepared: PreparedCall, refusal: Refused) -> HookOutcome:
        """Run the hooks for a call that auto mode refused."""
        toolbox, decided = self._toolbox, refusal.decided
        if decided is None or decided.source != "auto":
            return NO_OPINION
        if not toolbox.hooks.wants("PermissionDenied", prepared.tool.name):
            return NO_OPINION
        return await toolbox.run_hooks(toolbox.hook_call("PermissionDenied", prepared, reason=decided.why))

    async def _before_run(self, checked: PreparedCall) -> AsyncGenerator[Event, None]:
        """Second to fourth phase. Raises `ToolError` or `Refused` if the call may not run."""
        await self._toolbox.check(checked)
        async with aclosing(self._run_pre_hooks(checked)) as events:
            async for event in events:
                yield event
        if not self.ending:
            async with aclosing(self._obtain_approval(self.prepared or checked)) as events:
                async for event in events:
                    yield event
        if self.prepared is not None and self.prepared is not checked:
            await self._toolbox.check(self.prepared)

    async def _obtain_approval(self, prepared: PreparedCall) -> AsyncGenerator[Event, None]:
        self._approval = approval = Approval(self._toolbox, prepared, self._hooked, self._prior)
        try:
            async with aclosing(approval.events()) as events:
                async for event in events:
                    yield event
        finally:
            self._decided = approval.decided
            self._continue_with(approval.prepared)

    # ------------------------------------------------------------ third phase

    async def _run_pre_hooks(self, prepared: PreparedCall) -> AsyncGenerator[Event, None]:
        tool, hooks = prepared.tool.name, self._toolbox.hooks
        if not hooks.wants("PreToolUse", tool):
            return
        self._hooked = outcome = await self._toolbox.run_hooks(self._toolbox.hook_call("PreToolUse", prepared))
        for note in notes_for_result(outcome, f"PreToolUse:{tool}"):
            yield note
        if outcome.decision in ("deny", "block") or outcome.stop:
            text = f"PreToolUse:{tool} hook error: {outcome.reason or outcome.stop_reason or 'denied'}"
            rejected = Decided("reject", "hook", "hook", outcome.reason)
            raise Refused(text, rejected, "hook_stopped" if outcome.stop else "", outcome.stop_reason)
        if outcome.updated_input is not None:
            self._continue_with(self._toolbox.prepare_again(prepared, outcome.updated_input))
        if outcome.decision == "defer":
            self.ending = "deferred"

    def _continue_with(self, prepared: PreparedCall) -> None:
        """Continue with another input, which may claim other resources."""
        if prepared is not self.prepared:
            self.prepared = prepared
            self.ticket.claims = prepared.claims

    # ------------------------------------------------------------ fifth and sixth phase

    async def _run(self, prepared: PreparedCall) -> AsyncGenerator[Event, None]:
        await self.ticket.start()
        yield ToolStarted(self.call.id, prepared.tool.name, prepared.input, prepared.read_only)
        self._started = time.monotonic()
        task = asyncio.ensure_future(prepared.tool.run(prepared.args, self._toolbox.update_context(prepared)))
        self._channel.follow(task)
        try:
            async for progress in self._channel:
                yield progress
            outcome = await task
        except ToolError as error:
            async with aclosing(self._failed(prepared, str(error), error.display)) as events:
                async for event in events:
                    yield event
            return
        finally:
            await _cancel_and_wait(task)
        for event in outcome.events:
            yield event
        if outcome.is_error:
            rest = self._failed(prepared, outcome.content, outcome.display, outcome)
        else:
            rest = self._succeeded(prepared, outcome)
        async with aclosing(rest) as events:
            async for event in events:
                yield event

    async def _succeeded(self, prepared: PreparedCall, outcome: Outcome) -> AsyncGenerator[Event, None]:
        tool, hooks = prepared.tool, self._toolbox.hooks
        notes: list[Event] = []
        content, display = outcome.content, outcome.display
        if hooks.wants("PostToolUse", tool.name):
            # Redacted, because hooks may run elsewhere.
            response = self._toolbox.redactor.redact_value(display if display is not None else content)
            after = await self._run_post_hooks("PostToolUse", prepared, tool_response=response)
            notes = notes_for_result(after, f"PostToolUse:{tool.name}", objects=True)
            if after.updated_output is not None:
                from bobstay.engine.hook_replacement import WrongShapeError, replace_result

                try:
                    content, display = replace_result(tool, outcome, after.updated_output)
                except WrongShapeError as error:
                    notes.append(Noted(f"PostToolUse:{tool.name} hook: {error}", "warning"))
        self.structured = outcome.structured
        yield self._finish(self._reply(content, display=display, outcome=outcome))
        for event in outcome.after:
            yield event
        if outcome.reminder:
            yield remind(outcome.reminder, NESTED_INSTRUCTIONS)
        for note in notes:
            yield note

    async def _failed(
        self,
        prepared: PreparedCall,
        content: str | tuple[ReplyPart, ...],
        display: Any,
        outcome: Outcome | None = None,
    ) -> AsyncGenerator[Event, None]:
        tool, hooks = prepared.tool, self._toolbox.hooks
        notes: list[Event] = []
        if hooks.wants("PostToolUseFailure", tool.name):
            text = content if isinstance(content, str) else "\n".join(p.text for p in content if isinstance(p, Text))
            error = self._toolbox.redactor.redact(text)
            after = await self._run_post_hooks("PostToolUseFailure", prepared, error=error, is_interrupt=False)
            notes = notes_for_result(after, f"PostToolUseFailure:{tool.name}", objects=True)
        yield self._finish(self._reply(content, is_error=True, display=display, outcome=outcome))
        for note in notes:
            yield note

    async def _run_post_hooks(
        self, name: Literal["PostToolUse", "PostToolUseFailure"], prepared: PreparedCall, **fields: Any
    ) -> HookOutcome:
        call = self._toolbox.hook_call(name, prepared, **fields, duration_ms=self._elapsed())
        outcome = await self._toolbox.run_hooks(call)
        if outcome.stop:
            self.ending, self.reason = "hook_stopped", outcome.stop_reason
        return outcome

    # ------------------------------------------------------------ replies

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
            redact_parts(content, self._toolbox.redactor), cap, self._toolbox.tool_environment.spill, self.call.id
        )
        if is_error and self._started and (schema := self._toolbox.unseen_schema(self.call.name)):
            parts = (*parts, Text(schema))
        rewritten = prepared.input if prepared and prepared.input is not self.call.input else None
        return ToolDone(
            ToolReply(self.call.id, parts, is_error=is_error, loads=_loads(outcome, content)),
            name=prepared.tool.name if prepared else self.call.name,
            display=display,
            duration_ms=self._elapsed(),
            decided=self._decided,
            denied=denied,
            interrupted=interrupted,
            input=rewritten,
            files=outcome.files if outcome else {},
            cwd=outcome.cwd if outcome else "",
            root=outcome.root if outcome else "",
            lines_added=outcome.lines_added if outcome else 0,
            lines_removed=outcome.lines_removed if outcome else 0,
        )

    def _elapsed(self) -> int:
        return int((time.monotonic() - self._started) * 1000) if self._started else 0


def not_started_reply(call: ToolCall, reason: str) -> ToolDone:
    """The reply to a call that arrived after the run was aborted."""
    text = NEVER_STARTED.format(reason=reason)
    return ToolDone(ToolReply(call.id, (Text(text),), is_error=True), name=call.name, interrupted=True)


def _loads(outcome: Outcome | None, content: str | tuple[ReplyPart, ...]) -> tuple[str, ...]:
    """The tools that a result loads; none if a hook replaced the result, which the model is to read then."""
    return outcome.loads if outcome is not None and content is outcome.content else ()


async def _cancel_and_wait(task: "asyncio.Future[Outcome]") -> None:
    """Cancel a tool that is still running, and wait for its end."""
    if not task.done():
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()
