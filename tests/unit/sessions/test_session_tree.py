"""The log tree and its branches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.model.event import (
    BlockDone,
    Durable,
    Envelope,
    HookRan,
    MessageDone,
    Noted,
    Prompted,
    RunDone,
    SessionStarted,
    ToolDone,
    TurnStarted,
)
from bobstay.model.message import Text, ToolCall, ToolReply, Usage
from bobstay.sessions.log import EntryMissing
from bobstay.sessions.log_tree import LogTree


def tree_of(*entries: tuple[str, str, Durable]) -> LogTree:
    tree = LogTree()
    for number, (name, parent, event) in enumerate(entries, 1):
        tree.add(Envelope(number, name, parent, float(number), event))
    return tree


def names(branch: list[Envelope]) -> list[str]:
    return [envelope.id for envelope in branch]


@given(st.lists(st.integers(0, 1000), max_size=60))
def test_a_branch_is_the_way_from_the_root_to_its_leaf(choices: list[int]) -> None:
    """H6-1: in any tree, each entry's branch is its parent's branch and itself."""
    parents = ["", *(str(choice % (place + 1)) for place, choice in enumerate(choices))]
    tree = tree_of(*((str(place), parent, Noted("")) for place, parent in enumerate(parents)))
    ways: dict[str, list[str]] = {"": []}
    for place, parent in enumerate(parents):
        ways[str(place)] = [*ways[parent], str(place)]
        assert names(tree.path_to(str(place))) == ways[str(place)]
    assert names(tree.path_to()) == ways[str(len(parents) - 1)]
    assert set(tree.leaves()) == set(map(str, range(len(parents)))) - set(parents)
    assert tree.warnings.texts() == []


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["", *"abcdefghxyz"])), max_size=30))
def test_hostile_parents_never_make_a_way_endless(entries: list[tuple[str, str]]) -> None:
    """F1: entries that follow themselves, each other, later ones or nothing, and ids used twice."""
    tree = tree_of(*((name, parent, Noted("")) for name, parent in entries))
    if not entries:
        assert tree.path_to() == []
        return
    for name, _ in entries:
        way = names(tree.path_to(name))
        assert way[-1] == name
        assert len(way) == len(set(way)) <= 8


def test_an_entry_whose_parent_is_lost_follows_what_stands_before_it() -> None:
    """F1"""
    tree = tree_of(("a", "", Noted("")), ("b", "a", Noted("")), ("d", "c", Noted("")))
    assert names(tree.path_to()) == ["a", "b", "d"]
    assert tree.warnings.texts() == ["entry 3 follows c, which is missing"]


def test_a_second_use_of_an_id_is_reported_and_left_out() -> None:
    tree = tree_of(("a", "", Noted("1")), ("b", "a", Noted("2")), ("a", "b", Noted("3")))
    assert names(tree.path_to()) == ["a", "b"]
    assert "used twice" in tree.warnings.texts()[0]


def test_an_unknown_leaf_is_an_error() -> None:
    with pytest.raises(EntryMissing):
        tree_of(("a", "", Noted(""))).path_to("z")
    assert LogTree().path_to() == []
    with pytest.raises(EntryMissing):
        LogTree().path_to("z")


CONVERSATION: tuple[tuple[str, str, Durable], ...] = (
    ("start", "", SessionStarted("/w", "1")),
    ("ask1", "start", Prompted("p1", (Text("one"),), client_id="host-1")),
    ("turn1", "ask1", TurnStarted(1, "m", "default")),
    ("call", "turn1", BlockDone("m1", 0, ToolCall("c", "Bash", {}))),
    ("use1", "call", MessageDone("m1", "m", "tool_use", Usage())),
    ("tool", "use1", ToolDone(ToolReply("c", ()))),
    ("think", "tool", BlockDone("m2", 0, Text("well"))),
    ("text", "think", BlockDone("m2", 1, Text("so"))),
    ("hook", "text", HookRan("h", "Stop", "ok")),
    ("use2", "hook", MessageDone("m2", "m", "end_turn", Usage())),
    ("end1", "use2", RunDone("completed")),
    ("ask2", "end1", Prompted("p2", (Text("two"),), client_id="host-2")),
)


@pytest.mark.parametrize(
    ("key", "last"),
    [
        ("ask1", "ask1"),
        ("p1", "ask1"),
        ("host-1", "ask1"),
        ("call", "use1"),
        ("tool", "tool"),
        ("think", "think"),
        ("text", "end1"),
        ("m2", "end1"),
        ("m1", "use1"),
        ("end1", "end1"),
        ("host-2", "ask2"),
    ],
)
def test_resuming_at_an_entry_ends_the_branch_with_it_and_what_closes_it(key: str, last: str) -> None:
    """H6-3: an entry is named by its own id, by the host's, or by the message it belongs to."""
    everything = [name for name, _, _ in CONVERSATION]
    assert names(tree_of(*CONVERSATION).resume_at(key)) == everything[: everything.index(last) + 1]


def test_resuming_at_nothing_known_is_an_error() -> None:
    with pytest.raises(EntryMissing, match="host-9"):
        tree_of(*CONVERSATION).resume_at("host-9")


def test_resuming_reaches_into_branches_left_behind() -> None:
    """H6-3"""
    left: tuple[tuple[str, str, Durable], ...] = (
        ("other", "start", Prompted("p3", (Text("three"),))),
        ("more", "other", Noted("")),
    )
    tree = tree_of(*CONVERSATION, *left)
    assert names(tree.path_to()) == ["start", "other", "more"]
    assert names(tree.resume_at("m2"))[-1] == "end1"
