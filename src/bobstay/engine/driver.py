"""Runs turns of one session: stores each durable event, then lets the loop go on.

The log is the truth. Whatever else keeps state (the fold, the permission policy, the tools' surroundings)
follows it by seeing each event right after it is stored.
"""

import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Any, Protocol

from msgspec.structs import replace

from bobstay.engine.agent import Agent
from bobstay.engine.event_redaction import conceal, concealed_words
from bobstay.engine.limits import UNUSED, Used, tokens_of
from bobstay.engine.loop import run
from bobstay.engine.state import State
from bobstay.engine.steering import Steering
from bobstay.engine.turn_control import TurnControl
from bobstay.engine.turn_hooks import FAILURES, after_failure, called, messages_of, notes_of
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookOutcome, Hooks
from bobstay.model.background_events import BackgroundEnded
from bobstay.model.event import (
    Durable,
    Envelope,
    Event,
    InputDropped,
    InputQueued,
    ModeChanged,
    ModelChanged,
    Prompted,
    RunDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.ids import new_id
from bobstay.model.live_events import LIVE
from bobstay.model.message import Block, text_of
from bobstay.sessions.log import Log, LogError


class LogObserver(Protocol):
    """Something that folds the log in its own way."""

    def apply(self, event: Event) -> None: ...


class Driver:
    """One session's turns, one at a time. `record` is the only way into the log."""

    def __init__(
        self,
        agent: Agent,
        log: Log,
        state: State,
        *,
        hooks: Hooks,
        facts: Callable[[], dict[str, Any]],
        followers: tuple[LogObserver, ...] = (),
    ) -> None:
        self.agent = agent
        self.log = log
        self.state = state
        self.hooks = hooks
        self.facts = facts
        self.followers = followers
        self.opening = NO_OPINION
        """What hooks said when the session began; it goes with the first prompt."""
        self.listeners: list[Callable[[Envelope], None]] = []
        self.take_at_end = False
        """Whether a message that comes during the last answer is still part of the turn, or begins one of its own."""
        self._prompt_id = ""
        self._used = UNUSED
        self._control: TurnControl | None = None

    @property
    def busy(self) -> bool:
        return self._control is not None

    def record(self, event: Durable) -> Envelope:
        """Store an event and let everything that follows the log see it.

        What is about to have effects outside, and what a person said, is on the disk when this returns; the rest has
        left this process and survives its death.
        """
        envelope = self.log.append(event, sync=_must_be_synced(event))
        self.catch_up((event,))
        for listener in self.listeners:
            listener(envelope)
        return envelope

    def catch_up(self, events: Iterable[Durable]) -> None:
        """Let everything that follows the log see what is in it already."""
        for event in events:
            self.state = self.state.apply(event)
            for follower in self.followers:
                follower.apply(event)

    def turn(
        self, blocks: tuple[Block, ...], *, id: str = "", client_id: str = "", waited: float | None = None
    ) -> AsyncGenerator[Event, None]:
        """Work on one prompt until its `RunDone`, which is the last event.

        Without `blocks` the turn is about what the model has not been told yet: see `State.notices`. It has limits of
        its own, unless it is said how many seconds were `waited` for it: then it uses those of the last turn.
        """
        control = TurnControl(self._steering, take_at_end=self.take_at_end)
        # Looked at now: what is queued before the first event is pulled came later than this prompt.
        earlier = self._earlier(id)
        used = UNUSED if waited is None else replace(self._used, seconds=self._used.seconds + waited)
        return self._alone(control, self._turn(blocks, id or new_id(), client_id, control, earlier, used), used)

    def take_up(self) -> AsyncGenerator[Event, None]:
        """Go on with a turn that a crash cut off, until its `RunDone`. What may have had effects is not done again."""
        control = TurnControl(self._steering, take_at_end=self.take_at_end)
        return self._alone(control, self._played(control, taken_up=True), UNUSED)

    async def _alone(
        self, control: TurnControl, turn: AsyncGenerator[Event, None], used: Used
    ) -> AsyncGenerator[Event, None]:
        """Play a turn to its end or until its time is over; `used` is what earlier turns took of its limits."""
        assert not self.busy, "one turn at a time: queue what comes meanwhile"
        self._control = control
        began, limit = time.monotonic(), self.agent.limits.seconds
        try:
            with control.time_limit(None if limit is None else limit - used.seconds):
                async with aclosing(turn) as events:
                    async for event in events:
                        yield event
        except LogError as error:
            yield RunDone("failed", text=str(error), error="log")
        finally:
            self._control = None
            seconds = used.seconds + time.monotonic() - began
            self._used = Used(used.steps + self.state.steps, used.tokens + tokens_of(self.state), seconds)

    def queue(self, event: InputQueued) -> None:
        """Keep a message that came while the session is busy. It is on disk when this returns."""
        self.record(replace(event, blocks=concealed_words(event.blocks, "human", self.agent.toolbox.mask)))

    def drop(self, id: str) -> None:
        self.record(InputDropped(id))

    def interrupt(self) -> bool:
        """End the running turn; False if none runs."""
        if self._control is None:
            return False
        self._control.abort()
        return True

    def set_mode(self, mode: str) -> ModeChanged:
        event = ModeChanged(mode)
        self.record(event)
        return event

    def set_model(self, model: str) -> ModelChanged:
        event = ModelChanged(model, previous=self.state.model)
        self.record(event)
        if self._control is not None:
            self._control.model = model  # a turn under way has a state of its own
        return event

    def turn_facts(self) -> dict[str, Any]:
        """What hooks are told of the turn, beside the facts of the session."""
        facts: dict[str, Any] = {"prompt_id": self._prompt_id} if self._prompt_id else {}
        if self._control is not None and self.agent.effort is not None:
            facts["effort"] = {"level": self.agent.effort}
        return facts

    async def before_end(self, last_text: str, *, again: bool) -> HookOutcome:
        """Let the hooks of the end of a run have their say (`engine.ports.Finish`)."""
        if not self.hooks.wants("Stop"):
            return NO_OPINION
        fields = {
            "stop_hook_active": again,
            "last_assistant_message": last_text,
            "background_tasks": _background_tasks(self.agent.toolbox.surroundings.parts.get("shells")),
            "session_crons": [],
        }
        return await self.hooks.run(HookCall("Stop", {**self.facts(), **fields}, tool_use_id=new_id()))

    async def _turn(
        self,
        blocks: tuple[Block, ...],
        id: str,
        client_id: str,
        control: TurnControl,
        earlier: frozenset[str],
        used: Used,
    ) -> AsyncGenerator[Event, None]:
        mask = self.agent.toolbox.mask
        blocks = concealed_words(blocks, "human", mask)
        self._prompt_id = id
        outcome = NO_OPINION
        if blocks:
            submitted = called(self.agent.toolbox, "UserPromptSubmit", prompt=text_of(blocks))
            outcome = await control.unless_aborted(submitted) or NO_OPINION
        blocked = outcome.decision == "block"
        opening, self.opening = self.opening, NO_OPINION
        prompt = [Prompted(id, blocks, client_id=client_id, blocked=blocked)] if blocks else []
        # A turn that asks no model takes up nothing else: what came meanwhile has a turn of its own.
        ends_here = blocked or outcome.stop
        assert prompt or self._before(earlier), "a turn has something to tell the model"
        if not ends_here:
            steering = Steering(self.agent.toolbox, control)
            async with aclosing(steering.events(lambda: self._before(earlier))) as before:
                async for words in before:
                    kept = conceal(words, mask)
                    self.record(kept)
                    yield kept
            if steering.stopped is not None:
                ends_here, outcome = True, replace(outcome, stop=True, stop_reason=steering.stopped)
        said: list[Durable] = [*prompt, *notes_of(opening, "SessionStart")]
        said += notes_of(outcome if not blocked else replace(outcome, context=()), "UserPromptSubmit")
        for words in said:
            kept = conceal(words, mask)
            self.record(kept)
            yield kept
        # A fallback lasts one turn: a passing overload must not change the session's model for good.
        model = self.state.chosen or self.agent.model
        if self.state.model and self.state.model != model:
            restored = ModelChanged(self._name(model), "restored", self.state.model)
            self.record(restored)
            yield restored
        started = TurnStarted(self.state.turn + 1, model, self.state.mode, self._window(model))
        self.record(started)
        yield started
        if ends_here:
            done = conceal(RunDone("prompt_blocked", text=_refusal(outcome, text_of(blocks))), mask)
            self.record(done)
            yield done
            return
        async with aclosing(self._played(control, used=used)) as events:
            async for event in events:
                yield event

    async def _played(
        self, control: TurnControl, *, taken_up: bool = False, used: Used = UNUSED
    ) -> AsyncGenerator[Event, None]:
        """The loop's events, stored. Hooks hear of a failure of the model's service before the turn is over."""
        async with aclosing(run(self.agent, self.state, control, taken_up=taken_up, earlier=used)) as events:
            async for event in events:
                if isinstance(event, RunDone) and event.ending in FAILURES:
                    outcome = await control.unless_aborted(after_failure(self.agent.toolbox, event)) or NO_OPINION
                    for note in messages_of(outcome):
                        kept = conceal(note, self.agent.toolbox.mask)
                        self.record(kept)
                        yield kept
                if not isinstance(event, LIVE):
                    self.record(event)
                yield event

    def _steering(self) -> tuple[Prompted, ...]:
        steers = (entry for entry in self.state.queued if entry.how == "steer")
        return (*self._notices(), *map(_steer, steers))

    def _notices(self) -> list[Prompted]:
        if not self.state.notices:
            return []
        from bobstay.engine.background_notice import notice

        return [notice(ended) for ended in self.state.notices]

    def _name(self, model: str) -> str:
        """What people know a model by: `default` says nothing to them."""
        try:
            return self.agent.models.route(model).name
        except ValueError:  # the loop says what is wrong with it
            return model

    def _window(self, model: str) -> int:
        try:
            return self.agent.models.route(model).window
        except ValueError:
            return 0

    def _earlier(self, id: str) -> frozenset[str]:
        """The messages that were queued before the prompt `id`; before a new prompt, all that are there."""
        ids = [entry.id for entry in self.state.queued]
        return frozenset(ids[: ids.index(id)] if id in ids else ids)

    def _before(self, earlier: frozenset[str]) -> list[Prompted]:
        """What came before the prompt and was not taken up: the model reads it first."""
        steers = (entry for entry in self.state.queued if entry.id in earlier and entry.how == "steer")
        return [*self._notices(), *map(_steer, steers)]


def _steer(queued: InputQueued) -> Prompted:
    return Prompted(queued.id, queued.blocks, client_id=queued.client_id, why="steer")


def _must_be_synced(event: Durable) -> bool:
    match event:
        case ToolStarted(read_only=read_only):
            return not read_only
        case Prompted(origin=origin):
            return origin == "human"
        case InputQueued() | RunDone() | BackgroundEnded():
            return True
        case _:
            return False


def _refusal(outcome: HookOutcome, prompt: str) -> str:
    if outcome.decision == "block":
        return f"UserPromptSubmit operation blocked by hook:\n{outcome.reason}\n\nOriginal prompt: {prompt}"
    return f"Operation stopped by hook: {outcome.stop_reason or 'no reason was given'}"


def _background_tasks(shells: Any) -> list[dict[str, Any]]:
    running = [job for job in shells.jobs.values() if not job.finished.done()] if shells is not None else []
    return [
        {"id": job.id, "type": "shell", "status": "running", "command": job.command, "description": job.description}
        for job in running
    ]
