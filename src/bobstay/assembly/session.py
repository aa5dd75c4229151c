"""The session interface for front ends and embedding programs: run prompts, stream events, interrupt, read totals."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec.structs import replace

from bobstay.assembly.background_commands import BackgroundCommands
from bobstay.assembly.build_agent import parse_effort
from bobstay.assembly.context_usage import context_usage
from bobstay.assembly.hook_lifecycle import EndReason, HookLifecycle
from bobstay.assembly.prompt_facts import list_library
from bobstay.assembly.server_connector import ServerConnector
from bobstay.assembly.session_library import SessionLibrary
from bobstay.assembly.session_modes import check_mode
from bobstay.assembly.session_totals import Totals, add_up
from bobstay.assembly.start_context import StartContext
from bobstay.assembly.turn_preparation import TurnPreparation
from bobstay.config.options import Options
from bobstay.engine.agent_tree import AgentTree
from bobstay.engine.driver import Driver
from bobstay.engine.prompt_expansion import ExpandedPrompt
from bobstay.engine.reminders import LISTING
from bobstay.engine.state import State
from bobstay.library.command_call import parse_prompt
from bobstay.library.discovery import add_host_agents
from bobstay.library.listing import agent_rows
from bobstay.model.event import Event, InputQueued, ModeChanged
from bobstay.model.ids import new_id
from bobstay.model.message import Block, Text, text_of
from bobstay.model.session_events import SessionChanged
from bobstay.providers.thinking import EFFORTS
from bobstay.redaction.redactor import Redactor

if TYPE_CHECKING:
    from bobstay.assembly.command_runner import CommandRunner
    from bobstay.assembly.session_styles import SessionStyles
    from bobstay.mcp.mcp_servers import McpServers

Closer: TypeAlias = Callable[[], Awaitable[None]]
OpenNext: TypeAlias = Callable[..., Awaitable["AgentSession"]]
"""`open_session` with all but its options and its predecessor given."""
Mirror: TypeAlias = Callable[[], list[tuple[str, list[dict[str, Any]]]]]
"""Returns the lines of transcripts in the SDK's format since the last call, by file."""


class AgentSession:
    """Made by `open_session`. One turn at a time; what comes meanwhile is steered in or queued."""

    def __init__(  # noqa: PLR0913 - the one place where a session gets its parts
        self,
        start: StartContext,
        driver: Driver,
        *,
        styles: "SessionStyles | None",
        background: BackgroundCommands,
        agents: AgentTree,
        library: SessionLibrary,
        commands: "Callable[[], CommandRunner] | None",
        servers: ServerConnector,
        can_bypass: bool,
        lifecycle: HookLifecycle,
        closers: tuple[Closer, ...] = (),
        mirror: Mirror | None = None,
        initial_prompt: str = "",
    ) -> None:
        self._driver = driver
        self._models = start.routes
        self._start = start
        self.options: Options = start.options
        self._styles = styles
        self.background = background
        self.agents = agents
        self.library = library
        self._commands = commands
        self._servers = servers
        self._preparation = TurnPreparation(driver, agents, servers, initial_prompt)
        self.cwd = Path(start.cwd)
        self.can_bypass = can_bypass
        self.warnings = start.warnings
        self.api_key_source = start.key_source
        """The environment variable the key came from."""
        self._lifecycle = lifecycle
        self._closers = closers
        self._mirror = mirror
        self.open_next: OpenNext | None = None
        """Opens a session as this one was opened, with other options."""
        self.host_library: tuple[object, object] = (None, None)
        """What `set_host_library` was given."""

    @property
    def id(self) -> str:
        return self._driver.journal.log.session_id

    @property
    def entry(self) -> str:
        """Id of the last stored entry; while an event is being yielded, the id of that event."""
        return self._driver.journal.log.head

    @property
    def state(self) -> State:
        return self._driver.state

    @property
    def driver(self) -> Driver:
        """For callers that record events of their own, such as the console."""
        return self._driver

    @property
    def model(self) -> str:
        """The model's name as reported to hosts."""
        return self._models.route(self.state.model or self._driver.agent.model).name

    @property
    def mode(self) -> str:
        return self.state.mode

    @property
    def redactor(self) -> Redactor:
        """Removes secrets from what is shown."""
        return self._driver.agent.toolbox.redactor

    @property
    def commands(self) -> tuple[str, ...]:
        """Names of the commands that a person may call."""
        if self._commands is None:
            return ()
        from bobstay.assembly.local_commands import name_commands

        return name_commands(self.library, self._servers.server_rows())

    @property
    def tools(self) -> tuple[str, ...]:
        return self._driver.agent.toolbox.registry.names

    @property
    def output_style(self) -> str:
        return self._styles.current if self._styles is not None else "default"

    def set_output_style(self, name: str) -> str:
        """Use another output style from the next prompt on; returns its name.

        Raises:
            UnknownStyle: there is none of that name.
        """
        styles = self._all_styles()
        self._driver.opening += styles.change(name)
        return styles.current

    def _all_styles(self) -> "SessionStyles":
        if self._styles is None:
            from bobstay.assembly.session_styles import SessionStyles

            self._styles = SessionStyles(self._start, self.library)
        return self._styles

    @property
    def busy(self) -> bool:
        return self._driver.busy

    def run(
        self,
        blocks: tuple[Block, ...] | str,
        *,
        client_id: str = "",
        take_at_end: bool = False,
        verbatim: bool = False,
    ) -> AsyncGenerator[Event, None]:
        """Work on a prompt. Yields every event, durable ones once they are stored, and ends after `RunDone`.

        `take_at_end`: see `Driver.turn`. `verbatim`: what looks like a mention of a file is plain text.
        """
        given: tuple[Block, ...] = (Text(blocks),) if isinstance(blocks, str) else blocks
        turn = self._driver.turn(
            given, client_id=client_id, take_at_end=take_at_end, verbatim=verbatim, expand=self._expand
        )
        return self._preparation.begin(turn, self._expand)

    async def _expand(self, blocks: tuple[Block, ...]) -> ExpandedPrompt | None:
        """Return what a prompt that calls a command stands for; None for any other prompt."""
        if self._commands is None or (call := parse_prompt(blocks)) is None:
            return None
        from bobstay.assembly.local_commands import answer_locally, as_local_answer

        if (answer := await answer_locally(self, call)) is not None:
            return as_local_answer(call, answer)
        expanded = await self._commands().expand(call, text_of(blocks[:1]))
        return replace(expanded, blocks=(*expanded.blocks, *blocks[1:]))

    def steer(
        self,
        blocks: tuple[Block, ...] | str,
        *,
        client_id: str = "",
        how: Literal["steer", "queue"] = "steer",
        verbatim: bool = False,
        sender: str = "",
    ) -> str:
        """Send a message to a busy session: read after the running tool, or queued for the next turn."""
        given: tuple[Block, ...] = (Text(blocks),) if isinstance(blocks, str) else blocks
        if not verbatim and parse_prompt(given) is not None:
            how = "queue"  # a command is a turn of its own
        queued = InputQueued(new_id(), given, how, client_id, verbatim, sender)
        self._driver.queue(queued)
        return queued.id

    def resume_turn(self) -> AsyncGenerator[Event, None]:
        """Resume a turn that a crash interrupted: see `Driver.resume_turn`."""
        return self._driver.resume_turn()

    def next_queued(self) -> InputQueued | None:
        """Return the oldest queued message."""
        return self.state.queued[0] if self.state.queued else None

    def run_queued(self, queued: InputQueued) -> AsyncGenerator[Event, None]:
        return self._preparation.begin(self._driver.queued_turn(queued, self._expand), self._expand)

    def run_notices(self, *, waited: float | None = None, take_at_end: bool = False) -> AsyncGenerator[Event, None]:
        """Tell the model which background commands ended, in a turn without a prompt; see `has_wake_notice`.

        The turn has its own limits, unless `waited` gives the seconds waited: then it shares those of the last turn.
        """
        return self._driver.turn((), waited=waited, take_at_end=take_at_end)

    async def interrupt(self) -> tuple[str, ...]:
        """Interrupt the running turn, if any; its calls are stopped and answered. Returns ids of queued messages."""
        self._driver.interrupt()
        return tuple(queued.client_id or queued.id for queued in self.state.queued)

    async def set_mode(self, mode: str) -> ModeChanged:
        """Change the permission mode, also in the middle of a turn.

        Raises:
            UnknownMode, BypassNotLaunched
        """
        check_mode(mode, can_bypass=self.can_bypass)
        return self._driver.set_mode(mode)

    async def set_model(self, model: str | None) -> str:
        """Use another model from the next model call on; None returns to the one the session started with.

        Raises:
            ValueError: the model cannot be reached; the text says what is missing.
        """
        name = model or self._driver.agent.model
        route = self._models.route(name)
        self._driver.set_model(name)
        return route.name

    @property
    def host_servers(self) -> dict[str, Any]:
        """What `set_host_servers` was given last."""
        return self._servers.of_host

    @property
    def servers(self) -> "McpServers | None":
        """The MCP servers, if there are any."""
        return self._servers.current.servers if self._servers.current is not None else None

    async def set_host_servers(self, entries: dict[str, Any]) -> dict[str, Any]:
        """Connect the servers that a host gives instead of those it gave before; returns what changed."""
        return await self._servers.set_host_servers(entries)

    def require_servers(self) -> "McpServers":
        """The MCP servers, of which there may be none yet."""
        return self._servers.connect().servers

    @property
    def effort(self) -> str:
        return self._driver.agent.settings.effort or ""

    def set_effort(self, level: str) -> None:
        """Set how much the model thinks, from the next model call on.

        Raises:
            ValueError: there is no such level.
        """
        effort = parse_effort(level)
        if effort is None:
            raise ValueError(f"There is no effort {level!r}. It is one of {', '.join(EFFORTS)}.")
        self._driver.agent.settings.effort = effort

    def rename(self, title: str) -> None:
        self._driver.journal.record(SessionChanged(title=title[:200]))

    def set_thinking(self, tokens: int | None) -> None:
        """Limit thinking to so many tokens from the next model call on; None lets the model decide."""
        self._driver.agent.settings.thinking = "adaptive" if tokens is None else tokens or "off"

    def totals(self) -> Totals:
        return add_up(self.state, self._models)

    def context_usage(self) -> dict[str, Any]:
        """Estimate what fills the model's window, in the stream-json format."""
        agent = self._driver.agent
        return context_usage(self.state, agent, self._models.route(self.state.model or agent.model))

    def info(self) -> dict[str, Any]:
        """Return what a host may want to know before the first prompt."""
        commands: list[dict[str, Any]] = []
        if self._commands is not None:
            from bobstay.assembly.local_commands import list_commands

            commands = list_commands(self.library, self._servers.server_rows())
        account = {"tokenSource": "none", "apiKeySource": self.api_key_source, "apiProvider": "firstParty"}
        return {
            "commands": commands,
            "agents": agent_rows(self.library.current),
            "output_style": self.output_style,
            "available_output_styles": list(self._all_styles().names),
            "models": self._models.list_models(),
            "account": account,
        }

    def set_host_library(self, skills: object, agents: object) -> None:
        """Apply what a host gives at the start: names of the skills the model is told of, and agents of its own."""
        self.host_library = (skills, agents)
        if isinstance(skills, list) or agents:
            self._apply_host_library()

    def reload_library(self) -> None:
        """Read commands, skills, agents and plugins again. The model is told what there is with the next prompt."""
        self.library.reload(self._start)
        self._apply_host_library()

    def _apply_host_library(self) -> None:
        skills, agents = self.host_library
        if isinstance(agents, dict) and agents:
            self.library.current = add_host_agents(self.library.current, agents)
        only = [name for name in skills if isinstance(name, str)] if isinstance(skills, list) else None
        others = [reminder for reminder in self._driver.opening if reminder.why != LISTING]
        listing = list_library(self._start, self.library, self._driver.agent.toolbox.registry, only)
        self._driver.opening = [*others, *listing]

    def mirror(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """See `Mirror`."""
        return self._mirror() if self._mirror is not None else []

    def on_close(self, closer: Closer) -> None:
        self._closers = (*self._closers, closer)

    async def close(self, reason: EndReason = "other") -> None:
        """Stop what is running and release the log. Closing twice does nothing."""
        self._lifecycle.end_reason = reason
        self._driver.close()
        for closer in self._closers:
            await closer()
        self._closers = ()
        self._driver.journal.log.close()
