"""Hooks of a turn that belong to no single tool call: at the prompt, after a batch of calls, and at the end."""

from typing import Any, Literal

from msgspec import Struct

from bobstay.engine.hook_notes import messages_of
from bobstay.engine.toolbox import Toolbox
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookName, HookOutcome
from bobstay.model.event import BlockDone, Durable, Event, Noted, Prompted, RunDone, Task
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


async def run_hooks(toolbox: Toolbox, name: HookName, subject: str = "", **fields: Any) -> HookOutcome:
    """Run the hooks of an event that is not about a tool call. `subject` is what matchers are compared with."""
    if not toolbox.hooks.wants(name, subject):
        return NO_OPINION
    return await toolbox.run_hooks(HookCall(name, {**toolbox.facts(), **fields}, subject, new_id()))


def start_hooks(toolbox: Toolbox, name: HookName, subject: str = "", *, in_order: bool = False, **fields: Any) -> None:
    """Do the same without waiting; such hooks can only look."""
    if toolbox.hooks.wants(name, subject):
        call = HookCall(name, {**toolbox.facts(), **fields}, subject, new_id())
        toolbox.start_hooks(call, in_order=in_order)


async def before_end(toolbox: Toolbox, last_text: str, *, again: bool) -> HookOutcome:
    """Run the Stop hooks, which may object to the end of a turn. `again`: they have done so in this turn.

    A sub-agent does not end the turn: its end is an event of its own.
    """
    shells, agent = toolbox.tool_environment.services.shells, toolbox.facts.agent
    fields: dict[str, Any] = {
        "stop_hook_active": again,
        "last_assistant_message": last_text,
        "background_tasks": [_task_fields(job) for job in shells.in_background] if shells is not None else [],
        "session_crons": [],
    }
    if agent is None:
        return await run_hooks(toolbox, "Stop", **fields)
    return await run_hooks(toolbox, "SubagentStop", agent.type, agent_transcript_path=agent.transcript_path, **fields)


async def after_failure(toolbox: Toolbox, done: RunDone) -> HookOutcome:
    """Run the hooks for a turn that ended in one of `FAILURES`."""
    return await run_hooks(toolbox, "StopFailure", error=done.error or "unknown", last_assistant_message=done.text)


async def judge_task(toolbox: Toolbox, name: Literal["TaskCreated", "TaskCompleted"], task: Task) -> str:
    """Run the hooks for a task that is created or completed; return why they refuse, or ""."""
    fields = {"task_id": task.id, "task_subject": task.content, "task_description": task.description}
    outcome = await run_hooks(toolbox, name, **fields)
    toolbox.notes.add(outcome)
    if outcome.decision != "block" and not outcome.stop:
        return ""
    return outcome.reason or outcome.stop_reason or f"a {name} hook refused it"


async def before_agent(toolbox: Toolbox) -> HookOutcome:
    """Run the hooks for the start of a sub-agent, whose toolbox this is. Their context is for its first prompt."""
    agent = toolbox.facts.agent
    assert agent is not None, "facts of a sub-agent name it"
    return await run_hooks(toolbox, "SubagentStart", agent.type)


async def before_expansion(toolbox: Toolbox, prompt: str, *, command: str, arguments: str, source: str) -> HookOutcome:
    """Run the hooks for a slash command that becomes a prompt. `block` keeps it from being run."""
    fields = {"command_name": command, "command_args": arguments, "command_source": source, "prompt": prompt}
    return await run_hooks(toolbox, "UserPromptExpansion", command, expansion_type="slash_command", **fields)


async def before_elicitation(
    toolbox: Toolbox, server: str, message: str, *, mode: str, schema: dict[str, Any]
) -> HookOutcome:
    """Run the hooks for a question of an MCP server. `elicitation` of their outcome answers in a person's place."""
    fields = {"mcp_server_name": server, "message": message, "mode": mode, "requested_schema": schema}
    return await run_hooks(toolbox, "Elicitation", server, **fields)


async def after_elicitation(
    toolbox: Toolbox, server: str, *, action: str, content: dict[str, Any] | None, mode: str
) -> HookOutcome:
    """Run the hooks for the answer to such a question, which they may replace."""
    start_hooks(
        toolbox,
        "Notification",
        "elicitation_response",
        message=f"The question of {server} was answered: {action}",
        notification_type="elicitation_response",
    )
    fields = {"mcp_server_name": server, "action": action, "content": content, "mode": mode}
    return await run_hooks(toolbox, "ElicitationResult", server, **fields)


def instructions_loaded(toolbox: Toolbox, path: str, memory_type: str, reason: str, trigger: str = "") -> None:
    """Run the hooks for an instruction file that the model reads. `trigger`: the file that led to it."""
    fields: dict[str, Any] = {"file_path": path, "memory_type": memory_type, "load_reason": reason}
    if trigger:
        fields["trigger_file_path"] = trigger
    start_hooks(toolbox, "InstructionsLoaded", reason, in_order=True, **fields)


def message_shown(toolbox: Toolbox, done: BlockDone) -> None:
    """Run the hooks for a text of the model that people are shown, one text after the other."""
    if isinstance(done.block, Text) and toolbox.hooks.wants("MessageDisplay"):
        start_hooks(
            toolbox,
            "MessageDisplay",
            in_order=True,
            turn_id=toolbox.facts.prompt_id,
            message_id=done.message_id,
            index=done.index,
            final=not done.partial,
            delta=done.block.text,
        )


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
