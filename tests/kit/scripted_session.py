"""A session with all its real parts, a scripted model over real HTTP, and a scripted person."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bobstay.assembly.background_commands import BackgroundCommands
from bobstay.engine.agent import Agent, RequestSettings, RetryPolicy, StreamTimeouts
from bobstay.engine.auto_mode import AutoModeApproval
from bobstay.engine.driver import Driver
from bobstay.engine.engine_ports import Answer, Route
from bobstay.engine.journal import Journal
from bobstay.engine.limits import Limits
from bobstay.engine.state import State
from bobstay.engine.tool_environment import ToolEnvironment
from bobstay.engine.toolbox import Toolbox
from bobstay.engine.turn_hooks import judge_task
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookFacts, HookName, HookOutcome
from bobstay.http.client import HttpClient
from bobstay.model.event import Envelope, Event, InteractionOpened, ModeChanged, RunDone, SessionStarted
from bobstay.model.message import Block, Text, Usage
from bobstay.permissions.access import Effect
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import Rule
from bobstay.providers.anthropic import Anthropic
from bobstay.providers.base import Provider
from bobstay.providers.chat_completions import Chat
from bobstay.providers.gemini import Gemini
from bobstay.providers.responses import Responses
from bobstay.providers.thinking import Effort, ThinkingMode
from bobstay.redaction.redactor import Redactor
from bobstay.sessions.log import Log
from bobstay.sessions.log_store import LogStore
from bobstay.tools.base import Tool, ToolServices
from bobstay.tools.shell_session import ShellSession
from bobstay.tools.tool_registry import ToolRegistry
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


class ScriptedHooks:
    """Hooks given as functions by the name of their moment."""

    def __init__(self, **answers: Callable[[HookCall], HookOutcome]) -> None:
        self.calls: list[HookCall] = []
        self.answers = answers

    def wants(self, name: HookName, subject: str = "") -> bool:
        return name in self.answers

    async def run(self, call: HookCall) -> HookOutcome:
        self.calls.append(call)
        return self.answers[call.name](call) if call.name in self.answers else NO_OPINION


class ScriptedRoutes:
    """Every model is the scripted one; the name is passed on. `vendor` says whose API it speaks."""

    def __init__(
        self, url: str, vendor: str = "anthropic", *, local: bool = False, adapter: "Adapter | None" = None
    ) -> None:
        self.http = HttpClient()
        self.local = local
        self._provider = adapter(self.http, url) if adapter else speaking(vendor, self.http, url)

    def route(self, name: str) -> Route:
        return Route(name, name, self._provider, 200_000, 64_000, price, local=self.local)


def speaking(vendor: str, http: HttpClient, url: str) -> Provider:
    match vendor:
        case "anthropic":
            return Anthropic(http, base_url=url, api_key="dummy")
        case "responses":
            return Responses(http, base_url=f"{url}/v1", api_key="dummy")
        case "gemini":
            return Gemini(http, base_url=url, api_key="dummy")
        case _:
            return Chat(http, base_url=f"{url}/v1", api_key="dummy", name=vendor)


Adapter: TypeAlias = Callable[[HttpClient, str], Provider]
"""Makes the adapter for the scripted model at a URL."""


def price(usage: Usage) -> float:
    return (usage.input * 3 + usage.output * 15) / 1e6


class ScriptedSessionOptions(Struct, kw_only=True):
    """What a test wants of its session."""

    mode: str = "default"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    person: Person | None = None
    hooks: ScriptedHooks | None = None
    limits: Limits = Limits()
    tools: tuple[Tool[Any], ...] = ()
    fallbacks: tuple[str, ...] = ()
    timeouts: StreamTimeouts = StreamTimeouts()
    schema: dict[str, Any] | None = None
    retry: RetryPolicy = RetryPolicy(attempts=3, first=0.01)
    session: str = SESSION
    vendor: str = "anthropic"
    """Whose API the model speaks."""
    local: bool = False
    adapter: Adapter | None = None
    """Made for the server's URL; replaces `vendor` where that is not exact enough."""
    model: str = "claude-test"
    effort: Effort | None = None
    thinking: ThinkingMode = "off"
    max_output: int | None = None
    auto: AutoModeApproval | None = None
    take_at_end: bool = False
    task_tools: bool = False
    wrap_log: Callable[[Log], Log] | None = None
    """Replaces the log of the session by another that has its entries."""


class ScriptedSession:
    """One session in one folder. `run` plays a prompt to its end; `options` are those of `ScriptedSessionOptions`."""

    def __init__(self, server: ModelServer, folder: Path, **options: Any) -> None:
        wanted = ScriptedSessionOptions(**options)
        self.server = server
        self.folder = folder
        self._take_at_end = wanted.take_at_end
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        self.store = LogStore(str(folder / "sessions"))
        self.person = wanted.person or Person()
        self.hooks = wanted.hooks or ScriptedHooks()
        rules = _rules(wanted)
        self.policy = Policy(wanted.mode, rules, root=str(self.work), home=str(folder), can_bypass=True)
        self.shells = ShellSession()
        log, branch = self._log(wanted)
        self.log = wanted.wrap_log(log) if wanted.wrap_log is not None else log
        self.journal = Journal(self.log, _restored(branch, wanted))
        self.tool_environment = self._make_tool_environment(wanted)
        for envelope in branch:
            self.tool_environment.apply(envelope.event)
        self.routes = ScriptedRoutes(server.url, wanted.vendor, local=wanted.local, adapter=wanted.adapter)
        self.events: list[Event] = []
        self.background = BackgroundCommands(self.journal, self.shells)
        self.journal.observers += (self.policy, self.tool_environment, self.background)
        if wanted.auto is not None:
            self.journal.observers.append(wanted.auto)
        self.driver = Driver(self._agent(wanted), self.journal)
        self.background.record_lost()

    def _make_tool_environment(self, wanted: "ScriptedSessionOptions") -> ToolEnvironment:
        return ToolEnvironment(
            session_id=wanted.session,
            root=self.work,
            directories=(self.work,),
            spill=self.folder / "spill",
            environment={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8"},
            services=ToolServices(
                shells=self.shells,
                schema=wanted.schema,
                denied_reads=lambda: self.policy.read_filter,
                tasks=lambda: self.journal.state.tasks,
                last_task_id=lambda: self.journal.state.last_task_id,
                is_unread=self.journal.is_unread,
            ),
        )

    def _log(self, wanted: "ScriptedSessionOptions") -> tuple[Log, list[Envelope]]:
        self.warnings: list[str] = []
        if not self.store.exists(wanted.session):
            return self.store.create(wanted.session, SessionStarted(str(self.work), "test")), []
        log, branch, self.warnings = self.store.open(wanted.session)
        return log, branch

    def _agent(self, wanted: "ScriptedSessionOptions") -> Agent:
        available: set[Any] = {"person"} if self.person.can_ask else set()
        if wanted.task_tools:
            available.add("tasks")
        registry = ToolRegistry.load(available=available, schema=wanted.schema, extra=wanted.tools, entry_points=False)
        facts = {"session_id": wanted.session, "cwd": str(self.work)}
        toolbox = Toolbox(
            registry,
            judge=self.policy,
            approver=self.person,
            hooks=self.hooks,
            tool_environment=self.tool_environment,
            facts=HookFacts(lambda: {**facts, "permission_mode": self.policy.mode}),
            redactor=Redactor(),
            auto=wanted.auto,
        )
        self.tool_environment.services.judge_task = partial(judge_task, toolbox)
        return Agent(
            model=wanted.model,
            effort=wanted.effort,
            settings=RequestSettings(wanted.thinking),
            max_output=wanted.max_output,
            models=self.routes,
            system=("You are a test.",),
            toolbox=toolbox,
            session_id=wanted.session,
            fallbacks=wanted.fallbacks,
            limits=wanted.limits,
            retry=wanted.retry,
            timeouts=wanted.timeouts,
            structured=wanted.schema is not None,
        )

    async def run(self, prompt: str | tuple[Block, ...], on: Callable[[Event], None] | None = None) -> RunDone:
        """Play a prompt to its end; `on` sees each event as it happens."""
        blocks: tuple[Block, ...] = (Text(prompt),) if isinstance(prompt, str) else prompt
        return await self.play(self.driver.turn(blocks, take_at_end=self._take_at_end), on)

    async def play(self, events: AsyncGenerator[Event, None], on: Callable[[Event], None] | None = None) -> RunDone:
        done: RunDone | None = None
        self.events = []
        async for event in events:
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


def _restored(branch: list[Envelope], wanted: "ScriptedSessionOptions") -> State:
    if not branch:
        return State().apply(ModeChanged(wanted.mode))
    state = State()
    for envelope in branch:
        state = state.apply(envelope.event)
    # As with --model: the model of this start counts, not that of an earlier one.
    return replace(state, model="", chosen="") if wanted.adapter else state


def _rules(wanted: "ScriptedSessionOptions") -> tuple[Rule, ...]:
    lists = ((wanted.allow, Effect.ALLOW), (wanted.deny, Effect.DENY), (wanted.ask, Effect.ASK))
    return tuple(Rule.parse(text, effect, "cli") for texts, effect in lists for text in texts)


MakeSession: TypeAlias = Callable[..., ScriptedSession]
"""Makes a session with these options (`ScriptedSessionOptions`); it ends with the test."""
