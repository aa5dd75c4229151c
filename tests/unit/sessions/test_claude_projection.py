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


class ProjectedSession:
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
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProjectedSession:
    return ProjectedSession(tmp_path, monkeypatch)


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


def test_the_sdk_lists_the_session_and_reads_its_messages(session: ProjectedSession) -> None:
    """H6-3"""
    session.happen(*exchange("first prompt", "hello"), *exchange("second prompt", "again"))
    (listed,) = list_sessions(directory=str(session.cwd))
    assert (listed.session_id, listed.first_prompt, listed.summary) == (
        session.session_id,
        "first prompt",
        "second prompt",
    )
    assert (listed.cwd, listed.git_branch) == (str(session.cwd), "main")
    assert session.messages() == ["first prompt", [text("hello")], "second prompt", [text("again")]]


def test_a_line_says_how_its_message_ended_and_where_it_was_said(session: ProjectedSession) -> None:
    session.happen(ModeChanged("plan"), *exchange("hi", "hello"))
    prompt, answer, _ = session.lines()
    assert prompt["permissionMode"] == "plan"
    assert answer["message"]["stop_reason"] == "end_turn"
    assert answer["message"]["usage"]["output_tokens"] == 7
    assert answer["parentUuid"] == prompt["uuid"]
    for line in (prompt, answer):
        assert (line["sessionId"], line["cwd"], line["version"]) == (session.session_id, str(session.cwd), "9.9")
        assert (line["userType"], line["entrypoint"], line["isSidechain"]) == ("external", "sdk-py", False)
        assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize("order", ["abAB", "aAbB", "abBA", "aAb.B", "ab.BA"])
def test_calls_side_by_side_are_read_whole_whatever_the_order_of_their_ends(
    session: ProjectedSession, order: str
) -> None:
    """H2-5: a call may be done while its message still streams; its result is written after it all the same."""
    events: dict[str, Durable] = {
        "a": BlockDone("m1", 0, call("c1")),
        "b": BlockDone("m1", 1, call("c2")),
        "A": done("c1"),
        "B": done("c2"),
        ".": MessageDone("m1", "big", "tool_use", Usage()),
    }
    session.happen(Prompted("p", (Text("go"),)))
    session.happen(*(events[key] for key in (order if "." in order else order + ".")))
    session.happen(BlockDone("m2", 0, Text("fin")), MessageDone("m2", "big", "end_turn", Usage()), RunDone("completed"))
    messages = session.messages()
    assert messages[0] == "go"
    assert messages[-1] == [text("fin")]
    assert sorted(messages[1:-1], key=str) == sorted(
        [[use("c1")], [use("c2")], [result("c1")], [result("c2")]], key=str
    )
    assert messages.index([use("c1")]) < messages.index([result("c1")])
    assert messages.index([use("c2")]) < messages.index([result("c2")])
    first, second = [line for line in session.lines() if line.get("message", {}).get("id") == "m1"]
    assert second["parentUuid"] == first["uuid"]
    replies = [line for line in session.lines() if "toolUseResult" in line]
    assert all(line["parentUuid"] == line["sourceToolAssistantUUID"] for line in replies)
    assert replies[0]["toolUseResult"] == {"stdout": "ok"}
    assert replies[0]["permissionDecision"] == {"decision": "accept", "source": "rule", "reasonType": "mode"}


def test_every_block_has_its_line(session: ProjectedSession) -> None:
    image = Image("image/png", "AAAA")
    session.happen(
        Prompted("p", (Text("look"), image)),
        BlockDone("m1", 0, Thinking("hm", "sig", "anthropic")),
        BlockDone("m1", 1, call("c1")),
        MessageDone("m1", "big", "tool_use", Usage()),
        ToolDone(ToolReply("c1", (Text("a"), image), is_error=True)),
    )
    source = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    assert session.messages() == [
        [text("look"), source],
        [{"type": "thinking", "thinking": "hm", "signature": "sig"}],
        [use("c1")],
        [{"type": "tool_result", "tool_use_id": "c1", "content": [text("a"), source], "is_error": True}],
    ]
    assert session.lines()[-1]["toolUseResult"] == "Error: a"


def test_a_message_cut_short_is_written_without_an_ending(session: ProjectedSession) -> None:
    session.happen(
        Prompted("p", (Text("go"),)),
        BlockDone("m1", 0, Text("par"), partial=True),
        Prompted(new_id(), (Text("[Request interrupted by user]"),), "harness", why="interrupt"),
        RunDone("interrupted_streaming"),
    )
    assert session.messages() == ["go", [text("par")], "[Request interrupted by user]"]
    assert session.lines()[1]["message"]["stop_reason"] is None


def test_the_harness_speaks_behind_the_scenes(session: ProjectedSession) -> None:
    session.happen(
        Prompted("p", (Text("go"),)),
        Prompted("q", (Text("keep to the plan"),), "hook", why="stop_hook"),
        *exchange("more", "fine"),
    )
    assert session.messages() == ["go", "more", [text("fine")]]
    assert session.lines()[1]["isMeta"] is True


def test_a_sub_agents_events_are_no_part_of_the_talk(session: ProjectedSession) -> None:
    session.happen(*exchange("go", "one"))
    session.projection.write(session.log.append(BlockDone("m9", 0, Text("aside")), agent="explorer", parent_call="c"))
    session.happen(*exchange("on", "two"))
    assert session.messages() == ["go", [text("one")], "on", [text("two")]]


def test_a_prompt_is_called_as_the_host_called_it(session: ProjectedSession) -> None:
    session.happen(Prompted(new_id(), (Text("go"),), client_id=HOST_ID))
    assert session.lines()[0]["uuid"] == HOST_ID


def test_resuming_adds_to_the_same_file(session: ProjectedSession) -> None:
    """H6-3"""
    session.happen(*exchange("go", "one"))
    before = session.lines()
    session.reopen()
    session.happen(*exchange("on", "two"))
    assert session.lines()[: len(before)] == before
    assert len(session.lines()) == 2 * len(before)
    assert session.messages() == ["go", [text("one")], "on", [text("two")]]


def test_resuming_at_an_entry_leads_readers_along_the_new_branch(session: ProjectedSession) -> None:
    """H6-3"""
    session.happen(*exchange("go", "one"), *exchange("wrong", "turn"))
    session.reopen(at=session.lines()[1]["uuid"])
    session.happen(*exchange("right", "turn"))
    assert session.messages() == ["go", [text("one")], "right", [text("turn")]]


def test_what_a_crash_kept_from_the_transcript_is_caught_up(session: ProjectedSession) -> None:
    """F1: the transcript is torn; the log is the truth."""
    session.happen(*exchange("go", "one"), *exchange("on", "two"))
    whole = Path(session.projection.path).read_bytes()
    for size in (0, 10, len(whole) // 3, len(whole) // 2, len(whole) - 300):
        session.projection.close()
        Path(session.projection.path).write_bytes(whole[:size])
        session.reopen()
        assert session.messages() == ["go", [text("one")], "on", [text("two")]]


def test_a_message_that_never_ended_is_written_once_when_the_session_is_taken_up(session: ProjectedSession) -> None:
    """F3: the process died while the model spoke."""
    session.happen(Prompted(new_id(), (Text("go"),)), BlockDone("m1", 0, Text("half")))
    session.log.close()
    session.log, branch, _ = session.store.open(session.session_id)
    session.projection = session.project(session.session_id)
    session.projection.resume(branch)
    assert session.messages() == ["go", [text("half")]]
    before = session.lines()
    session.reopen()
    session.happen(Noted("x"))
    assert session.lines() == before


def test_a_long_transcript_is_not_written_twice(session: ProjectedSession) -> None:
    session.happen(*exchange("go", "one"))
    session.happen(*exchange("look", "x" * 2 * TAIL_SIZE))
    before = session.lines()
    session.reopen()
    assert session.lines() == before


def test_a_fork_has_a_transcript_of_its_own_with_the_whole_past(session: ProjectedSession) -> None:
    """H6-3"""
    session.happen(*exchange("go", "one"))
    fork_id = new_id()
    fork = session.store.fork(session.session_id, fork_id)
    projection = session.project(fork_id)
    projection.resume(fork.read())
    for event in exchange("fork", "two"):
        projection.write(fork.append(event))
    assert session.messages(fork_id) == ["go", [text("one")], "fork", [text("two")]]
    assert session.messages() == ["go", [text("one")]]
    assert {json.loads(line)["sessionId"] for line in Path(projection.path).read_text().splitlines()} == {fork_id}
    fork.close()


def test_the_mirror_gives_each_line_once(session: ProjectedSession) -> None:
    """The host that keeps its own store gets the very lines of the file."""
    taken: list[dict[str, Any]] = []
    for event in [*exchange("go", "one"), *exchange("on", "two")]:
        session.happen(event)
        taken += session.projection.drain()
    assert taken == session.lines()
    assert session.projection.drain() == []


def test_nothing_said_leaves_no_file(session: ProjectedSession) -> None:
    session.happen(Noted("just a remark"))
    assert not Path(session.projection.path).exists()


def test_a_transcript_that_cannot_be_written_stops_nothing(session: ProjectedSession) -> None:
    session.config.write_text("a file where a folder should be")
    session.happen(*exchange("go", "one"))
    assert "is no longer written" in session.projection.failure
    assert session.projection.drain() == []


def test_text_that_is_no_unicode_is_written_all_the_same(session: ProjectedSession) -> None:
    session.happen(*exchange("half \ud83d", "ok"))
    assert session.projection.failure == ""
    assert session.messages()[0] == "half �"


def test_what_we_write_we_can_import(session: ProjectedSession) -> None:
    """H6-3: there and back."""
    events = [*exchange("go", "one"), *exchange("on", "two")]
    session.happen(*events)
    messages = [event for event in events if isinstance(event, Prompted | MessageDone)]
    imported = [entry.event for entry in read_entries(session.projection.path)]
    assert [event for event in imported if isinstance(event, Prompted | MessageDone)] == messages


def test_only_the_owner_can_read_it(session: ProjectedSession) -> None:
    session.happen(*exchange("go", "one"))
    path = Path(session.projection.path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


# ---------------------------------------------------------------- sub-agents


def test_a_chain_holds_across_entries_of_sub_agents(session: ProjectedSession) -> None:
    """Agents share the log: those in the background write between the entries of the session."""
    session.happen(Prompted(new_id(), (Text("One?"),)), TurnStarted(1, "m", "default"))
    session.log.append(Prompted(new_id(), (Text("task"),), "harness", why="agent"), agent="helper_1")
    session.happen(
        BlockDone("m1", 0, Text("One."), "m"), MessageDone("m1", "big", "end_turn", Usage()), RunDone("completed")
    )
    assert session.messages() == ["One?", [{"type": "text", "text": "One."}]]


def test_a_sub_agent_has_a_transcript_of_its_own(session: ProjectedSession) -> None:
    origin = TranscriptOrigin(session.session_id, str(session.cwd), "9.9", agent="helper_1")
    child = ClaudeProjection(str(session.config), origin)
    prompt = Prompted(new_id(), (Text("task"),), "harness", why="agent")
    for event in (prompt, BlockDone("c1", 0, Text("Done."), "m"), MessageDone("c1", "big", "end_turn", Usage())):
        session.happen(Noted("of the session"))
        child.write(session.log.append(event, agent="helper_1"))
    child.close()
    path = Path(child.path)
    assert path.parent.parent == Path(session.projection.path).with_suffix("")
    assert (path.parent.name, path.name) == ("subagents", "agent-helper_1.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["isSidechain"], line["agentId"], line["sessionId"]) for line in lines] == [
        (True, "helper_1", session.session_id)
    ] * 2
    assert [line["message"]["role"] for line in lines] == ["user", "assistant"]
    assert "isMeta" not in lines[0]
    assert (lines[0]["parentUuid"], lines[1]["parentUuid"]) == (None, lines[0]["uuid"])
