"""Sub-agents and background commands in the view of a session: the state of each one, folded from its events."""

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.event import Envelope
from bobstay.model.session_events import WorkerExited

BackgroundState: TypeAlias = Literal["running", "paused", "completed", "failed", "killed", "lost"]
GOING: frozenset[BackgroundState] = frozenset({"running", "paused"})
"""States of what has not ended."""
MOST_ENDED_SHOWN = 8
"""How many of those that ended stay in the view of a session."""
MOST_SHOWN = 200
TITLE_LENGTH = 200
_AGENT_WORKERS = ("native", "process")


class BackgroundView(Struct, frozen=True, omit_defaults=True):
    """A sub-agent, or a command in the background."""

    id: str
    kind: Literal["agent", "command"]
    title: str
    """The task of an agent; what a command does, or its beginning."""
    state: BackgroundState
    """`paused`: the program that ran the agent ended, and the next message continues it. `lost`: that ended it."""
    call_id: str
    """The call under which its entries stand."""
    started_at: float
    ended_at: float = 0.0
    agent_type: str = ""
    """The type of an agent."""
    agent: str = ""
    """The sub-agent that started it; empty for the session's own agent."""
    is_awaited: bool = False
    """A call waits for it: it is listed while it runs, and ends with the turn."""
    code: int | None = None
    """The exit code of a command that ended."""


def background_after(items: tuple[BackgroundView, ...], envelope: Envelope) -> tuple[BackgroundView, ...]:
    """The sub-agents and background commands of a session after one more entry of its log."""
    event = envelope.event
    if isinstance(event, AgentStarted | BackgroundStarted):
        return _limit((*(each for each in items if each.id != event.id), _started(event, envelope)))
    if not items:
        return items
    if isinstance(event, AgentEnded | BackgroundEnded):
        return _limit(tuple(after for each in items if (after := _after_end(each, event, envelope.at)) is not None))
    if isinstance(event, WorkerExited) and event.kind in _AGENT_WORKERS:
        return _limit(tuple(_without_worker(each, envelope.at) for each in items))
    return _continued(items, envelope.agent) if envelope.agent else items


def requester_name(items: tuple[BackgroundView, ...], agent: str) -> str:
    """The sub-agent that asks, as people know it: its type and its task; empty for the session's own agent."""
    found = next((each for each in items if each.id == agent), None) if agent else None
    if found is None:
        return agent
    return f"{found.agent_type}: {found.title}" if found.title else found.agent_type


def _started(event: AgentStarted | BackgroundStarted, envelope: Envelope) -> BackgroundView:
    if isinstance(event, AgentStarted):
        return BackgroundView(
            event.id,
            "agent",
            _line(event.description),
            "running",
            event.parent_call,
            envelope.at,
            agent_type=event.agent_type,
            agent=envelope.agent,
            is_awaited=not event.background,
        )
    title = _line(event.title)
    return BackgroundView(event.id, "command", title, "running", event.call_id, envelope.at, agent=envelope.agent)


def _after_end(each: BackgroundView, ended: AgentEnded | BackgroundEnded, at: float) -> BackgroundView | None:
    if each.id == ended.id:
        code = ended.code if isinstance(ended, BackgroundEnded) else None
        return None if each.is_awaited else replace(each, state=ended.status, ended_at=at, code=code)
    if each.agent == ended.id and each.state in GOING:
        # What a sub-agent started ends with it.
        return None if each.is_awaited else replace(each, state="killed", ended_at=at)
    return each


def _without_worker(each: BackgroundView, at: float) -> BackgroundView:
    if each.state not in GOING:
        return each
    return replace(each, state="paused") if each.kind == "agent" else replace(each, state="lost", ended_at=at)


def _continued(items: tuple[BackgroundView, ...], agent: str) -> tuple[BackgroundView, ...]:
    """An entry of a sub-agent shows that it works again."""
    if not any(each.id == agent and each.state == "paused" for each in items):
        return items
    return tuple(replace(each, state="running") if each.id == agent else each for each in items)


def _limit(items: tuple[BackgroundView, ...]) -> tuple[BackgroundView, ...]:
    """Drop those that ended first, because they would accumulate."""
    ended = sorted((each for each in items if each.state not in GOING), key=lambda each: each.ended_at)
    old = frozenset(each.id for each in ended[: max(len(ended) - MOST_ENDED_SHOWN, 0)])
    return tuple(each for each in items if each.id not in old)[-MOST_SHOWN:]


def _line(text: str) -> str:
    line = " ".join(text[: 4 * TITLE_LENGTH].split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"
