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
from bobstay.engine.agent import Agent, RequestBuilder
from bobstay.engine.event_redaction import redact_event
from bobstay.engine.limits import UNUSED, Used, find_limit, out_of_time
from bobstay.engine.live_redaction import LiveRedaction
from bobstay.engine.recovery import ERROR_NAMES, FallBack, GiveUp, Prune, Recovery, Wait, after_error, pruned_note
from bobstay.engine.repeat_guard import REMINDER, RepeatGuard
from bobstay.engine.state import State
from bobstay.engine.steering import Steering
from bobstay.engine.step import Step
from bobstay.engine.turn_control import TurnControl
from bobstay.engine.turn_hooks import after_batch, after_stop, notes_for_result
from bobstay.engine.turn_state import TurnState
from bobstay.hooks.hook_event import NO_OPINION
from bobstay.model.event import BlockDone, Ending, Event, ModelChanged, Noted, Prompted, Pruned, RunDone
from bobstay.model.ids import new_id
from bobstay.model.live_events import LIVE, Requesting, Retrying
from bobstay.model.message import Stop, Text, ToolCall
from bobstay.providers.base import ProviderError

log = logging.getLogger(__name__)


async def run_turn(
    agent: Agent, state: State, control: TurnControl, *, resumed: bool = False, earlier: Used = UNUSED
) -> AsyncGenerator[Event, None]:
    """Run one turn to its end, yielding each event before acting on it. The last one is `RunDone`.

    `resumed`: the turn began before a crash; its open calls come first. `earlier`: what is used of its limits.
    """
    turn = TurnState(
        time.monotonic(), Recovery(), RepeatGuard(), RequestBuilder(), _call_ids(state), list(agent.fallbacks), earlier
    )
    live = LiveRedaction(agent.toolbox.redactor)
    while True:
        if control.model:
            state, control.model = msgspec.structs.replace(state, model=control.model), ""
        elapsed = time.monotonic() - turn.began
        limit = find_limit(agent.limits, state, spent_before=agent.spent_before, elapsed=elapsed, earlier=turn.earlier)
        if control.aborted:
            step_events = _interrupted(agent, state, control, turn, "streaming")
        elif resumed:
            step_events = _resumed(agent, state, control, turn)
        elif limit is not None:
            step_events = _one(_done(state, turn, limit.ending, limit.text))
        else:
            step_events = _step(agent, state, control, turn)
        resumed = False
        async with aclosing(step_events):
            async for unredacted in step_events:
                if isinstance(unredacted, LIVE):
                    if (shown := live.redact(unredacted)) is not None:
                        yield shown
                    continue
                if isinstance(unredacted, BlockDone) and (rest := live.flush(unredacted)) is not None:
                    yield rest
                event = redact_event(unredacted, agent.toolbox.redactor)
                state = state.apply(event)
                yield event
                if isinstance(event, RunDone):
                    return


async def _step(agent: Agent, state: State, control: TurnControl, turn: TurnState) -> AsyncGenerator[Event, None]:
    """Run one step and what follows from it: the next step, recovery, or the end of the turn."""
    route = agent.models.route(state.model or agent.model)
    yield Requesting(route.name)
    forced = agent.toolbox.structured_tool if turn.force_structured else ""
    request = turn.requests.request(agent, state, route, forced_tool=forced)
    log.debug("requesting an answer from %s: %d messages", route.name, len(request.messages))
    step = Step(agent, route, request, control, turn.call_ids)
    async with aclosing(step.events()) as events:
        async for event in events:
            if not isinstance(event, LIVE):
                state = state.apply(event)
            yield event
    if step.aborted:
        follow_up = _interrupted(agent, state, control, turn, step.aborted)
    elif step.error is not None and not step.pipelines:
        follow_up = _after_fault(agent, state, control, turn, step)
    elif step.pipelines:
        turn.recovery.reset()
        follow_up = _after_tools(agent, state, control, turn, step)
    else:
        follow_up = _after_answer(agent, state, control, turn, step.stop)
    async for event in follow_up:
        yield event


async def _resumed(agent: Agent, state: State, control: TurnControl, turn: TurnState) -> AsyncGenerator[Event, None]:
    """Resume after a crash: run open calls, continue after a complete answer, or ask for the rest of a partial one."""
    if state.user_blocks or not state.has_answer or any(isinstance(block, ToolCall) for block in state.answer):
        follow_up = _open_calls(agent, state, control, turn)
    elif state.ended is not None and not state.ended.broken:
        follow_up = _after_answer(agent, state, control, turn, state.ended.stop)
    else:
        follow_up = _one(_harness(reminders.BROKEN_OFF, "broken_off"))
    async for event in follow_up:
        yield event


async def _open_calls(agent: Agent, state: State, control: TurnControl, turn: TurnState) -> AsyncGenerator[Event, None]:
    """Run the calls that a crash left open, and continue as after any answer with calls."""
    from bobstay.engine.resume import ResumedStep

    step = ResumedStep(agent, agent.models.route(state.model or agent.model), state, control, turn.call_ids)
    async with aclosing(step.events()) as events:
        async for event in events:
            if not isinstance(event, LIVE):
                state = state.apply(event)
            yield event
    if step.aborted:
        follow_up = _interrupted(agent, state, control, turn, step.aborted)
    else:
        follow_up = _after_tools(agent, state, control, turn, step)
    async for event in follow_up:
        yield event


# ---------------------------------------------------------------- after the model's answer


async def _after_answer(
    agent: Agent, state: State, control: TurnControl, turn: TurnState, stop: Stop | None
) -> AsyncGenerator[Event, None]:
    """Handle an answer without tool calls. It may be cut off, and hooks may keep the turn from ending."""
    if stop == "max_tokens":
        yield _cut_off(agent, state, turn) or _harness(reminders.CONTINUE, "output_limit")
        return
    if stop == "pause":
        yield _harness(reminders.PAUSED, "pause")
        return
    if stop == "refusal":
        text = state.last_text or "The model refused to answer this."
        yield _done(state, turn, "refused", text, stop="refusal", error="invalid_request")
        return
    if not state.has_answer:
        for event in _after_empty_answer(state, turn):
            yield event
        return
    turn.recovery.reset()
    if control.take_at_end:
        steering = Steering(agent.toolbox, control)
        async with aclosing(steering.events(control.take)) as events:
            async for event in events:
                yield event
        if steering.stopped is not None:
            yield _done(state, turn, "hook_stopped", steering.stopped or state.last_text, stop=stop or "end_turn")
        if steering.has_input or steering.stopped is not None:
            return
    if agent.structured:
        turn.force_structured = turn.can_force
        yield _unstructured(agent, state, turn, 1) or _harness(reminders.WANT_STRUCTURED, "structured_output")
        return
    outcome = await control.unless_aborted(agent.finish.before_end(state.last_text, again=turn.stop_blocks.active))
    if outcome is None:
        return
    continues, notes = after_stop(outcome, turn.stop_blocks, agent.limits.stop_blocks)
    for event in notes:
        yield event
    if not continues:
        ending: Ending = "stop_hook_prevented" if outcome.stop else "completed"
        yield _done(state, turn, ending, state.last_text, stop=stop or "end_turn")


def _after_empty_answer(state: State, turn: TurnState) -> list[Event]:
    """Retry with a reminder: models sometimes answer nothing, mostly after tool results, and then continue."""
    turn.recovery.empty += 1
    count = turn.recovery.empty
    if count > reminders.EMPTY_RETRIES:
        return [_done(state, turn, "api_error", reminders.EMPTY_ANSWERS.format(count=count), error="server_error")]
    retrying = Retrying(count, reminders.EMPTY_RETRIES, 0.0, None, "server_error", "The model gave an empty answer.")
    return [retrying, _harness(reminders.EMPTY_ANSWER, "empty_answer")]


def _cut_off(agent: Agent, state: State, turn: TurnState) -> RunDone | None:
    """Count an answer that the output limit cut off; return the end of the turn after too many in a row."""
    turn.requests.longer = True
    turn.recovery.continuations += 1
    if turn.recovery.continuations <= agent.limits.continuations:
        return None
    text = f"The answer was cut off at the output limit {turn.recovery.continuations} times in a row."
    return _done(state, turn, "max_output", text, stop="max_tokens", error="max_output_tokens")


# ---------------------------------------------------------------- after tools


async def _after_tools(
    agent: Agent, state: State, control: TurnControl, turn: TurnState, step: Step
) -> AsyncGenerator[Event, None]:
    for pipeline in step.pipelines:
        if pipeline.structured is not None:
            text = msgspec.json.encode(pipeline.structured).decode()
            done = _done(state, turn, "completed", text, stop="end_turn")
            yield msgspec.structs.replace(done, structured=pipeline.structured)
            return
        if pipeline.ending == "deferred":
            done = _done(state, turn, "deferred", state.last_text, stop="tool_deferred")
            yield msgspec.structs.replace(done, deferred=pipeline.call)
            return
        if pipeline.ending == "hook_stopped":
            yield _done(state, turn, "hook_stopped", pipeline.reason or state.last_text, stop="tool_use")
            return
        if pipeline.ending == "auto_denied":
            yield _done(state, turn, "auto_denied", pipeline.reason, stop="tool_use")
            return
    turn.repeats.add(step.finished)
    turn.force_structured = False
    turn.stop_blocks.in_a_row = 0
    failures = step.structured_failures
    if failures and (ended := _unstructured(agent, state, turn, failures)):
        yield ended
        return
    if step.stop == "max_tokens":
        if ended := _cut_off(agent, state, turn):
            yield ended
            return
    else:
        turn.recovery.continuations = 0
    async for event in _before_next(agent, state, control, turn, step):
        yield event
        if isinstance(event, RunDone):
            return
    steering = Steering(agent.toolbox, control)
    async with aclosing(steering.events(control.take)) as events:
        async for event in events:
            yield event
    if steering.has_input:
        turn.repeats.reset()
    if steering.stopped is not None:
        yield _done(state, turn, "hook_stopped", steering.stopped or state.last_text, stop="tool_use")


def _unstructured(agent: Agent, state: State, turn: TurnState, failures: int) -> RunDone | None:
    """Count answers without valid structured output; return the end of the turn after too many."""
    turn.structured_failures += failures
    if turn.structured_failures <= agent.limits.structured_retries:
        return None
    text = f"The model gave no structured answer that fits the schema in {turn.structured_failures} attempts."
    return _done(state, turn, "max_structured_retries", text)


async def _before_next(
    agent: Agent, state: State, control: TurnControl, turn: TurnState, step: Step
) -> AsyncGenerator[Event, None]:
    """Run the PostToolBatch hooks, and check for repetition."""
    outcome = await control.unless_aborted(after_batch(agent.toolbox, step.pipelines)) or NO_OPINION
    for note in notes_for_result(outcome, "PostToolBatch"):
        yield note
    if outcome.stop or outcome.decision == "block":
        reason = outcome.stop_reason or outcome.reason
        yield _done(state, turn, "hook_stopped", reason or state.last_text, stop="tool_use")
        return
    async for event in _after_repeats(state, turn):
        yield event


async def _after_repeats(state: State, turn: TurnState) -> AsyncGenerator[Event, None]:
    action, what, count = turn.repeats.check()
    if action == "stop":
        text = f"Stopped: the model made the same {what} {count} times in a row with the same result."
        yield _done(state, turn, "repeating", text)
    elif action == "remind":
        yield _harness(REMINDER.format(what=what, count=count), "repeat")


# ---------------------------------------------------------------- when things go wrong


async def _after_fault(
    agent: Agent, state: State, control: TurnControl, turn: TurnState, step: Step
) -> AsyncGenerator[Event, None]:
    error = step.error
    assert error is not None
    log.debug("the model request failed: %s (%s, status %s)", error, error.kind, error.status)
    if turn.force_structured and error.kind == "invalid_request":
        # Some models do not support a forced tool call: retry without it.
        turn.force_structured = turn.can_force = False
        return
    action = after_error(error, turn.recovery, agent.retry, state, turn.fallbacks)
    match action:
        case Wait(seconds=seconds):
            name, attempt = ERROR_NAMES[error.kind], turn.recovery.attempts
            yield Retrying(attempt, agent.retry.attempts, seconds, error.status, name, str(error))
            await control.sleep(seconds)
        case FallBack(model=model):
            turn.fallbacks.remove(model)
            previous = agent.models.route(state.model or agent.model).name
            yield ModelChanged(model, "fallback", previous)
        case Prune(call_ids=call_ids, tokens=tokens, images=images):
            turn.requests.reset()
            yield Pruned(call_ids, tokens, images)
            yield Noted(pruned_note(action), "warning")
        case GiveUp(ending=ending, text=text):
            yield _failed(state, turn, ending, text, error)
            return
    if step.kept and not control.aborted:
        yield _harness(reminders.BROKEN_OFF, "broken_off")


async def _interrupted(
    agent: Agent, state: State, control: TurnControl, turn: TurnState, where: str
) -> AsyncGenerator[Event, None]:
    if control.expired:
        limit = out_of_time(agent.limits)
        yield _harness(f"[Stopped: {limit.text}]", "time_limit")
        yield _done(state, turn, limit.ending, limit.text)
        return
    yield _harness(reminders.INTERRUPTED_TOOL if where == "tools" else reminders.INTERRUPTED, "interrupt")
    ending: Ending = "interrupted_tools" if where == "tools" else "interrupted_streaming"
    yield _done(state, turn, ending, "")


async def _one(event: Event) -> AsyncGenerator[Event, None]:
    yield event


# ---------------------------------------------------------------- building events


def _harness(text: str, why: str) -> Prompted:
    return Prompted(new_id(), (Text(text),), "harness", why=why)


def _failed(state: State, turn: TurnState, ending: Ending, text: str, error: ProviderError) -> RunDone:
    done = _done(state, turn, ending, text, stop="stop_sequence", error=ERROR_NAMES[error.kind])
    return msgspec.structs.replace(done, status=error.status)


def _done(state: State, turn: TurnState, ending: Ending, text: str, *, stop: str = "", error: str = "") -> RunDone:
    elapsed = int((time.monotonic() - turn.began) * 1000)
    return RunDone(ending, text=text, stop=stop, error=error, turns=state.steps, duration_ms=elapsed)


def _call_ids(state: State) -> set[str]:
    return {block.id for message in state.messages for block in message.blocks if isinstance(block, ToolCall)}
