"""The agent: everything a run needs that does not change while it runs, and the few settings that may."""

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from bobstay.engine.engine_ports import Models, Route
from bobstay.engine.limits import Limits
from bobstay.engine.repair import clean_prefix, repair
from bobstay.engine.state import State
from bobstay.engine.toolbox import Toolbox
from bobstay.model.message import Message
from bobstay.providers.base import Request
from bobstay.providers.message_encoding import EncodingCache
from bobstay.providers.thinking import Effort, ThinkingMode, fit_thinking


class StreamTimeouts(Struct, frozen=True):
    """How long the model's server may send nothing, in seconds. Every byte counts, pings and comments too.

    Services send pings for minutes while a model thinks or writes a long tool input, so only real silence counts.
    """

    first: float = 300.0
    """Before its first event."""
    between: float = 300.0
    first_local: float = 600.0
    """Before the first event of a model on the user's own machine, which may have to be loaded first."""


class RetryPolicy(Struct, frozen=True):
    attempts: int = 10
    first: float = 0.5
    longest: float = 32.0


class RequestSettings(Struct):
    """What may change while the agent runs; each request reads it."""

    thinking: ThinkingMode = "off"
    effort: Effort | None = None


class Agent(Struct, frozen=True):
    model: str
    models: Models
    system: tuple[str, ...]
    toolbox: Toolbox
    session_id: str = ""
    fallbacks: tuple[str, ...] = ()
    limits: Limits = Limits()
    retry: RetryPolicy = RetryPolicy()
    timeouts: StreamTimeouts = StreamTimeouts()
    settings: RequestSettings = field(default_factory=RequestSettings)
    thinking_display: str = ""
    effort: Effort | None = None
    """Comes before that of the settings: the effort of a sub-agent, or of a command for one turn."""
    betas: tuple[str, ...] = ()
    hosted_search: bool = False
    max_output: int | None = None
    """Maximum tokens of one answer; None leaves it to the model."""
    structured: bool = False
    """The run is to end with structured output."""
    spent_before: float = 0.0
    """What the session had cost when this process opened it."""
    spent: Callable[[], float] | None = None
    """For a sub-agent: what its session has cost since then, with all its agents."""


class RequestBuilder:
    """Builds a request from a state, repairing only the messages that are new since the last one."""

    def __init__(self) -> None:
        self.longer = False
        """An answer was cut off at the output limit: the next ones may use all the model can give."""
        self._clean = 0
        self._cache = EncodingCache()

    def request(self, agent: Agent, state: State, route: Route, *, forced_tool: str = "") -> Request:
        wanted = agent.effort or agent.settings.effort
        thinking, effort = fit_thinking(agent.settings.thinking, wanted, route.thinks, route.efforts)
        return Request(
            model=route.model,
            system=agent.system,
            messages=tuple(self._repaired(state.messages, state)),
            tools=agent.toolbox.specs,
            max_tokens=_output_tokens(agent, route, thinking, state.context, longer=self.longer),
            thinking=thinking,
            thinks=route.thinks,
            thinking_display=agent.thinking_display,
            effort=effort,
            betas=agent.betas,
            session_id=agent.session_id,
            hosted_search=agent.hosted_search,
            forced_tool=forced_tool,
            cache=self._cache,
        )

    def reset(self) -> None:
        """Check the whole history again: it was changed since the last request."""
        self._clean = 0

    def _repaired(self, messages: Sequence[Message], state: State) -> list[Message]:
        repaired = repair(messages, clean=self._clean, never_started=state.never_started)
        self._clean = clean_prefix(messages, repaired)
        return repaired


def _output_tokens(agent: Agent, route: Route, thinking: ThinkingMode, context: int, *, longer: bool) -> int:
    """Maximum tokens of the answer: a moderate default, and all the model can give after an answer was cut off."""
    if agent.max_output:
        return min(route.max_output, agent.max_output)
    wanted = min(route.max_output, 32_000)
    if isinstance(thinking, int):
        wanted = min(route.max_output, max(wanted, thinking + 8_000))
    if longer:
        # The conversation takes its part of the window, and so do the messages added since it was counted.
        wanted = max(wanted, min(route.max_output, route.window - context - 8_000))
    return wanted
