"""The hooks of a turn that belong to no single tool call: at the prompt, after a batch of calls, at the end."""

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookName, HookOutcome
from bobstay.model.event import Durable, Event, Noted, Prompted, RunDone
from bobstay.model.ids import new_id
from bobstay.model.message import Text
from bobstay.model.session_events import SessionChanged

if TYPE_CHECKING:
    from bobstay.engine.pipeline import CallPipeline
    from bobstay.engine.toolbox import Toolbox

FAILURES = frozenset({"api_error", "prompt_too_long", "max_output", "refused"})
"""Endings by which the model's service failed: `StopFailure` is told then, and `Stop` is not."""
CAPPED = (
    "A hook kept the turn from ending {count} times in a row; it ends anyway. A Stop hook should let it end while "
    "stop_hook_active is true. CLAUDE_CODE_STOP_HOOK_BLOCK_CAP sets another limit."
)
_LONGEST_TITLE = 200


class StopHookBlocks(Struct):
    """How often hooks have sent the model back to work in this turn."""

    active: bool = False
    in_a_row: int = 0

    def more(self, limit: int) -> bool:
        """Count one more; False if it is one too many."""
        self.active = True
        self.in_a_row += 1
        return self.in_a_row <= limit


async def called(toolbox: "Toolbox", name: HookName, **fields: Any) -> HookOutcome:
    """What the hooks of an event without a subject say."""
    if not toolbox.hooks.wants(name):
        return NO_OPINION
    return await toolbox.hooks.run(HookCall(name, {**toolbox.facts(), **fields}, tool_use_id=new_id()))


async def after_batch(toolbox: "Toolbox", settlements: "list[CallPipeline]") -> HookOutcome:
    if not toolbox.hooks.wants("PostToolBatch"):
        return NO_OPINION
    calls = []
    for settlement in settlements:
        prepared, done = settlement.prepared, settlement.done
        given = {"tool_use_id": settlement.call.id, "tool_response": done.reply.text if done is not None else ""}
        name = prepared.tool.name if prepared else settlement.call.name
        calls.append({"tool_name": name, "tool_input": (prepared or settlement.call).input, **given})
    return await called(toolbox, "PostToolBatch", tool_calls=calls)


async def after_failure(toolbox: "Toolbox", done: RunDone) -> HookOutcome:
    """For a turn that ended in one of `FAILURES`."""
    return await called(toolbox, "StopFailure", error=done.error or "unknown", last_assistant_message=done.text)


def after_stop(outcome: HookOutcome, stops: StopHookBlocks, limit: int) -> tuple[bool, list[Event]]:
    """Whether the model goes on after `Stop` hooks had their say, and what is told of it."""
    told: list[Event] = [*messages_of(outcome)]
    if outcome.stop:
        return False, [*told, *([Noted(f"Stop hook: {outcome.stop_reason}", "notice")] if outcome.stop_reason else ())]
    words = context_of(outcome, "Stop")
    if outcome.decision == "block":
        words.append(Prompted(new_id(), (Text(f"Stop hook feedback:\n{outcome.reason}"),), "hook", why="stop_hook"))
    if not words:
        return False, told
    if stops.more(limit):
        return True, [*told, *words]
    return False, [*told, Noted(CAPPED.format(count=stops.in_a_row), "warning")]


def messages_of(outcome: HookOutcome) -> list[Noted]:
    """What the person reads of an outcome."""
    return [Noted(message.text, message.level, message.tag) for message in outcome.messages]


def context_of(outcome: HookOutcome, hook: str) -> list[Prompted]:
    """What the model is to read beside a prompt or result."""
    return [_reminder(f"{hook} hook additional context: {text}", hook) for text in outcome.context if text]


def notes_of(outcome: HookOutcome, hook: str) -> list[Durable]:
    """All that is said of an outcome beside a prompt."""
    title = [SessionChanged(title=outcome.title[:_LONGEST_TITLE])] if outcome.title.strip() else []
    return [*context_of(outcome, hook), *messages_of(outcome), *title]


def beside(outcome: HookOutcome, hook: str, *, objects: bool = False) -> list[Event]:
    """All that is said of an outcome beside a result; with `objects` also the reason against what is done already."""
    objection = f"{hook} hook blocking error: {outcome.reason}"
    objected = objects and outcome.decision == "block" and bool(outcome.reason)
    return [*context_of(outcome, hook), *([_reminder(objection, hook)] if objected else ()), *messages_of(outcome)]


def _reminder(text: str, hook: str) -> Prompted:
    return Prompted(new_id(), (Text(f"<system-reminder>\n{text}\n</system-reminder>"),), "hook", why=hook)
