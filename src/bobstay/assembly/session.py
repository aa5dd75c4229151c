"""A session as faces and embedding programs see it: give it prompts, watch its events, stop it, ask how it stands."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from bobstay.assembly.background_commands import BackgroundCommands
from bobstay.assembly.context_usage import context_usage
from bobstay.assembly.model_routes import ModelRoutes
from bobstay.engine.driver import Driver
from bobstay.engine.state import State
from bobstay.model.event import Event, InputQueued, ModeChanged
from bobstay.model.ids import new_id
from bobstay.model.message import Block, Text, Usage
from bobstay.redaction.redactor import Redactor

MODES = ("default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions")


class UnknownMode(ValueError):  # noqa: N818 - reads as what happened
    """No permission mode has that name."""


class BypassNotLaunched(ValueError):  # noqa: N818 - reads as what happened
    """Bypassing permissions must be allowed when the program is started."""


class ModelTotals(Struct, frozen=True):
    usage: Usage
    cost: float
    window: int
    max_output: int


class Totals(Struct, frozen=True):
    """What the session took in its whole life, resumed parts included."""

    cost_usd: float
    api_ms: int
    models: dict[str, ModelTotals]
    lines_added: int = 0
    lines_removed: int = 0


class Session:
    """Made by `assembly.build.open_session`. One turn at a time; what comes meanwhile is steered in or queued."""

    def __init__(
        self,
        background: BackgroundCommands,
        models: ModelRoutes,
        *,
        cwd: Path,
        can_bypass: bool,
        warnings: list[str],
        key_source: str = "none",
        closers: tuple[Callable[[], Awaitable[None]], ...] = (),
    ) -> None:
        self._driver = background.driver
        self._models = models
        self.background = background
        self.cwd = cwd
        self.can_bypass = can_bypass
        self.warnings = warnings
        self.api_key_source = key_source
        """The environment variable the key came from."""
        self.commands: tuple[str, ...] = ()
        self._closers = closers

    @property
    def id(self) -> str:
        return self._driver.log.session_id

    @property
    def entry(self) -> str:
        """Id of the last thing stored: while an event is being shown, that event's."""
        return self._driver.log.head

    @property
    def state(self) -> State:
        return self._driver.state

    @property
    def driver(self) -> Driver:
        """For those who record beside the engine, such as a console."""
        return self._driver

    @property
    def model(self) -> str:
        """The model's name as hosts are told it."""
        return self._models.route(self.state.model or self._driver.agent.model).name

    @property
    def mode(self) -> str:
        return self.state.mode

    @property
    def mask(self) -> Redactor:
        """Takes secrets out of what is shown."""
        return self._driver.agent.toolbox.mask

    @property
    def tools(self) -> tuple[str, ...]:
        return self._driver.agent.toolbox.shelf.names

    @property
    def busy(self) -> bool:
        return self._driver.busy

    def run(self, blocks: tuple[Block, ...] | str, *, client_id: str = "") -> AsyncGenerator[Event, None]:
        """Work on a prompt. Yields every event, durable ones once they are stored, and ends after `RunDone`."""
        given: tuple[Block, ...] = (Text(blocks),) if isinstance(blocks, str) else blocks
        return self._driver.turn(given, client_id=client_id)

    def steer(
        self, blocks: tuple[Block, ...] | str, *, client_id: str = "", how: Literal["steer", "queue"] = "steer"
    ) -> str:
        """Give a message to a busy session: folded in after the running tool, or kept for the next turn."""
        given: tuple[Block, ...] = (Text(blocks),) if isinstance(blocks, str) else blocks
        queued = InputQueued(new_id(), given, how, client_id)
        self._driver.queue(queued)
        return queued.id

    def take_up(self) -> AsyncGenerator[Event, None]:
        """Go on with a turn that a crash cut off: see `Driver.take_up`."""
        return self._driver.take_up()

    def next_queued(self) -> InputQueued | None:
        """The oldest message nobody has taken up."""
        return self.state.queued[0] if self.state.queued else None

    def run_queued(self, queued: InputQueued) -> AsyncGenerator[Event, None]:
        return self._driver.turn(queued.blocks, id=queued.id, client_id=queued.client_id)

    def run_notices(self, *, waited: float | None = None) -> AsyncGenerator[Event, None]:
        """Tell the model of background commands that ended: a turn without a prompt; see `has_wake_notice`.

        It has limits of its own, unless it is said how many seconds were `waited`: then it uses those of the last turn.
        """
        return self._driver.turn((), waited=waited)

    async def interrupt(self) -> tuple[str, ...]:
        """End the running turn, if any; its calls are stopped and answered. Returns the ids of what is still queued."""
        self._driver.interrupt()
        return tuple(queued.client_id or queued.id for queued in self.state.queued)

    async def set_mode(self, mode: str) -> ModeChanged:
        """Change the permission mode, also in the middle of a turn.

        Raises:
            UnknownMode, BypassNotLaunched
        """
        if mode not in MODES:
            raise UnknownMode(f"Unknown permission mode: {mode}. It is one of {', '.join(MODES)}.")
        if mode == "bypassPermissions" and not self.can_bypass:
            raise BypassNotLaunched(
                "Cannot set permission mode to bypassPermissions: the session was not started with "
                "--dangerously-skip-permissions or --allow-dangerously-skip-permissions."
            )
        return self._driver.set_mode(mode)

    async def set_model(self, model: str | None) -> str:
        """Use another model from the next model call on; None goes back to the one the session began with.

        Raises:
            ValueError: it cannot be reached; the text says what is missing.
        """
        name = model or self._driver.agent.model
        route = self._models.route(name)
        self._driver.set_model(name)
        return route.name

    def set_thinking(self, tokens: int | None) -> None:
        """Let the model think with at most so many tokens from the next call on; None leaves it to the model."""
        self._driver.agent.thinking = "adaptive" if tokens is None else tokens or "off"

    def totals(self) -> Totals:
        state = self.state
        models = {}
        for name, each in state.by_model.items():
            info = self._models.info(name)
            models[name] = ModelTotals(each.usage, each.cost, info.context, info.output)
        return Totals(state.cost, state.api_ms, models, state.lines_added, state.lines_removed)

    def context_usage(self) -> dict[str, Any]:
        """What fills the model's window, in the shape of the wire."""
        agent = self._driver.agent
        return context_usage(self.state, agent, self._models.route(self.state.model or agent.model))

    def info(self) -> dict[str, Any]:
        """What a host may want to know before the first prompt."""
        account = {"tokenSource": "none", "apiKeySource": self.api_key_source, "apiProvider": "firstParty"}
        return {"commands": [], "agents": [], "models": self._models.listing(), "account": account}

    def mirror(self) -> tuple[str, list[dict[str, Any]]]:
        """Path of the transcript in the SDK's own format, and its lines since the last call."""
        return self._mirror() if self._mirror is not None else ("", [])

    _mirror: Callable[[], tuple[str, list[dict[str, Any]]]] | None = None

    def mirrored_by(self, mirror: Callable[[], tuple[str, list[dict[str, Any]]]]) -> None:
        self._mirror = mirror

    def on_close(self, closer: Callable[[], Awaitable[None]]) -> None:
        self._closers = (*self._closers, closer)

    async def close(self) -> None:
        """Stop what runs, let go of the log. Closing twice does nothing."""
        self._driver.interrupt()
        for closer in self._closers:
            await closer()
        self._closers = ()
        self._driver.log.close()
