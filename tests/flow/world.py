"""A session with all its real parts, a scripted model over real HTTP, and a person who answers as told."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bobstay.engine.agent import Agent, Patience
from bobstay.engine.driver import Driver
from bobstay.engine.limits import Limits
from bobstay.engine.ports import Answer, Route
from bobstay.engine.recover import RetryPolicy
from bobstay.engine.state import State
from bobstay.engine.surroundings import Surroundings
from bobstay.engine.toolbox import Toolbox
from bobstay.hooks.event import NO_OPINION, HookCall, HookName, HookOutcome
from bobstay.model.event import Event, InteractionOpened, RunDone, SessionStarted
from bobstay.model.message import Block, Text, Usage
from bobstay.permissions.access import Verdict
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import Rule
from bobstay.providers.anthropic import Anthropic
from bobstay.providers.http import HttpClient
from bobstay.sessions.store import Store
from bobstay.tools.base import Tool
from bobstay.tools.shelf import Shelf
from bobstay.tools.shells import Shells
from tests.modelserver.server import ModelServer

SESSION = "00000000-0000-4000-8000-000000000001"


class Person:
    """Answers what is asked by a function; counts and remembers the questions."""

    def __init__(self, answer: Callable[[InteractionOpened], Answer] | None = None) -> None:
        self.can_ask = answer is not None
        self.asked: list[InteractionOpened] = []
        self.withdrawn: list[str] = []
        self.hold: asyncio.Event | None = None
        self._answer = answer

    async def ask(self, opened: InteractionOpened) -> Answer:
        assert self._answer is not None
        self.asked.append(opened)
        if self.hold is not None:
            try:
                await self.hold.wait()
            except asyncio.CancelledError:
                self.withdrawn.append(opened.id)
                raise
        return self._answer(opened)


class Listeners:
    """Hooks given as functions by the name of their moment."""

    def __init__(self, **answers: Callable[[HookCall], HookOutcome]) -> None:
        self.calls: list[HookCall] = []
        self._answers = answers

    def wants(self, name: HookName, subject: str = "") -> bool:
        return name in self._answers

    async def run(self, call: HookCall) -> HookOutcome:
        self.calls.append(call)
        return self._answers[call.name](call) if call.name in self._answers else NO_OPINION


class Routes:
    """Every model is the scripted one; the name is passed on."""

    def __init__(self, url: str) -> None:
        self.http = HttpClient()
        self._provider = Anthropic(self.http, base_url=url, api_key="dummy")

    def route(self, name: str) -> Route:
        return Route(name, name, self._provider, 200_000, 64_000, price)


def price(usage: Usage) -> float:
    return (usage.input * 3 + usage.output * 15) / 1e6


class World:
    """One session in one folder. `run` plays a prompt to its end."""

    def __init__(
        self,
        server: ModelServer,
        folder: Path,
        *,
        mode: str = "default",
        allow: tuple[str, ...] = (),
        deny: tuple[str, ...] = (),
        ask: tuple[str, ...] = (),
        person: Person | None = None,
        hooks: Listeners | None = None,
        limits: Limits | None = None,
        tools: tuple[Tool[Any], ...] = (),
        fallbacks: tuple[str, ...] = (),
        patience: Patience | None = None,
        schema: dict[str, Any] | None = None,
        retry: RetryPolicy | None = None,
        session: str = SESSION,
    ) -> None:
        self.server = server
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        self.store = Store(str(folder / "sessions"))
        self.person = person or Person()
        self.hooks = hooks or Listeners()
        self.policy = Policy(
            mode, self._rules(allow, deny, ask), root=str(self.work), home=str(folder), can_bypass=True
        )
        self.surroundings = Surroundings(
            session_id=session,
            root=self.work,
            directories=(self.work,),
            spill=folder / "spill",
            environment={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"},
        )
        self.shells = Shells()
        self.surroundings.parts["shells"] = self.shells
        self.surroundings.parts["schema"] = schema
        available = {"person"} if self.person.can_ask else set()
        shelf = Shelf.load(available=available, schema=schema, extra=tools, entry_points=False)  # type: ignore[arg-type]
        toolbox = Toolbox(
            shelf,
            judge=self.policy,
            gate=self.person,
            hooks=self.hooks,
            surroundings=self.surroundings,
            facts=lambda: {"session_id": session, "cwd": str(self.work), "permission_mode": self.policy.mode},
        )
        self.routes = Routes(server.url)
        agent = Agent(
            model="claude-test",
            models=self.routes,
            system=("You are a test.",),
            toolbox=toolbox,
            finish=self,
            session_id=session,
            fallbacks=fallbacks,
            limits=limits or Limits(),
            retry=retry or RetryPolicy(attempts=3, first=0.01),
            patience=patience or Patience(),
            structured=schema is not None,
        )
        state = State()
        self.warnings: list[str] = []
        if self.store.exists(session):
            log, branch, self.warnings = self.store.open(session)
        else:
            log, branch = self.store.create(session, SessionStarted(str(self.work), "test")), []
        for envelope in branch:
            state = state.apply(envelope.event)
            self.policy.apply(envelope.event)
            self.surroundings.apply(envelope.event)
        self.log = log
        self.driver = Driver(
            agent,
            log,
            state,
            hooks=self.hooks,
            facts=toolbox.facts,
            followers=(self.policy, self.surroundings),
        )
        self.driver.state = self.driver.state.apply(_mode(mode)) if not state.mode else state
        self.events: list[Event] = []

    async def before_end(self, last_text: str, *, again: bool) -> HookOutcome:
        return await self.driver.before_end(last_text, again=again)

    async def run(self, prompt: str | tuple[Block, ...], on: Callable[[Event], None] | None = None) -> RunDone:
        """Play a prompt to its end; `on` sees each event as it happens."""
        blocks: tuple[Block, ...] = (Text(prompt),) if isinstance(prompt, str) else prompt
        done: RunDone | None = None
        self.events = []
        async for event in self.driver.turn(blocks):
            self.events.append(event)
            if on is not None:
                on(event)
            if isinstance(event, RunDone):
                done = event
        assert done is not None, "a turn always ends with RunDone"
        return done

    def of(self, *kinds: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kinds)]

    async def close(self) -> None:
        await self.shells.close()
        await self.routes.http.close()
        self.log.close()

    @staticmethod
    def _rules(allow: tuple[str, ...], deny: tuple[str, ...], ask: tuple[str, ...]) -> tuple[Rule, ...]:
        lists = ((allow, Verdict.ALLOW), (deny, Verdict.DENY), (ask, Verdict.ASK))
        return tuple(Rule.parse(text, verdict, "cli") for texts, verdict in lists for text in texts)


def _mode(mode: str) -> Event:
    from bobstay.model.event import ModeChanged

    return ModeChanged(mode)
