"""Frames about sub-agents: to which call they belong, what hosts are shown, and how their ends are counted (H7-1)."""

import pytest

from bobstay.model.agent_events import AgentEnded, AgentStarted, AgentStatus
from bobstay.model.event import BlockDone
from bobstay.model.message import Text, Thinking, ToolCall
from bobstay.wire.agent_frames import AgentFrames


def started(id: str = "x_1", call: str = "a1", **more: object) -> AgentStarted:
    return AgentStarted(id, call, "explore", "look", "Look.", "m", **more)  # type: ignore[arg-type]


def ended(status: AgentStatus = "completed", id: str = "x_1", **more: object) -> AgentEnded:
    return AgentEnded(id, "a1", "explore", "look", status, **more)  # type: ignore[arg-type]


def block(content: Text | Thinking | ToolCall) -> BlockDone:
    return BlockDone("m1", 0, content, "m")


def test_what_an_agent_does_stands_under_the_call_that_first_started_it() -> None:
    frames = AgentFrames("s")
    (begun,) = frames.frames("x_1", started(call="later", first_call="a1", background=True))
    assert begun["tool_use_id"] == "later"
    call, progress = frames.frames("x_1", block(ToolCall("r1", "Read", {})))
    assert (call["parent_tool_use_id"], call["agent_id"], call["subagent_type"]) == ("a1", "x_1", "explore")
    assert (progress["subtype"], progress["last_tool_name"], progress["usage"]["tool_uses"]) == (
        "task_progress",
        "Read",
        1,
    )


@pytest.mark.parametrize("background", [False, True])
def test_the_text_of_an_agent_is_shown_unless_it_is_the_result_of_its_call(*, background: bool) -> None:
    frames = AgentFrames("s")
    frames.frames("x_1", started(background=background))
    assert len(frames.frames("x_1", block(Text("Found.")))) == int(background)
    assert frames.frames("x_1", block(Thinking("Hm.", ""))) == []


@pytest.mark.parametrize(
    ("status", "updated", "told"),
    [
        ("completed", "completed", "completed"),
        ("failed", "failed", "failed"),
        ("killed", "killed", "stopped"),
        ("lost", "failed", "failed"),
    ],
)
def test_hosts_hear_how_an_agent_ended(status: AgentStatus, updated: str, told: str) -> None:
    frames = AgentFrames("s")
    frames.frames("x_1", started(background=True))
    assert [row["task_id"] for row in frames.running] == ["x_1"]
    update, notification = frames.frames("x_1", ended(status))
    assert (update["patch"]["status"], notification["status"]) == (updated, told)
    assert frames.running == []
    assert frames.frames("x_1", block(ToolCall("r1", "Read", {}))) == [], "nothing of it comes after its end"


def test_ends_are_counted_once_for_each_agent_and_say_who_stopped_it() -> None:
    frames = AgentFrames("s")
    for id_, end in {
        "one": ended("killed", "one", tell="next_turn"),
        "two": ended("killed", "two"),
        "three": ended("lost", "three"),
        "four": ended("completed", "four"),
    }.items():
        frames.frames(id_, started(id_, depth=2 if id_ == "four" else 1, background=id_ == "one"))
        frames.frames(id_, end)
    frames.frames("four", started("four", "later", first_call="a1", background=True))
    stats = frames.stats
    assert (stats["spawned"], stats["completed"], stats["failed"]) == (4, 0, 1), "the last one works again"
    assert stats["killed"] == {"parent": 1, "user": 1, "system": 0}
    assert stats["requested"] == {"background": 1, "foreground": 3, "unset": 0}
    assert (stats["max_depth"], stats["spawned_by_subagents"], stats["by_type"]) == (2, 1, {"explore": 4})
