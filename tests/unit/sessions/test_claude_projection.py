"""The projected transcript can be read by the official SDK."""

import json
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import get_session_messages, list_sessions

from bobstay.model.event import (
    BlockDone,
    Decided,
    Durable,
    MessageDone,
    ModeChanged,
    Noted,
    Prompted,
    RunDone,
    SessionStarted,
    ToolDone,
    TurnStarted,
)
from bobstay.model.ids import new_id
from bobstay.model.message import Image, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.sessions.claude_import import read_entries
from bobstay.sessions.claude_projection import TAIL_SIZE, ClaudeProjection, TranscriptOrigin
from bobstay.sessions.jsonl_log import JsonlLog
from bobstay.sessions.log_store import LogStore

HOST_ID = "11111111-2222-4333-8444-555555555555"


class Stage:
    """A session that is projected as it happens."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.config = tmp_path / "config"
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(self.config))
        self.cwd = tmp_path / "some project"
        self.cwd.mkdir()
        self.store = LogStore(str(tmp_path / "sessions"))
        self.session_id = new_id()
        self.log: JsonlLog = self.store.create(self.session_id, SessionStarted(str(self.cwd), "1"))
        self.projection = self.project(self.session_id)
        self.projection.resume(self.log.read())

    def project(self, session_id: str, *, mirror: bool = True) -> ClaudeProjection:
        origin = TranscriptOrigin(session_id, str(self.cwd), "9.9", branch="main")
        return ClaudeProjection(str(self.config), origin, mirror=mirror)

    def happen(self, *events: Durable) -> None:
        for event in events:
            self.projection.write(self.log.append(event))

    def reopen(self, at: str = "") -> None:
        self.projection.close()
        self.log.close()
        self.log, branch, _ = self.store.open(self.session_id, at)
        self.projection = self.project(self.session_id)
        self.projection.resume(branch)

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in Path(self.projection.path).read_text().splitlines()]

    def messages(self, session_id: str = "") -> list[Any]:
        found = get_session_messages(session_id or self.session_id, directory=str(self.cwd))
        return [message.message["content"] for message in found]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def call(name: str) -> ToolCall:
    return ToolCall(name, "Bash", {"command": name})


def use(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": name}}


def done(name: str) -> ToolDone:
    return ToolDone(ToolReply(name, (Text("ok"),)), "Bash", {"stdout": "ok"}, decided=Decided("accept", "rule", "mode"))


def result(name: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": "ok"}


def exchange(prompt: str, answer: str) -> list[Durable]:
    message = new_id()
    return [
        Prompted(new_id(), (Text(prompt),)),
        TurnStarted(1, "big", "plan"),
        BlockDone(message, 0, Text(answer), "big", Usage(5)),
        MessageDone(message, "big", "end_turn", Usage(5, 7, 1, 2)),
        RunDone("completed", answer),
    ]


def test_the_sdk_lists_the_session_and_reads_its_messages(stage: Stage) -> None:
    """H6-3"""
    stage.happen(*exchange("first prompt", "hello"), *exchange("second prompt", "again"))
    (listed,) = list_sessions(directory=str(stage.cwd))
    assert (listed.session_id, listed.first_prompt, listed.summary) == (
        stage.session_id,
        "first prompt",
        "second prompt",
    )
    assert (listed.cwd, listed.git_branch) == (str(stage.cwd), "main")
    assert stage.messages() == ["first prompt", [text("hello")], "second prompt", [text("again")]]


def test_a_line_says_how_its_message_ended_and_where_it_was_said(stage: Stage) -> None:
    stage.happen(ModeChanged("plan"), *exchange("hi", "hello"))
    prompt, answer, _ = stage.lines()
    assert prompt["permissionMode"] == "plan"
    assert answer["message"]["stop_reason"] == "end_turn"
    assert answer["message"]["usage"]["output_tokens"] == 7
    assert answer["parentUuid"] == prompt["uuid"]
    for line in (prompt, answer):
        assert (line["sessionId"], line["cwd"], line["version"]) == (stage.session_id, str(stage.cwd), "9.9")
        assert (line["userType"], line["entrypoint"], line["isSidechain"]) == ("external", "sdk-py", False)
        assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize("order", ["abAB", "aAbB", "abBA", "aAb.B", "ab.BA"])
def test_calls_side_by_side_are_read_whole_whatever_the_order_of_their_ends(stage: Stage, order: str) -> None:
    """H2-5: a call may be done while its message still streams; its result is written after it all the same."""
    events: dict[str, Durable] = {
        "a": BlockDone("m1", 0, call("c1")),
        "b": BlockDone("m1", 1, call("c2")),
        "A": done("c1"),
        "B": done("c2"),
        ".": MessageDone("m1", "big", "tool_use", Usage()),
    }
    stage.happen(Prompted("p", (Text("go"),)))
    stage.happen(*(events[key] for key in (order if "." in order else order + ".")))
    stage.happen(BlockDone("m2", 0, Text("fin")), MessageDone("m2", "big", "end_turn", Usage()), RunDone("completed"))
    messages = stage.messages()
    assert messages[0] == "go"
    assert messages[-1] == [text("fin")]
    assert sorted(messages[1:-1], key=str) == sorted(
        [[use("c1")], [use("c2")], [result("c1")], [result("c2")]], key=str
    )
    assert messages.index([use("c1")]) < messages.index([result("c1")])
    assert messages.index([use("c2")]) < messages.index([result("c2")])
    first, second = [line for line in stage.lines() if line.get("message", {}).get("id") == "m1"]
    assert second["parentUuid"] == first["uuid"]
    replies = [line for line in stage.lines() if "toolUseResult" in line]
    assert all(line["parentUuid"] == line["sourceToolAssistantUUID"] for line in replies)
    assert replies[0]["toolUseResult"] == {"stdout": "ok"}
    assert replies[0]["permissionDecision"] == {"decision": "accept", "source": "rule", "reasonType": "mode"}


def test_every_block_has_its_line(stage: Stage) -> None:
    image = Image("image/png", "AAAA")
    stage.happen(
        Prompted("p", (Text("look"), image)),
        BlockDone("m1", 0, Thinking("hm", "sig", "anthropic")),
        BlockDone("m1", 1, call("c1")),
        MessageDone("m1", "big", "tool_use", Usage()),
        ToolDone(ToolReply("c1", (Text("a"), image), is_error=True)),
    )
    source = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    assert stage.messages() == [
        [text("look"), source],
        [{"type": "thinking", "thinking": "hm", "signature": "sig"}],
        [use("c1")],
        [{"type": "tool_result", "tool_use_id": "c1", "content": [text("a"), source], "is_error": True}],
    ]
    assert stage.lines()[-1]["toolUseResult"] == "Error: a"


def test_a_message_cut_short_is_written_without_an_ending(stage: Stage) -> None:
    stage.happen(
        Prompted("p", (Text("go"),)),
        BlockDone("m1", 0, Text("par"), partial=True),
        Prompted(new_id(), (Text("[Request interrupted by user]"),), "harness", why="interrupt"),
        RunDone("interrupted_streaming"),
    )
    assert stage.messages() == ["go", [text("par")], "[Request interrupted by user]"]
    assert stage.lines()[1]["message"]["stop_reason"] is None


def test_the_harness_speaks_behind_the_scenes(stage: Stage) -> None:
    stage.happen(
        Prompted("p", (Text("go"),)),
        Prompted("q", (Text("keep to the plan"),), "hook", why="stop_hook"),
        *exchange("more", "fine"),
    )
    assert stage.messages() == ["go", "more", [text("fine")]]
    assert stage.lines()[1]["isMeta"] is True


def test_a_sub_agents_events_are_no_part_of_the_talk(stage: Stage) -> None:
    stage.happen(*exchange("go", "one"))
    stage.projection.write(stage.log.append(BlockDone("m9", 0, Text("aside")), agent="explorer", parent_call="c"))
    stage.happen(*exchange("on", "two"))
    assert stage.messages() == ["go", [text("one")], "on", [text("two")]]


def test_a_prompt_is_called_as_the_host_called_it(stage: Stage) -> None:
    stage.happen(Prompted(new_id(), (Text("go"),), client_id=HOST_ID))
    assert stage.lines()[0]["uuid"] == HOST_ID


def test_resuming_adds_to_the_same_file(stage: Stage) -> None:
    """H6-3"""
    stage.happen(*exchange("go", "one"))
    before = stage.lines()
    stage.reopen()
    stage.happen(*exchange("on", "two"))
    assert stage.lines()[: len(before)] == before
    assert len(stage.lines()) == 2 * len(before)
    assert stage.messages() == ["go", [text("one")], "on", [text("two")]]


def test_resuming_at_an_entry_leads_readers_along_the_new_branch(stage: Stage) -> None:
    """H6-3"""
    stage.happen(*exchange("go", "one"), *exchange("wrong", "turn"))
    stage.reopen(at=stage.lines()[1]["uuid"])
    stage.happen(*exchange("right", "turn"))
    assert stage.messages() == ["go", [text("one")], "right", [text("turn")]]


def test_what_a_crash_kept_from_the_transcript_is_caught_up(stage: Stage) -> None:
    """F1: the transcript is torn; the log is the truth."""
    stage.happen(*exchange("go", "one"), *exchange("on", "two"))
    whole = Path(stage.projection.path).read_bytes()
    for size in (0, 10, len(whole) // 3, len(whole) // 2, len(whole) - 300):
        stage.projection.close()
        Path(stage.projection.path).write_bytes(whole[:size])
        stage.reopen()
        assert stage.messages() == ["go", [text("one")], "on", [text("two")]]


def test_a_message_that_never_ended_is_written_once_when_the_session_is_taken_up(stage: Stage) -> None:
    """F3: the process died while the model spoke."""
    stage.happen(Prompted(new_id(), (Text("go"),)), BlockDone("m1", 0, Text("half")))
    stage.log.close()
    stage.log, branch, _ = stage.store.open(stage.session_id)
    stage.projection = stage.project(stage.session_id)
    stage.projection.resume(branch)
    assert stage.messages() == ["go", [text("half")]]
    before = stage.lines()
    stage.reopen()
    stage.happen(Noted("x"))
    assert stage.lines() == before


def test_a_long_transcript_is_not_written_twice(stage: Stage) -> None:
    stage.happen(*exchange("go", "one"))
    stage.happen(*exchange("look", "x" * 2 * TAIL_SIZE))
    before = stage.lines()
    stage.reopen()
    assert stage.lines() == before


def test_a_fork_has_a_transcript_of_its_own_with_the_whole_past(stage: Stage) -> None:
    """H6-3"""
    stage.happen(*exchange("go", "one"))
    fork_id = new_id()
    fork = stage.store.fork(stage.session_id, fork_id)
    projection = stage.project(fork_id)
    projection.resume(fork.read())
    for event in exchange("fork", "two"):
        projection.write(fork.append(event))
    assert stage.messages(fork_id) == ["go", [text("one")], "fork", [text("two")]]
    assert stage.messages() == ["go", [text("one")]]
    assert {json.loads(line)["sessionId"] for line in Path(projection.path).read_text().splitlines()} == {fork_id}
    fork.close()


def test_the_mirror_gives_each_line_once(stage: Stage) -> None:
    """The host that keeps its own store gets the very lines of the file."""
    taken: list[dict[str, Any]] = []
    for event in [*exchange("go", "one"), *exchange("on", "two")]:
        stage.happen(event)
        taken += stage.projection.drain()
    assert taken == stage.lines()
    assert stage.projection.drain() == []


def test_nothing_said_leaves_no_file(stage: Stage) -> None:
    stage.happen(Noted("just a remark"))
    assert not Path(stage.projection.path).exists()


def test_a_transcript_that_cannot_be_written_stops_nothing(stage: Stage) -> None:
    stage.config.write_text("a file where a folder should be")
    stage.happen(*exchange("go", "one"))
    assert "is no longer written" in stage.projection.failure
    assert stage.projection.drain() == []


def test_text_that_is_no_unicode_is_written_all_the_same(stage: Stage) -> None:
    stage.happen(*exchange("half \ud83d", "ok"))
    assert stage.projection.failure == ""
    assert stage.messages()[0] == "half �"


def test_what_we_write_we_can_import(stage: Stage) -> None:
    """H6-3: there and back."""
    events = [*exchange("go", "one"), *exchange("on", "two")]
    stage.happen(*events)
    messages = [event for event in events if isinstance(event, Prompted | MessageDone)]
    imported = [entry.event for entry in read_entries(stage.projection.path)]
    assert [event for event in imported if isinstance(event, Prompted | MessageDone)] == messages


def test_only_the_owner_can_read_it(stage: Stage) -> None:
    stage.happen(*exchange("go", "one"))
    path = Path(stage.projection.path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
