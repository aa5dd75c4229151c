"""The agent loop: ask the model, do what it asks, until it asks for nothing.

It touches the world only through the agent's provider and toolbox. A generator moves only when pulled, so once
its consumer has stored an event and pulled again, the event is on disk before anything that follows from it.
"""

import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from bobstay.engine import reminders
from bobstay.engine.agent import Agent, RequestBuilder
from bobstay.engine.event_redaction import conceal
from bobstay.engine.limits import UNUSED, Used, out_of_time, reached
from bobstay.engine.live_redaction import LiveRedaction
from bobstay.engine.recovery import ERROR_NAMES, FallBack, GiveUp, Prune, Recovery, Wait, after_error, pruned_note
from bobstay.engine.repeat_guard import REMINDER, RepeatGuard
from bobstay.engine.state import State
from bobstay.engine.steering import Steering
from bobstay.engine.step import Step
from bobstay.engine.turn_control import TurnControl
from bobstay.engine.turn_hooks import after_batch, after_stop, beside
from bobstay.engine.turn_state import TurnState
from bobstay.hooks.hook_event import NO_OPINION
from bobstay.model.event import BlockDone, Ending, Event, ModelChanged, Noted, Prompted, Pruned, RunDone
from bobstay.model.ids import new_id
from bobstay.model.live_events import LIVE, Requesting, Retrying
from bobstay.model.message import Stop, Text, ToolCall
from bobstay.providers.base import ProviderError

log = logging.getLogger(__name__)


async def run(
    agent: Agent, state: State, control: TurnControl, *, taken_up: bool = False, earlier: Used = UNUSED
) -> AsyncGenerator[Event, None]:
    """Drive one turn to its end, yielding each event before acting on it. The last one is `RunDone`.

    `taken_up`: the turn had begun before a crash; its open calls come first. `earlier`: its limits are used so far.
    """
    walk = TurnState(
        time.monotonic(), Recovery(), RepeatGuard(), RequestBuilder(), _used_ids(state), list(agent.fallbacks), earlier
    )
    live = LiveRedaction(agent.toolbox.mask)
    while True:
        if control.model:
            state, control.model = msgspec.structs.replace(state, model=control.model), ""
        elapsed = time.monotonic() - walk.began
        spent = agent.spent_before
        limit = reached(agent.limits, state, spent_before=spent, elapsed=elapsed, earlier=walk.earlier)
        if control.aborted:
            step_events = _interrupted(agent, state, control, walk, "streaming")
        elif taken_up:
            step_events = _resumed(agent, state, control, walk)
        elif limit is not None:
            step_events = _one(_done(state, walk, limit.ending, limit.text))
        else:
            step_events = _step(agent, state, control, walk)
        taken_up = False
        async with aclosing(step_events):
            async for happened in step_events:
                if isinstance(happened, LIVE):
                    if (shown := live.shown(happened)) is not None:
                        yield shown
                    continue
                if isinstance(happened, BlockDone) and (rest := live.rest(happened)) is not None:
                    yield rest
                event = conceal(happened, agent.toolbox.mask)
                state = state.apply(event)
                yield event
                if isinstance(event, RunDone):
                    return


async def _step(agent: Agent, state: State, control: TurnControl, walk: TurnState) -> AsyncGenerator[Event, None]:
    """One model call, and then whatever it leads to: more of the same, recovery, or the end of the turn."""
    route = agent.models.route(state.model or agent.model)
    yield Requesting(route.name)
    forced = agent.toolbox.structured_tool if walk.forcing else ""
    request = walk.sending.request(agent, state, route, forced_tool=forced)
    log.debug("asking %s: %d messages", route.name, len(request.messages))
    step = Step(agent, route, request, control, walk.used)
    async with aclosing(step.events()) as events:
        async for event in events:
            if not isinstance(event, LIVE):
                state = state.apply(event)
            yield event
    if step.aborted:
        follow_up = _interrupted(agent, state, control, walk, step.aborted)
    elif step.error is not None and not step.settlements:
        follow_up = _after_fault(agent, state, control, walk, step)
    elif step.settlements:
        walk.recovery.progressed()
        follow_up = _after_tools(agent, state, control, walk, step)
    else:
        follow_up = _after_answer(agent, state, control, walk, step.stop)
    async for event in follow_up:
        yield event


async def _resumed(agent: Agent, state: State, control: TurnControl, walk: TurnState) -> AsyncGenerator[Event, None]:
    """Go on where a crash came: after an answer as after any other, in the middle of one by asking for the rest."""
    if state.said or not state.answered or any(isinstance(block, ToolCall) for block in state.answer):
        follow_up = _open_calls(agent, state, control, walk)
    elif state.ended is not None and not state.ended.broken:
        follow_up = _after_answer(agent, state, control, walk, state.ended.stop)
    else:
        follow_up = _one(_harness(reminders.BROKEN_OFF, "broken_off"))
    async for event in follow_up:
        yield event


async def _open_calls(agent: Agent, state: State, control: TurnControl, walk: TurnState) -> AsyncGenerator[Event, None]:
    """Answer the calls that a crash left open, and go on as after any answer with calls."""
    from bobstay.engine.resume import ResumedStep

    step = ResumedStep(agent, agent.models.route(state.model or agent.model), state, control, walk.used)
    async with aclosing(step.events()) as events:
        async for event in events:
            if not isinstance(event, LIVE):
                state = state.apply(event)
            yield event
    if step.aborted:
        follow_up = _interrupted(agent, state, control, walk, step.aborted)
    else:
        follow_up = _after_tools(agent, state, control, walk, step)
    async for event in follow_up:
        yield event


# ---------------------------------------------------------------- after the model's answer


async def _after_answer(
    agent: Agent, state: State, control: TurnControl, walk: TurnState, stop: Stop | None
) -> AsyncGenerator[Event, None]:
    """The model asked for nothing more. It may have been cut off; somebody may object to the end."""
    if stop == "max_tokens":
        yield _cut_off(agent, state, walk) or _harness(reminders.CONTINUE, "output_limit")
        return
    if stop == "pause":
        yield _harness(reminders.PAUSED, "pause")
        return
    if stop == "refusal":
        text = state.last_text or "The model refused to answer this."
        yield _done(state, walk, "refused", text, stop="refusal", error="invalid_request")
        return
    if not state.answered:
        for event in _after_nothing(state, walk):
            yield event
        return
    walk.recovery.progressed()
    if control.take_at_end:
        steering = Steering(agent.toolbox, control)
        async with aclosing(steering.events(control.take)) as events:
            async for event in events:
                yield event
        if steering.stopped is not None:
            yield _done(state, walk, "hook_stopped", steering.stopped or state.last_text, stop=stop or "end_turn")
        if steering.heard or steering.stopped is not None:
            return
    if agent.structured:
        walk.forcing = walk.can_force
        yield _unstructured(agent, state, walk, 1) or _harness(reminders.WANT_STRUCTURED, "structured_output")
        return
    outcome = await control.unless_aborted(agent.finish.before_end(state.last_text, again=walk.stops.active))
    if outcome is None:
        return
    goes_on, said = after_stop(outcome, walk.stops, agent.limits.stop_blocks)
    for event in said:
        yield event
    if not goes_on:
        ending: Ending = "stop_hook_prevented" if outcome.stop else "completed"
        yield _done(state, walk, ending, state.last_text, stop=stop or "end_turn")


def _after_nothing(state: State, walk: TurnState) -> list[Event]:
    """Models do this now and then, mostly after tool results. Asked in other words, they go on."""
    walk.recovery.empty += 1
    count = walk.recovery.empty
    if count > reminders.EMPTY_RETRIES:
        return [_done(state, walk, "api_error", reminders.EMPTY_ANSWERS.format(count=count), error="server_error")]
    retrying = Retrying(count, reminders.EMPTY_RETRIES, 0.0, None, "server_error", "The model gave an empty answer.")
    return [retrying, _harness(reminders.EMPTY_ANSWER, "empty_answer")]


def _cut_off(agent: Agent, state: State, walk: TurnState) -> RunDone | None:
    """Count an answer that the output limit cut off; the end of the turn, if there were too many in a row."""
    walk.sending.longer = True
    walk.recovery.continuations += 1
    if walk.recovery.continuations <= agent.limits.continuations:
        return None
    text = f"The answer was cut off at the output limit {walk.recovery.continuations} times in a row."
    return _done(state, walk, "max_output", text, stop="max_tokens", error="max_output_tokens")


# ---------------------------------------------------------------- after tools


async def _after_tools(
    agent: Agent, state: State, control: TurnControl, walk: TurnState, step: Step
) -> AsyncGenerator[Event, None]:
    for settlement in step.settlements:
        if settlement.structured is not None:
            text = msgspec.json.encode(settlement.structured).decode()
            done = _done(state, walk, "completed", text, stop="end_turn")
            yield msgspec.structs.replace(done, structured=settlement.structured)
            return
        if settlement.ending == "deferred":
            done = _done(state, walk, "deferred", state.last_text, stop="tool_deferred")
            yield msgspec.structs.replace(done, deferred=settlement.call)
            return
        if settlement.ending == "hook_stopped":
            yield _done(state, walk, "hook_stopped", settlement.reason or state.last_text, stop="tool_use")
            return
        if settlement.ending == "auto_denied":
            yield _done(state, walk, "auto_denied", settlement.reason, stop="tool_use")
            return
    walk.repeats.add(step.finished)
    walk.forcing = False
    walk.stops.in_a_row = 0
    failures = step.structured_failures
    if failures and (ended := _unstructured(agent, state, walk, failures)):
        yield ended
        return
    if step.stop == "max_tokens":
        if ended := _cut_off(agent, state, walk):
            yield ended
            return
    else:
        walk.recovery.continuations = 0
    async for event in _before_next(agent, state, control, walk, step):
        yield event
        if isinstance(event, RunDone):
            return
    steering = Steering(agent.toolbox, control)
    async with aclosing(steering.events(control.take)) as events:
        async for event in events:
            yield event
    if steering.heard:
        walk.repeats.forget()
    if steering.stopped is not None:
        yield _done(state, walk, "hook_stopped", steering.stopped or state.last_text, stop="tool_use")


def _unstructured(agent: Agent, state: State, walk: TurnState, failures: int) -> RunDone | None:
    """Count answers that are not the structure that was asked for; the end of the turn, if there were too many."""
    walk.structured_failures += failures
    if walk.structured_failures <= agent.limits.structured_retries:
        return None
    text = f"The model gave no structured answer that fits the schema in {walk.structured_failures} attempts."
    return _done(state, walk, "max_structured_retries", text)


async def _before_next(
    agent: Agent, state: State, control: TurnControl, walk: TurnState, step: Step
) -> AsyncGenerator[Event, None]:
    """What hooks say of all calls of an answer together, and whether the same is done over and over."""
    outcome = await control.unless_aborted(after_batch(agent.toolbox, step.settlements)) or NO_OPINION
    for said in beside(outcome, "PostToolBatch"):
        yield said
    if outcome.stop or outcome.decision == "block":
        reason = outcome.stop_reason or outcome.reason
        yield _done(state, walk, "hook_stopped", reason or state.last_text, stop="tool_use")
        return
    async for event in _after_repeats(state, walk):
        yield event


async def _after_repeats(state: State, walk: TurnState) -> AsyncGenerator[Event, None]:
    verdict, what, count = walk.repeats.verdict()
    if verdict == "stop":
        text = f"Stopped: the model made the same {what} {count} times in a row with the same result."
        yield _done(state, walk, "repeating", text)
    elif verdict == "remind":
        yield _harness(REMINDER.format(what=what, count=count), "repeat")


# ---------------------------------------------------------------- when things go wrong


async def _after_fault(
    agent: Agent, state: State, control: TurnControl, walk: TurnState, step: Step
) -> AsyncGenerator[Event, None]:
    error = step.error
    assert error is not None
    log.debug("the model call failed: %s (%s, status %s)", error, error.kind, error.status)
    if walk.forcing and error.kind == "invalid_request":
        # Some models cannot be made to call a tool: ask once more without.
        walk.forcing = walk.can_force = False
        return
    action = after_error(error, walk.recovery, agent.retry, state, walk.fallbacks)
    match action:
        case Wait(seconds=seconds):
            name, reason = ERROR_NAMES[error.kind], str(error)
            yield Retrying(walk.recovery.attempts, agent.retry.attempts, seconds, error.status, name, reason)
            await control.sleep(seconds)
        case FallBack(model=model):
            walk.fallbacks.remove(model)
            previous = agent.models.route(state.model or agent.model).name
            yield ModelChanged(model, "fallback", previous)
        case Prune(call_ids=call_ids, tokens=tokens, images=images):
            walk.sending.forget()
            yield Pruned(call_ids, tokens, images)
            yield Noted(pruned_note(action), "warning")
        case GiveUp(ending=ending, text=text):
            yield _failed(state, walk, ending, text, error)
            return
    if step.kept and not control.aborted:
        yield _harness(reminders.BROKEN_OFF, "broken_off")


async def _interrupted(
    agent: Agent, state: State, control: TurnControl, walk: TurnState, where: str
) -> AsyncGenerator[Event, None]:
    if control.expired:
        over = out_of_time(agent.limits)
        yield _harness(f"[Stopped: {over.text}]", "time_limit")
        yield _done(state, walk, over.ending, over.text)
        return
    text = reminders.INTERRUPTED_TOOL if where == "tools" else reminders.INTERRUPTED
    yield _harness(text, "interrupt")
    ending: Ending = "interrupted_tools" if where == "tools" else "interrupted_streaming"
    yield _done(state, walk, ending, "")


async def _one(event: Event) -> AsyncGenerator[Event, None]:
    yield event


# ---------------------------------------------------------------- words


def _harness(text: str, why: str) -> Prompted:
    return Prompted(new_id(), (Text(text),), "harness", why=why)


def _failed(state: State, walk: TurnState, ending: Ending, text: str, error: ProviderError) -> RunDone:
    done = _done(state, walk, ending, text, stop="stop_sequence", error=ERROR_NAMES[error.kind])
    return msgspec.structs.replace(done, status=error.status)


def _done(state: State, walk: TurnState, ending: Ending, text: str, *, stop: str = "", error: str = "") -> RunDone:
    elapsed = int((time.monotonic() - walk.began) * 1000)
    return RunDone(ending, text=text, stop=stop, error=error, turns=state.steps, duration_ms=elapsed)


def _used_ids(state: State) -> set[str]:
    return {block.id for message in state.messages for block in message.blocks if isinstance(block, ToolCall)}
