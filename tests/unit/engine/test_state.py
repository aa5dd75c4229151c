"""State is a fold: the same events give the same conversation, however they interleave."""

from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from bobstay.engine.state import PRUNED, ModelUsage, State
from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.event import (
    BlockDone,
    Durable,
    InputDropped,
    InputQueued,
    MessageDone,
    ModeChanged,
    Prompted,
    Pruned,
    RunDone,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.message import Image, Message, Text, ToolCall, ToolReply, Usage
from bobstay.system.chain import AppendOnlyChain


def fold(*events: Durable) -> State:
    state = State()
    for event in events:
        state = state.apply(event)
    return state


def call(message: str, index: int, id_: str) -> BlockDone:
    return BlockDone(message, index, ToolCall(id_, "Read", {}))


def reply(id_: str, text: str = "done") -> ToolDone:
    return ToolDone(ToolReply(id_, (Text(text),)))


def test_replies_stand_in_the_order_of_their_calls_whatever_finished_first() -> None:
    """H2-6"""
    state = fold(
        Prompted("p", (Text("go"),)),
        call("m", 0, "a"),
        reply("b"),
        call("m", 1, "b"),
        reply("a"),
        Prompted("q", (Text("more"),)),
    )
    assert state.messages == [
        Message("user", (Text("go"),)),
        Message("assistant", (ToolCall("a", "Read", {}), ToolCall("b", "Read", {})), "m"),
        Message("user", (ToolReply("a", (Text("done"),)), ToolReply("b", (Text("done"),)), Text("more"))),
    ]


def test_closed_messages_keep_their_identity_as_the_session_grows() -> None:
    state = fold(Prompted("p", (Text("go"),)), call("m", 0, "a"), reply("a"), BlockDone("n", 0, Text("x")))
    before = state.messages[:3]
    later = state.apply(MessageDone("n", "demo", "end_turn", Usage())).apply(Prompted("q", (Text("on"),)))
    assert all(a is b for a, b in zip(before, later.messages[:3], strict=True))


def test_an_unanswered_call_is_known_until_it_is_answered() -> None:
    state = fold(Prompted("p", (Text("go"),)), call("m", 0, "a"), call("m", 1, "b"), ToolStarted("a", "Read", {}))
    assert [c.id for c in state.unanswered] == ["a", "b"]
    assert state.started == {"a"}
    assert [c.id for c in state.apply(reply("a")).unanswered] == ["b"]


def test_usage_and_cost_add_up_by_model_and_steps_start_anew_each_turn() -> None:
    """H12-2"""
    state = fold(
        TurnStarted(1, "demo", "default"),
        MessageDone("m", "one", "end_turn", Usage(10, 5), cost=0.5, api_ms=7),
        MessageDone("n", "two", "end_turn", Usage(1, 2, 3, 4), cost=0.125, api_ms=2),
        MessageDone("o", "two", "end_turn", Usage(0, 1), cost=0.125, api_ms=1),
    )
    assert (state.steps, state.cost, state.api_ms, state.usage) == (3, 0.75, 10, Usage(11, 8, 3, 4))
    assert state.by_model["one"] == ModelUsage(Usage(10, 5), 0.5, 1)
    assert state.by_model["two"] == ModelUsage(Usage(1, 3, 3, 4), 0.25, 2)
    again = state.apply(RunDone("completed")).apply(TurnStarted(2, "demo", "plan"))
    assert (again.steps, again.usage, again.cost, again.mode) == (0, Usage(), 0.75, "plan")


def test_a_queued_message_waits_until_it_is_read_or_dropped() -> None:
    """F36"""
    first, second = InputQueued("1", (Text("a"),)), InputQueued("2", (Text("b"),), "queue")
    state = fold(first, second)
    assert state.queued == (first, second)
    assert state.apply(Prompted("1", (Text("a"),))).queued == (second,)
    assert state.apply(InputDropped("2")).queued == (first,)


def test_pruning_replaces_old_output_and_leaves_other_messages_alone() -> None:
    state = fold(
        Prompted("p", (Text("go"), Image("image/png", "aGk="))),
        call("m", 0, "a"),
        reply("a", "long"),
        call("n", 0, "b"),
    )
    pruned = state.apply(Pruned(("a",), 10))
    assert pruned.messages[2].blocks == (ToolReply("a", (Text(PRUNED),)),)
    assert pruned.messages[0] is state.messages[0]
    without = state.apply(Pruned((), images=True))
    assert not any(isinstance(block, Image) for block in without.messages[0].blocks)


def test_the_mode_follows_the_log() -> None:
    assert fold(TurnStarted(1, "demo", "default"), ModeChanged("plan")).mode == "plan"


def test_an_older_chain_is_not_changed_by_what_is_added_to_a_newer_one() -> None:
    base = AppendOnlyChain([1])
    left, right = base.append(2), base.append(3)
    assert (list(base), list(left), list(right)) == ([1], [1, 2], [1, 3])
    assert left.append(4).to_list() == [1, 2, 4]
    assert len(left) == 2
    assert right[-1] == 3


def test_sessions_of_one_process_share_no_messages() -> None:
    first, second = State(), State()
    for number in range(3):
        first = first.apply(Prompted(str(number), (Text("first"),))).apply(BlockDone(str(number), 0, Text("answer")))
        second = second.apply(Prompted(str(number), (Text("second"),))).apply(BlockDone(str(number), 0, Text("answer")))
    assert len(first.closed) == len(second.closed) > 0
    assert "second" not in str(first.closed.to_list())
    assert "first" not in str(second.closed.to_list())
    assert State().closed is not State().closed


TELLS: tuple[Literal["wake", "next_turn", "no"], ...] = ("wake", "next_turn", "no")
IDS = st.sampled_from(["b1", "b2", "b3"])
HAPPENINGS = st.one_of(
    st.builds(lambda id: BackgroundStarted(id, "call", id), IDS),
    st.builds(lambda id, tell: BackgroundEnded(id, "call", id, "completed", 0, "", tell), IDS, st.sampled_from(TELLS)),
    st.builds(lambda id: Prompted(id, (Text("told"),), "harness"), IDS),
    st.builds(InputDropped, IDS),
    st.builds(RunDone, st.sampled_from(["completed", "interrupted_tools", "max_turns"])),
    st.builds(lambda id: InputQueued(f"q{id}", (Text("words"),)), IDS),
)


@given(st.lists(HAPPENINGS, max_size=30))
def test_the_end_of_a_background_command_is_kept_until_the_model_knows(events: list[Durable]) -> None:
    """H1-12: whatever happens meanwhile."""
    state, untold, running = State(), set[str](), set[str]()
    for event in events:
        state = state.apply(event)
        if isinstance(event, BackgroundStarted):
            running.add(event.id)
        elif isinstance(event, BackgroundEnded):
            running.discard(event.id)
            untold |= {event.id} if event.tell != "no" else set()
        elif isinstance(event, Prompted | InputDropped):
            untold.discard(event.id)
        assert {notice.id for notice in state.notices} == untold
        assert len(state.notices) == len(untold)
        assert set(state.background) == running
