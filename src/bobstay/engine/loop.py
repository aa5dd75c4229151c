"""The agent loop: requests an answer, runs its tool calls, and repeats until there are none.

It has side effects only through the agent's provider and toolbox. A generator continues only when its consumer asks for
the next event, so a consumer that stores each event first has it on disk before anything that follows from it.
"""

import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from bobstay.engine import reminders
from bobstay.engine.agent import Agent
from bobstay.engine.event_redaction import redact_event
from bobstay.engine.limits import UNUSED, Used, find_limit, out_of_time
from bobstay.engine.live_redaction import LiveRedaction
from bobstay.engine.repeat_guard import REMINDER
from bobstay.engine.state import State
from bobstay.engine.steering import Steering
from bobstay.engine.step import Step
from bobstay.engine.turn_control import TurnControl
from bobstay.engine.turn_hooks import after_stop, before_end, message_shown, notes_for_result, run_hooks
from bobstay.engine.turn_state import StateSource, TurnState
from bobstay.hooks.hook_event import NO_OPINION
from bobstay.model.event import BlockDone, Ending, Event, RunDone
from bobstay.model.live_events import LIVE, Requesting, Retrying
from bobstay.model.message import Stop, ToolCall

log = logging.getLogger(__name__)


async def run_turn(
    agent: Agent,
    session: StateSource,
    control: TurnControl,
    *,
    resumed: bool = False,
    earlier: Used = UNUSED,
    model: str = "",
) -> AsyncGenerator[Event, None]:
    """Run one turn to its end, yielding each event before acting on it. The last one is `RunDone`.

    The consumer folds each durable event into the state of `session` before it asks for the next one.

    `resumed`: the turn began before a crash; its open calls come first. `earlier`: what is used of its limits. `model`:
    another one for this turn.
    """
    turn = TurnState(agent, session, control, _call_ids(session.state), list(agent.fallbacks), model, earlier)
    live = LiveRedaction(agent.toolbox.redactor)
    while True:
        async with aclosing(_next(turn, resumed=resumed)) as events:
            async for unredacted in events:
                if isinstance(unredacted, LIVE):
                    if (shown := live.redact(unredacted)) is not None:
                        yield shown
                    continue
                if isinstance(unredacted, BlockDone) and (rest := live.flush(unredacted)) is not None:
                    yield rest
                for note in agent.toolbox.notes.take() if agent.toolbox.notes else ():
                    yield redact_event(note, agent.toolbox.redactor)
                event = redact_event(unredacted, agent.toolbox.redactor)
                yield event
                if isinstance(event, BlockDone):
                    message_shown(agent.toolbox, event)
                if isinstance(event, RunDone):
                    return
        resumed = False


def _next(turn: TurnState, *, resumed: bool) -> AsyncGenerator[Event, None]:
    """Choose what comes next in a turn."""
    agent, elapsed = turn.agent, time.monotonic() - turn.began
    spent = agent.spent() if agent.spent is not None else turn.state.cost - agent.spent_before
    limit = find_limit(agent.limits, turn.state, spent=spent, elapsed=elapsed, earlier=turn.earlier)
    if turn.control.aborted:
        return _interrupted(turn, "streaming")
    if resumed:
        return _resumed(turn)
    if limit is not None:
        return _one(turn.done(limit.ending, limit.text))
    return _step(turn)


async def _step(turn: TurnState) -> AsyncGenerator[Event, None]:
    """Run one step and what follows from it: the next step, recovery, or the end of the turn."""
    agent, route = turn.agent, turn.route()
    if agent.toolbox.refresh is not None:
        agent.toolbox.refresh()
    yield Requesting(route.name)
    forced = agent.toolbox.structured_tool if turn.force_structured else ""
    request = turn.requests.request(agent, turn.state, route, forced_tool=forced)
    log.debug("requesting an answer from %s: %d messages", route.name, len(request.messages))
    step = Step(agent, route, request, turn.control, turn.call_ids)
    async with aclosing(step.events()) as events:
        async for event in events:
            yield event
    if step.aborted:
        follow_up = _interrupted(turn, step.aborted)
    elif step.error is not None and not step.pipelines:
        from bobstay.engine.recovery import after_fault

        follow_up = after_fault(turn, step, step.error)
    elif step.pipelines:
        turn.recovery.reset()
        follow_up = _after_tools(turn, step)
    else:
        follow_up = _after_answer(turn, step.stop)
    async with aclosing(follow_up) as events:
        async for event in events:
            yield event


async def _resumed(turn: TurnState) -> AsyncGenerator[Event, None]:
    """Resume after a crash: run open calls, continue after a complete answer, or ask for the rest of a partial one."""
    state = turn.state
    if state.user_blocks or not state.has_answer or any(isinstance(block, ToolCall) for block in state.answer):
        follow_up = _open_calls(turn)
    elif state.ended is not None and not state.ended.broken:
        follow_up = _after_answer(turn, state.ended.stop)
    else:
        follow_up = _one(reminders.remind(reminders.BROKEN_OFF, "broken_off"))
    async with aclosing(follow_up) as events:
        async for event in events:
            yield event


async def _open_calls(turn: TurnState) -> AsyncGenerator[Event, None]:
    """Run the calls that a crash left open, and continue as after any answer with calls."""
    from bobstay.engine.resume import ResumedStep

    step = ResumedStep(turn.agent, turn.route(), turn.state, turn.control, turn.call_ids)
    async with aclosing(step.events()) as events:
        async for event in events:
            yield event
    follow_up = _interrupted(turn, step.aborted) if step.aborted else _after_tools(turn, step)
    async with aclosing(follow_up) as events:
        async for event in events:
            yield event


# ---------------------------------------------------------------- after the model's answer


async def _after_answer(turn: TurnState, stop: Stop | None) -> AsyncGenerator[Event, None]:
    """Handle an answer without tool calls. It may be cut off, and hooks may keep the turn from ending."""
    agent, control = turn.agent, turn.control
    if stop == "max_tokens":
        yield _cut_off(turn) or reminders.remind(reminders.CONTINUE, "output_limit")
        return
    if stop == "pause":
        yield reminders.remind(reminders.PAUSED, "pause")
        return
    if stop == "refusal":
        text = turn.state.last_text or "The model refused to answer this."
        yield turn.done("refused", text, stop="refusal", error="invalid_request")
        return
    if not turn.state.has_answer:
        for event in _after_empty_answer(turn):
            yield event
        return
    turn.recovery.reset()
    if control.take_at_end:
        steering = Steering(agent.toolbox, control)
        async with aclosing(steering.events(control.take)) as events:
            async for event in events:
                yield event
        if steering.stopped is not None:
            yield turn.done("hook_stopped", steering.stopped or turn.state.last_text, stop=stop or "end_turn")
        if steering.has_input or steering.stopped is not None:
            return
    if agent.structured:
        turn.force_structured = turn.can_force
        yield _unstructured(turn, 1) or reminders.remind(reminders.WANT_STRUCTURED, "structured_output")
        return
    last_text = turn.state.last_text
    outcome = await control.unless_aborted(before_end(agent.toolbox, last_text, again=turn.stop_blocks.active))
    if outcome is None:
        return
    continues, notes = after_stop(outcome, turn.stop_blocks, agent.limits.stop_blocks)
    for event in notes:
        yield event
    if not continues:
        ending: Ending = "stop_hook_prevented" if outcome.stop else "completed"
        yield turn.done(ending, last_text, stop=stop or "end_turn")


def _after_empty_answer(turn: TurnState) -> list[Event]:
    """Retry with a reminder: models sometimes answer nothing, mostly after tool results, and then continue."""
    turn.recovery.empty += 1
    count = turn.recovery.empty
    if count > reminders.EMPTY_RETRIES:
        return [turn.done("api_error", reminders.EMPTY_ANSWERS.format(count=count), error="server_error")]
    retrying = Retrying(count, reminders.EMPTY_RETRIES, 0.0, None, "server_error", "The model gave an empty answer.")
    return [retrying, reminders.remind(reminders.EMPTY_ANSWER, "empty_answer")]


def _cut_off(turn: TurnState) -> RunDone | None:
    """Count an answer that the output limit cut off; return the end of the turn after too many in a row."""
    turn.requests.longer = True
    turn.recovery.continuations += 1
    if turn.recovery.continuations <= turn.agent.limits.continuations:
        return None
    text = f"The answer was cut off at the output limit {turn.recovery.continuations} times in a row."
    return turn.done("max_output", text, stop="max_tokens", error="max_output_tokens")


# ---------------------------------------------------------------- after tools


async def _after_tools(turn: TurnState, step: Step) -> AsyncGenerator[Event, None]:
    if ended := _ended_by_call(turn, step):
        yield ended
        return
    turn.repeats.add(step.finished)
    turn.force_structured = False
    turn.stop_blocks.in_a_row = 0
    failures = step.structured_failures
    if failures and (ended := _unstructured(turn, failures)):
        yield ended
        return
    if step.stop != "max_tokens":
        turn.recovery.continuations = 0
    elif ended := _cut_off(turn):
        yield ended
        return
    async with aclosing(_before_next(turn, step)) as events:
        async for event in events:
            yield event
            if isinstance(event, RunDone):
                return
    steering = Steering(turn.agent.toolbox, turn.control)
    async with aclosing(steering.events(turn.control.take)) as events:
        async for event in events:
            yield event
    if steering.has_input:
        turn.repeats.reset()
    if steering.stopped is not None:
        yield turn.done("hook_stopped", steering.stopped or turn.state.last_text, stop="tool_use")


def _ended_by_call(turn: TurnState, step: Step) -> RunDone | None:
    """Return the end of the turn if one of the calls asks for it."""
    for pipeline in step.pipelines:
        if pipeline.structured is not None:
            text = msgspec.json.encode(pipeline.structured).decode()
            done = turn.done("completed", text, stop="end_turn")
            return msgspec.structs.replace(done, structured=pipeline.structured)
        if pipeline.ending == "deferred":
            done = turn.done("deferred", turn.state.last_text, stop="tool_deferred")
            return msgspec.structs.replace(done, deferred=pipeline.call)
        if pipeline.ending == "hook_stopped":
            return turn.done("hook_stopped", pipeline.reason or turn.state.last_text, stop="tool_use")
        if pipeline.ending == "auto_denied":
            return turn.done("auto_denied", pipeline.reason, stop="tool_use")
    return None


def _unstructured(turn: TurnState, failures: int) -> RunDone | None:
    """Count answers without valid structured output; return the end of the turn after too many."""
    turn.structured_failures += failures
    if turn.structured_failures <= turn.agent.limits.structured_retries:
        return None
    text = f"The model gave no structured answer that fits the schema in {turn.structured_failures} attempts."
    return turn.done("max_structured_retries", text)


async def _before_next(turn: TurnState, step: Step) -> AsyncGenerator[Event, None]:
    """Run the PostToolBatch hooks, and check for repetition."""
    calls = [pipeline.hook_fields for pipeline in step.pipelines]
    batch = run_hooks(turn.agent.toolbox, "PostToolBatch", tool_calls=calls)
    outcome = await turn.control.unless_aborted(batch) or NO_OPINION
    for note in notes_for_result(outcome, "PostToolBatch"):
        yield note
    if outcome.stop or outcome.decision == "block":
        reason = outcome.stop_reason or outcome.reason
        yield turn.done("hook_stopped", reason or turn.state.last_text, stop="tool_use")
        return
    action, what, count = turn.repeats.check()
    if action == "stop":
        text = f"Stopped: the model made the same {what} {count} times in a row with the same result."
        yield turn.done("repeating", text)
    elif action == "remind":
        yield reminders.remind(REMINDER.format(what=what, count=count), "repeat")


# ---------------------------------------------------------------- the end


async def _interrupted(turn: TurnState, where: str) -> AsyncGenerator[Event, None]:
    if turn.control.expired:
        limit = out_of_time(turn.agent.limits)
        yield reminders.remind(f"[Stopped: {limit.text}]", "time_limit")
        yield turn.done(limit.ending, limit.text)
        return
    yield reminders.remind(reminders.INTERRUPTED_TOOL if where == "tools" else reminders.INTERRUPTED, "interrupt")
    yield turn.done("interrupted_tools" if where == "tools" else "interrupted_streaming", "")


async def _one(event: Event) -> AsyncGenerator[Event, None]:
    yield event


def _call_ids(state: State) -> set[str]:
    return {block.id for message in state.messages for block in message.blocks if isinstance(block, ToolCall)}
