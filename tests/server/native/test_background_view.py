"""Sub-agents and background commands in the view of a session, folded from its entries (H7-1)."""

from itertools import count

from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.event import Durable, Envelope, Prompted
from bobstay.model.message import Text
from bobstay.model.session_events import WorkerExited
from bobstay.server.sessions.background_view import (
    MOST_ENDED_SHOWN,
    BackgroundView,
    background_after,
    requester_name,
)

WORK = Prompted("p", (Text("x"),), "harness")


class Folded:
    def __init__(self) -> None:
        self.items: tuple[BackgroundView, ...] = ()
        self._clock = count(1)

    def add(self, event: Durable, agent: str = "") -> None:
        at = next(self._clock)
        self.items = background_after(self.items, Envelope(at, str(at), "", float(at), event, agent))

    @property
    def states(self) -> dict[str, str]:
        return {each.id: each.state for each in self.items}


def agent(id: str, *, background: bool = True) -> AgentStarted:
    return AgentStarted(id, f"call-{id}", "explore", f"look for {id}", "Look.", "m", background=background)


def agent_end(id: str) -> AgentEnded:
    return AgentEnded(id, f"call-{id}", "explore", "d", "completed")


def test_what_an_agent_started_ends_with_it() -> None:
    folded = Folded()
    folded.add(agent("upper"))
    folded.add(agent("lower"), "upper")
    folded.add(BackgroundStarted("shell", "c", "make"), "upper")
    folded.add(BackgroundStarted("other", "c", "make"))
    folded.add(agent_end("upper"))
    assert folded.states == {"upper": "completed", "lower": "killed", "shell": "killed", "other": "running"}


def test_a_program_that_ends_pauses_agents_and_loses_commands() -> None:
    folded = Folded()
    folded.add(agent("a"))
    folded.add(agent("done"))
    folded.add(agent_end("done"))
    folded.add(BackgroundStarted("shell", "c", "make"))
    folded.add(WorkerExited("w", "terminal"))
    assert folded.states == {"a": "running", "done": "completed", "shell": "running"}, "it ran no agent"
    folded.add(WorkerExited("w", "native"))
    assert folded.states == {"a": "paused", "done": "completed", "shell": "lost"}
    folded.add(WORK)
    assert folded.states["a"] == "paused", "that was an entry of the session's own agent"
    folded.add(WORK, "a")
    assert folded.states == {"a": "running", "done": "completed", "shell": "lost"}


def test_an_agent_that_its_call_waits_for_leaves_the_list_with_its_end() -> None:
    folded = Folded()
    folded.add(agent("a", background=False))
    assert folded.items[0].is_awaited
    folded.add(agent_end("a"))
    assert folded.items == ()


def test_of_those_that_ended_the_oldest_leave_the_list_and_none_that_runs() -> None:
    folded = Folded()
    folded.add(agent("runs"))
    for number in range(MOST_ENDED_SHOWN + 2):
        folded.add(BackgroundStarted(f"b{number}", "c", "make"))
        folded.add(BackgroundEnded(f"b{number}", "c", "make", "completed", number))
    assert list(folded.states) == ["runs", *(f"b{number}" for number in range(2, MOST_ENDED_SHOWN + 2))]
    assert folded.items[-1].code == MOST_ENDED_SHOWN + 1


def test_who_asks_is_named_by_type_and_task() -> None:
    folded = Folded()
    folded.add(agent("a"))
    names = [requester_name(folded.items, each) for each in ("a", "unknown", "")]
    assert names == ["explore: look for a", "unknown", ""]
