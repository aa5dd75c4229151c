"""Hooks of a turn that belong to no single tool call: at the prompt, after a batch of calls, and at the end."""

from typing import Any

from msgspec import Struct

from bobstay.engine.toolbox import Toolbox
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookName, HookOutcome
from bobstay.model.event import Durable, Event, Noted, Prompted, RunDone
from bobstay.model.ids import new_id
from bobstay.model.message import Text
from bobstay.model.session_events import SessionChanged
from bobstay.tools.shell_job import ShellJob

FAILURES = frozenset({"api_error", "prompt_too_long", "max_output", "refused"})
"""Endings in which the model's service failed: `StopFailure` hooks run then, and `Stop` hooks do not."""
CAPPED = (
    "A hook kept the turn from ending {count} times in a row; it ends anyway. A Stop hook should let it end while "
    "stop_hook_active is true. CLAUDE_CODE_STOP_HOOK_BLOCK_CAP sets another limit."
)
_LONGEST_TITLE = 200


class StopHookBlocks(Struct):
    """How often hooks have kept this turn from ending."""

    active: bool = False
    in_a_row: int = 0

    def count(self, limit: int) -> bool:
        """Count one more block; False if it exceeds the limit."""
        self.active = True
        self.in_a_row += 1
        return self.in_a_row <= limit


async def run_hooks(toolbox: Toolbox, name: HookName, *, subject: str = "", **fields: Any) -> HookOutcome:
    """Run the hooks of an event that belongs to no tool call."""
    if not toolbox.hooks.wants(name, subject):
        return NO_OPINION
    return await toolbox.hooks.run(HookCall(name, {**toolbox.facts(), **fields}, subject, tool_use_id=new_id()))


async def before_end(toolbox: Toolbox, last_text: str, *, again: bool) -> HookOutcome:
    """Run the Stop hooks, which may object to the end of a turn. `again`: they have done so in this turn.

    For a sub-agent they are the SubagentStop hooks.
    """
    shells, agent_type = toolbox.tool_environment.services.shells, toolbox.facts.agent_type
    return await run_hooks(
        toolbox,
        "SubagentStop" if agent_type else "Stop",
        subject=agent_type,
        stop_hook_active=again,
        last_assistant_message=last_text,
        background_tasks=[_task_fields(job) for job in shells.in_background] if shells is not None else [],
        session_crons=[],
    )


async def after_failure(toolbox: Toolbox, done: RunDone) -> HookOutcome:
    """Run the hooks for a turn that ended in one of `FAILURES`."""
    return await run_hooks(toolbox, "StopFailure", error=done.error or "unknown", last_assistant_message=done.text)


def after_stop(outcome: HookOutcome, blocks: StopHookBlocks, limit: int) -> tuple[bool, list[Event]]:
    """Return whether the model continues after the `Stop` hooks, and the events that report it."""
    notes: list[Event] = [*messages_of(outcome)]
    if outcome.stop:
        return False, [*notes, *([Noted(f"Stop hook: {outcome.stop_reason}", "notice")] if outcome.stop_reason else ())]
    prompts = context_of(outcome, "Stop")
    if outcome.decision == "block":
        prompts.append(Prompted(new_id(), (Text(f"Stop hook feedback:\n{outcome.reason}"),), "hook", why="stop_hook"))
    if not prompts:
        return False, notes
    if blocks.count(limit):
        return True, [*notes, *prompts]
    return False, [*notes, Noted(CAPPED.format(count=blocks.in_a_row), "warning")]


def messages_of(outcome: HookOutcome) -> list[Noted]:
    """Messages of an outcome for the person."""
    return [Noted(message.text, message.level, message.tag) for message in outcome.messages]


def context_of(outcome: HookOutcome, hook: str) -> list[Prompted]:
    """Context of an outcome for the model, as prompts next to a prompt or result."""
    return [_reminder(f"{hook} hook additional context: {text}", hook) for text in outcome.context if text]


def notes_for_prompt(outcome: HookOutcome, hook: str) -> list[Durable]:
    """All events for an outcome that belongs to a prompt."""
    title = [SessionChanged(title=outcome.title[:_LONGEST_TITLE])] if outcome.title.strip() else []
    return [*context_of(outcome, hook), *messages_of(outcome), *title]


def notes_for_result(outcome: HookOutcome, hook: str, *, objects: bool = False) -> list[Event]:
    """All events for an outcome that belongs to a result; with `objects` also the reason for blocking it."""
    objection = f"{hook} hook blocking error: {outcome.reason}"
    objected = objects and outcome.decision == "block" and bool(outcome.reason)
    return [*context_of(outcome, hook), *([_reminder(objection, hook)] if objected else ()), *messages_of(outcome)]


def _task_fields(job: ShellJob) -> dict[str, Any]:
    return {"id": job.id, "type": "shell", "status": "running", "command": job.command, "description": job.description}


def _reminder(text: str, hook: str) -> Prompted:
    return Prompted(new_id(), (Text(f"<system-reminder>\n{text}\n</system-reminder>"),), "hook", why=hook)
