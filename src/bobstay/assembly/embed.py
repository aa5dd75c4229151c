"""The Python API for embedding bobstay: a `Session`, and `query` for a single prompt."""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bobstay.assembly.build_session import open_session
from bobstay.assembly.conversation import Conversation
from bobstay.assembly.session import AgentSession
from bobstay.assembly.session_totals import Totals
from bobstay.config.options import Options, check_limits
from bobstay.engine.engine_ports import Answer
from bobstay.engine.state import State
from bobstay.hooks.hook_event import Hooks
from bobstay.model.event import Event, InteractionOpened, RunDone
from bobstay.model.message import Block
from bobstay.tools.base import Tool

Asker = Callable[[InteractionOpened], Answer | bool | Awaitable[Answer | bool]]


class Session:
    """A conversation with an agent in one directory. Use it as an async context manager.

        async with Session(model="demo", cwd="project") as session:
            async for event in session.run("fix the failing test"):
                ...

    Args:
        cwd: The working directory; the current directory by default.
        model: A model name or `provider/name`; `demo` needs no key. The settings decide by default.
        tools: Tools of your own, in addition to the built-in ones: made with `@tool`, or subclasses of `Tool`.
        builtin: Names of the built-in tools to offer; all of them by default.
        ask: Answers approval requests, plan reviews and questions of the model: True, False or an `Answer`. Without
            it, calls that need an approval are denied.
        hooks: Called at the events of `bobstay.hooks.hook_event`.
        more: Any other field of `bobstay.config.options.Options`, such as `permission_mode`, `allowed_tools`,
            `max_turns`, `max_budget_usd`, `system_prompt`, `json_schema`, `resume` or `settings`.

    Raises:
        ValueError: a limit such as `max_turns`, `max_seconds` or `max_budget_usd` is zero or negative.
    """

    def __init__(
        self,
        *,
        cwd: str | PathLike[str] | None = None,
        model: str | None = None,
        tools: Iterable[Tool[Any]] = (),
        builtin: Iterable[str] | None = None,
        ask: Asker | None = None,
        hooks: Hooks | None = None,
        **more: Any,
    ) -> None:
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in more.items()
        }
        self._options = Options(
            cwd=None if cwd is None else fspath(cwd),
            model=model,
            tools=None if builtin is None else tuple(builtin),
            **given,
        )
        check_limits(self._options)
        self._tools = tuple(tools)
        self._ask = ask
        self._hooks = hooks
        self._conversation: Conversation | None = None

    async def __aenter__(self) -> Self:
        approver = _CallbackApprover(self._ask) if self._ask is not None else None
        self._conversation = Conversation(await open_session(self._options, approver, self._hooks, tools=self._tools))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.close()

    def run(self, prompt: str | tuple[Block, ...], *, verbatim: bool = False) -> AsyncGenerator[Event, None]:
        """Work on a prompt. Yields each event as it happens; the last one is `RunDone`.

        Files that it mentions as `@path` are attached, unless it is `verbatim`. After `/clear` the session has
        another `id`.
        """
        return self._running.run(prompt, take_at_end=True, verbatim=verbatim)

    async def run_background(self, seconds: float = 600.0) -> AsyncGenerator[Event, None]:
        """Wait for background commands, and yield the events of the turns in which the model is told that they ended.

        Ends when nothing is left to wait for, or `seconds` after the last answer. Servers are not waited for: see
        `BackgroundCommands.wait`.
        """
        while await self._opened.background.wait(seconds):
            async with aclosing(self._opened.run_notices(take_at_end=True)) as events:
                async for event in events:
                    yield event

    def to_background(self, call_id: str = "") -> tuple[str, ...]:
        """Move the command of a call, or all commands that calls wait for, to the background. Returns their ids."""
        return self._opened.background.to_background(call_id)

    def steer(self, message: str, *, verbatim: bool = False) -> str:
        """Send a message to a busy session, which reads it after the running tool. Returns the message's id."""
        return self._opened.steer(message, verbatim=verbatim)

    async def clear(self) -> None:
        """Begin a new conversation, as `/clear` does; not during a turn. The old one is kept under its id."""
        if self._opened.busy:
            raise RuntimeError("A turn runs: interrupt it first, and let it end.")
        await self._running.clear()

    async def interrupt(self) -> None:
        """Interrupt the running turn. Its calls are stopped and answered; the session stays usable."""
        await self._opened.interrupt()

    async def set_mode(self, mode: str) -> None:
        """Change the permission mode: default, acceptEdits, plan, auto, dontAsk or bypassPermissions."""
        await self._opened.set_mode(mode)

    async def set_model(self, model: str | None) -> None:
        """Use another model from the next model call on; None returns to the first one."""
        await self._opened.set_model(model)

    def set_output_style(self, name: str) -> None:
        """Use another output style from the next prompt on. Raises `ValueError` if there is none of that name."""
        self._opened.set_output_style(name)

    @property
    def id(self) -> str:
        """Pass it as `resume=` to continue later. `/clear` begins a session with another id."""
        return self._opened.id

    @property
    def cwd(self) -> Path:
        return self._opened.cwd

    @property
    def state(self) -> State:
        """The fold of the session's events: messages, cost, task list."""
        return self._opened.state

    @property
    def totals(self) -> Totals:
        return self._opened.totals()

    @property
    def warnings(self) -> list[str]:
        return self._opened.warnings

    @property
    def _opened(self) -> AgentSession:
        return self._running.session

    @property
    def _running(self) -> Conversation:
        if self._conversation is None:
            raise RuntimeError("The session is not open: use it as `async with Session(...) as session`.")
        return self._conversation


async def query(prompt: str, **options: Any) -> AsyncGenerator[Event, None]:
    """Run one prompt and yield its events. Takes the arguments of `Session`.

    async for event in query("what does this project do?", model="demo"):
        if isinstance(event, RunDone):
            print(event.text)
    """
    async with Session(**options) as session:
        done: Event | None = None
        async for done in session.run(prompt):
            yield done
        if isinstance(done, RunDone) and done.ending == "completed":
            async for event in session.run_background():
                yield event


class _CallbackApprover:
    can_ask = True

    def __init__(self, ask: Asker) -> None:
        self._ask = ask

    async def ask(self, opened: InteractionOpened) -> Answer:
        answer = self._ask(opened)
        decision = await answer if inspect.isawaitable(answer) else answer
        return decision if isinstance(decision, Answer) else Answer(bool(decision))
