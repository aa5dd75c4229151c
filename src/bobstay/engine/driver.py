"""Runs the turns of one session: each durable event is in its journal before the loop continues."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from functools import partial
from typing import Literal

from msgspec.structs import replace

from bobstay.engine.agent import Agent
from bobstay.engine.event_redaction import redact_event, redact_prompt
from bobstay.engine.hook_notes import messages_of
from bobstay.engine.journal import Journal
from bobstay.engine.limits import UNUSED, Used, steps_of, tokens_of
from bobstay.engine.loop import run_turn
from bobstay.engine.prompt_expansion import ExpandedPrompt, ExpandPrompt
from bobstay.engine.reminders import MESSAGE
from bobstay.engine.state import State
from bobstay.engine.steering import Steering, attached_files
from bobstay.engine.turn_control import TurnControl
from bobstay.engine.turn_hooks import FAILURES, after_failure, notes_for_prompt, run_hooks, start_hooks
from bobstay.hooks.hook_event import NO_OPINION, HookOutcome
from bobstay.model.event import (
    Durable,
    Event,
    InputDropped,
    InputQueued,
    ModeChanged,
    ModelChanged,
    Origin,
    Prompted,
    RunDone,
    TurnStarted,
)
from bobstay.model.ids import new_id
from bobstay.model.live_events import LIVE
from bobstay.model.message import Block, text_of
from bobstay.sessions.log import LogError

IDLE = "idle_prompt"
"""What the matcher of a Notification hook sees."""
IDLE_AFTER = 60.0


class Driver:
    """Runs one session's turns, one at a time."""

    def __init__(
        self,
        agent: Agent,
        journal: Journal,
        session_start: HookOutcome = NO_OPINION,
        opening: Iterable[Prompted] = (),
        *,
        origin: Literal["human", "harness"] = "human",
    ) -> None:
        """`session_start` is the outcome of the SessionStart hooks, which is added to the first prompt.

        `origin` says who writes the prompts: a person, or for a sub-agent the agent that started it.
        """
        self.agent = agent
        self._origin: Literal["human", "harness"] = origin
        self.opening = list(opening)
        """What the model is told before the next prompt, such as instruction files."""
        self.journal = journal
        self._session_start = session_start
        self._used = UNUSED
        self._control: TurnControl | None = None
        self.prepare: Callable[[TurnControl], Awaitable[None]] | None = None
        """What a turn waits for before it begins, such as servers. It is part of the turn: an interrupt ends it."""
        self._idling: asyncio.TimerHandle | None = None
        self.idle_after = IDLE_AFTER
        """Seconds without a turn after which Notification hooks run."""

    @property
    def state(self) -> State:
        return self.journal.state

    @property
    def busy(self) -> bool:
        return self._control is not None

    def turn(  # noqa: PLR0913 - what a prompt is made of
        self,
        blocks: tuple[Block, ...],
        *,
        id: str = "",
        client_id: str = "",
        waited: float | None = None,
        take_at_end: bool = False,
        verbatim: bool = False,
        sender: str = "",
        expand: ExpandPrompt | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Work on one prompt until its `RunDone`, which is the last event.

        Without `blocks` the turn passes on `State.notices` to the model. It has limits of its own, unless `waited`
        says how many seconds were spent waiting for it: then it shares the limits of the last turn. With `take_at_end`
        a message that arrives during the last answer belongs to the turn; else it starts a turn of its own. `verbatim`:
        see `Prompted`. `sender`: see `InputQueued`. `expand` returns what a prompt that calls a command stands for.
        """
        control = TurnControl(self._steering, take_at_end=take_at_end)
        # Determined now: messages queued from here on are newer than this prompt.
        earlier = self._queued_before(id)
        used = UNUSED if waited is None else replace(self._used, seconds=self._used.seconds + waited)
        why = MESSAGE if sender else "" if self._origin == "human" else "agent"
        origin: Origin = "harness" if sender else self._origin
        prompt = Prompted(id or new_id(), blocks, origin, client_id, why, verbatim=verbatim)
        return self._run_exclusively(control, self._turn(prompt, control, earlier, used, expand), used)

    def queued_turn(self, queued: InputQueued, expand: ExpandPrompt | None = None) -> AsyncGenerator[Event, None]:
        """Work on a queued message in a turn of its own."""
        return self.turn(
            queued.blocks,
            id=queued.id,
            client_id=queued.client_id,
            verbatim=queued.verbatim,
            sender=queued.sender,
            expand=expand,
        )

    def resume_turn(self) -> AsyncGenerator[Event, None]:
        """Resume a turn after a crash, until its `RunDone`. Calls that may have had effects are not run again."""
        control = TurnControl(self._steering)
        return self._run_exclusively(control, self._run(control, resumed=True), UNUSED)

    async def _run_exclusively(
        self, control: TurnControl, turn: AsyncGenerator[Event, None], used: Used
    ) -> AsyncGenerator[Event, None]:
        """Run a turn to its end or until its time is over; `used` is what earlier turns used of its limits."""
        assert not self.busy, "one turn at a time: queue what comes meanwhile"
        self._control = control
        self._stop_idling()
        self.agent.toolbox.facts.effort = self.agent.effort or self.agent.settings.effort
        began, limit = time.monotonic(), self.agent.limits.seconds
        try:
            with control.time_limit(None if limit is None else limit - used.seconds):
                async with aclosing(turn) as events:
                    if self.prepare is not None:
                        await self.prepare(control)
                    async for event in events:
                        yield event
        except LogError as error:
            yield RunDone("failed", text=str(error), error="log")
        finally:
            self._control = None
            self.agent.toolbox.end_turn()
            self.agent.toolbox.facts.effort = None
            seconds = used.seconds + time.monotonic() - began
            self._used = Used(used.steps + steps_of(self.state), used.tokens + tokens_of(self.state), seconds)
            self._begin_idling()

    def close(self) -> None:
        """End the running turn, and tell nobody anymore that none runs."""
        self.interrupt()
        self._stop_idling()

    def _begin_idling(self) -> None:
        """Run Notification hooks when nobody has said anything for a while."""
        if self._origin == "human" and self.agent.toolbox.hooks.wants("Notification", IDLE):
            message = "bobstay is waiting for your input"
            tell = partial(start_hooks, self.agent.toolbox, "Notification", IDLE)
            loop = asyncio.get_running_loop()
            self._idling = loop.call_later(self.idle_after, partial(tell, message=message, notification_type=IDLE))

    def _stop_idling(self) -> None:
        if self._idling is not None:
            self._idling.cancel()
            self._idling = None

    def queue(self, event: InputQueued) -> None:
        """Queue a message that arrived while the session is busy. It is on disk when this returns."""
        self.journal.record(replace(event, blocks=redact_prompt(event.blocks, "human", self.agent.toolbox.redactor)))

    def drop(self, id: str) -> None:
        self.journal.record(InputDropped(id))

    def interrupt(self) -> bool:
        """End the running turn; False if none runs."""
        if self._control is None:
            return False
        self._control.abort()
        return True

    def set_mode(self, mode: str) -> ModeChanged:
        event = ModeChanged(mode)
        self.journal.record(event)
        return event

    def set_model(self, model: str) -> ModelChanged:
        event = ModelChanged(model, previous=self.state.model)
        self.journal.record(event)
        return event

    async def _turn(
        self,
        given: Prompted,
        control: TurnControl,
        earlier: frozenset[str],
        used: Used,
        expand: ExpandPrompt | None = None,
    ) -> AsyncGenerator[Event, None]:
        blocks = redact_prompt(given.blocks, given.origin, self.agent.toolbox.redactor)
        self.agent.toolbox.facts.prompt_id = given.id
        outcome = NO_OPINION
        if blocks and given.origin == "human":
            submitted = run_hooks(self.agent.toolbox, "UserPromptSubmit", prompt=text_of(blocks))
            outcome = await control.unless_aborted(submitted) or NO_OPINION
        blocked = outcome.decision == "block"
        session_start, self._session_start = self._session_start, NO_OPINION
        prompt: list[Durable] = [replace(given, blocks=blocks, blocked=blocked)] if blocks else []
        expanded: ExpandedPrompt | None = None
        # A turn without a model request reads no other input: that gets a turn of its own.
        ends_here = blocked or outcome.stop
        assert prompt or self._pending_input(earlier), "a turn has something to tell the model"
        if not ends_here:
            opening, self.opening = self.opening, []
            for reminder in opening:
                yield await self._store(reminder)
            steering = Steering(self.agent.toolbox, control)
            async with aclosing(steering.events(lambda: self._pending_input(earlier))) as before:
                async for entry in before:
                    yield await self._store(entry)
            if steering.stopped is not None:
                ends_here, outcome = True, replace(outcome, stop=True, stop_reason=steering.stopped)
            prompt, expanded = await self._prepare(replace(given, blocks=blocks), control, expand)
        inputs: list[Durable] = [*prompt, *notes_for_prompt(session_start, "SessionStart")]
        inputs += notes_for_prompt(outcome if not blocked else replace(outcome, context=()), "UserPromptSubmit")
        for entry in inputs:
            yield await self._store(entry)
        # A fallback lasts one turn: a temporary overload must not change the session's model for good.
        model = self.state.chosen or self.agent.model
        if self.state.model and self.state.model != model:
            yield await self._store(ModelChanged(self._name(model), "restored", self.state.model))
        yield await self._store(TurnStarted(self.state.turn + 1, model, self.state.mode, self._window(model)))
        if ends_here:
            yield await self._store(RunDone("prompt_blocked", text=_refusal(outcome, text_of(blocks))))
            return
        if expanded is not None and expanded.answer is not None:
            done = RunDone("completed", text=expanded.answer, local=True, local_command=expanded.local_command)
            yield await self._store(done)
            return
        async with aclosing(self._run(control, used=used, expanded=expanded)) as events:
            async for event in events:
                yield event

    async def _prepare(
        self, given: Prompted, control: TurnControl, expand: ExpandPrompt | None
    ) -> tuple[list[Durable], ExpandedPrompt | None]:
        """Return a prompt as it is stored, with what precedes it, and what it stands for if it calls a command."""
        if not given.blocks:
            return [], None
        expanded = None
        if expand is not None and not given.verbatim:
            expanded = await control.unless_aborted(expand(given.blocks))
        if expanded is None:
            return [*await attached_files(self.agent.toolbox, control, given), given], None
        prompt = replace(given, blocks=expanded.blocks, typed=text_of(given.blocks))
        return [*expanded.before, prompt], expanded

    async def _run(
        self,
        control: TurnControl,
        *,
        resumed: bool = False,
        used: Used = UNUSED,
        expanded: ExpandedPrompt | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run the loop and store its events. StopFailure hooks run before the end of the turn is stored."""
        agent, model = self.agent, ""
        if expanded is not None:
            agent, model = replace(agent, effort=expanded.effort or agent.effort), expanded.model
            agent.toolbox.grant_for_turn(expanded.rules)
        turn = run_turn(agent, self.journal, control, resumed=resumed, earlier=used, model=model)
        async with aclosing(turn) as events:
            async for event in events:
                if isinstance(event, RunDone) and event.ending in FAILURES:
                    outcome = await control.unless_aborted(after_failure(self.agent.toolbox, event)) or NO_OPINION
                    for note in messages_of(outcome):
                        yield await self._store(note)
                if not isinstance(event, LIVE):
                    await self.journal.commit(event)
                yield event

    async def _store(self, event: Durable) -> Durable:
        """Store an event without its secrets, and return it as stored."""
        stored = redact_event(event, self.agent.toolbox.redactor)
        await self.journal.commit(stored)
        return stored

    def _steering(self) -> tuple[Prompted, ...]:
        """Input for the model that it has not read yet: ends of background commands, and steering messages."""
        steers = [self._steer(entry) for entry in self.state.queued if entry.how == "steer"]
        if not self.state.notices:
            return tuple(steers)
        from bobstay.engine.background_notice import notice

        return (*map(notice, self.state.notices), *steers)

    def _steer(self, queued: InputQueued) -> Prompted:
        origin: Origin = "harness" if queued.sender else self._origin
        why = MESSAGE if queued.sender else "steer"
        return Prompted(queued.id, queued.blocks, origin, queued.client_id, why=why, verbatim=queued.verbatim)

    def _name(self, model: str) -> str:
        """The name of a model for people, to whom `default` says nothing."""
        try:
            return self.agent.models.route(model).name
        except ValueError:  # the loop reports the error
            return model

    def _window(self, model: str) -> int:
        try:
            return self.agent.models.route(model).window
        except ValueError:
            return 0

    def _queued_before(self, id: str) -> frozenset[str]:
        """Ids of the messages queued before the prompt `id`; of all of them, if the prompt is new."""
        ids = [entry.id for entry in self.state.queued]
        return frozenset(ids[: ids.index(id)] if id in ids else ids)

    def _pending_input(self, earlier: frozenset[str]) -> list[Prompted]:
        """Unread input from before the prompt, which comes first."""
        later = {entry.id for entry in self.state.queued} - earlier
        return [prompted for prompted in self._steering() if prompted.id not in later]


def _refusal(outcome: HookOutcome, prompt: str) -> str:
    if outcome.decision == "block":
        return f"UserPromptSubmit operation blocked by hook:\n{outcome.reason}\n\nOriginal prompt: {prompt}"
    return f"Operation stopped by hook: {outcome.stop_reason or 'no reason was given'}"
