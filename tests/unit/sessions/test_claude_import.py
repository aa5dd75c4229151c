"""Import of Claude Code transcripts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bobstay.model.event import (
    BlockDone,
    Decided,
    Durable,
    MessageDone,
    Prompted,
    RunDone,
    SessionStarted,
    ToolDone,
    TurnStarted,
)
from bobstay.model.message import Image, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.sessions.claude_import import find_transcript, import_transcript, read_entries
from bobstay.sessions.claude_paths import directory_name
from bobstay.sessions.log_store import LogStore


def line(uuid: str, parent: str | None, kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "type": kind,
        "message": message,
        "uuid": uuid,
        "timestamp": "2026-01-02T03:04:05.678Z",
        "cwd": "/w",
        "sessionId": "s",
        "version": "2.1.0",
        **more,
    }


def asked(uuid: str, parent: str | None, content: Any, **more: Any) -> dict[str, Any]:
    return line(uuid, parent, "user", {"role": "user", "content": content}, **more)


def answered(uuid: str, parent: str | None, block: Any, message: str, stop: str | None, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4}
    body = {"id": message, "role": "assistant", "model": "big", "content": [block], "stop_reason": stop, "usage": usage}
    return line(uuid, parent, "assistant", body, **more)


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": name}}


def result(name: str, content: Any = "ok") -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": name, "content": content}]


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}

PARALLEL: list[dict[str, Any]] = [
    {"type": "queue-operation", "operation": "enqueue", "content": "go", "sessionId": "s"},
    asked("u1", None, "go", permissionMode="plan"),
    line("x1", "u1", "attachment", {}, attachment={"type": "environment"}),
    answered("a1", "x1", {"type": "thinking", "thinking": "hm", "signature": "sig"}, "m1", "tool_use"),
    answered("a2", "a1", call("c1"), "m1", "tool_use", requestId="req"),
    answered("a3", "a2", call("c2"), "m1", "tool_use", requestId="req"),
    asked(
        "r2",
        "a3",
        result("c2", [text("two"), IMAGE]),
        toolUseResult={"stdout": "two", "interrupted": True},
        permissionDecision={"decision": "accept", "source": "config", "reasonType": "mode"},
    ),
    asked("r1", "a2", result("c1"), toolUseResult="Error: no"),
    {"type": "last-prompt", "lastPrompt": "go", "leafUuid": "r1"},
    answered("a4", "r1", text("done"), "m2", "end_turn"),
    asked("u2", "a4", [text("and this?"), IMAGE]),
]


def read_events(path: Path) -> Iterator[Durable]:
    return (imported.event for imported in read_entries(path))


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_folders_of_transcripts_are_named_as_their_readers_expect(tmp_path: Path) -> None:
    assert directory_name("/work space/a.b_c") == "-work-space-a-b-c"
    assert directory_name("/h/\u00e9x") == "-h--x"
    assert directory_name("/" + "x" * 300) == "-" + "x" * 199 + "-x8zr69"
    (tmp_path / "link").symlink_to("real")
    assert directory_name(str(tmp_path / "link")) == directory_name(str(tmp_path / "real"))


LOCAL = (
    "<command-name>/model</command-name>\n            <command-message>model</command-message>",
    "<local-command-stdout>Set model to Opus</local-command-stdout>",
    "<bash-input>ls</bash-input>",
    "<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>",
)
"""As `claude` writes what was typed that is not for the model."""


def test_commands_that_say_nothing_to_the_model_begin_no_turn(tmp_path: Path) -> None:
    first = [asked("u1", None, "go"), answered("a1", "u1", text("done"), "m1", "end_turn")]
    lines = [asked(f"l{place}", f"l{place - 1}" if place else "a1", content) for place, content in enumerate(LOCAL)]
    events = list(read_events(write(tmp_path / "s.jsonl", [*first, *lines])))
    assert [event.why for event in events if isinstance(event, Prompted)] == ["", *["imported"] * len(LOCAL)]
    assert [event.ending for event in events if isinstance(event, RunDone)] == ["completed"]


def test_a_command_that_is_a_prompt_begins_a_turn(tmp_path: Path) -> None:
    content = "<command-message>foo</command-message>\n<command-name>/foo</command-name>"
    lines = [asked("u1", None, content), answered("a1", "u1", text("done"), "m1", "end_turn")]
    events = list(read_events(write(tmp_path / "s.jsonl", lines)))
    assert [event.origin for event in events if isinstance(event, Prompted)] == ["human"]
    assert [event.turn for event in events if isinstance(event, TurnStarted)] == [1]


def test_a_transcript_becomes_the_events_of_a_session(tmp_path: Path) -> None:
    """H6-3: results of calls made side by side hang off their own calls, and all belong."""
    path = write(tmp_path / "s.jsonl", PARALLEL)
    events = list(read_events(path))
    usage = Usage(10, 2, 3, 4)
    assert isinstance(events[0], SessionStarted)
    assert (events[0].cwd, events[0].model, events[0].imported_from) == ("/w", "big", str(path))
    assert events[1:] == [
        Prompted("u1", (Text("go"),)),
        TurnStarted(1, "big", "plan"),
        BlockDone("m1", 0, Thinking("hm", "sig", "anthropic"), "big"),
        BlockDone("m1", 1, ToolCall("c1", "Bash", {"command": "c1"}), "big"),
        BlockDone("m1", 2, ToolCall("c2", "Bash", {"command": "c2"}), "big"),
        MessageDone("m1", "big", "tool_use", usage, request_id="req"),
        ToolDone(
            ToolReply("c2", (Text("two"), Image("image/png", "AAAA"))),
            "Bash",
            {"stdout": "two", "interrupted": True},
            decided=Decided("accept", "config", "mode"),
            interrupted=True,
        ),
        ToolDone(ToolReply("c1", (Text("ok"),)), "Bash", "Error: no"),
        BlockDone("m2", 0, Text("done"), "big"),
        MessageDone("m2", "big", "end_turn", usage),
        RunDone("completed", "done", "end_turn", turns=2),
        Prompted("u2", (Text("and this?"), Image("image/png", "AAAA"))),
        TurnStarted(2, "big", "default"),
        RunDone("interrupted_streaming"),
    ]


def test_the_branch_that_was_left_is_not_imported(tmp_path: Path) -> None:
    """H6-3: the chain is followed from the last line back."""
    lines = [
        asked("u1", None, "one"),
        answered("a1", "u1", text("left"), "m1", "end_turn"),
        answered("b1", "u1", call("c"), "m2", "tool_use"),
        asked("r0", "b1", result("c", "left too")),
        asked("r1", "b1", result("c", "taken")),
        answered("b2", "r1", text("right"), "m3", "end_turn"),
    ]
    events = list(read_events(write(tmp_path / "s.jsonl", lines)))
    assert [event.block for event in events if isinstance(event, BlockDone) and isinstance(event.block, Text)] == [
        Text("right")
    ]
    assert [event.reply.text for event in events if isinstance(event, ToolDone)] == ["taken"]


def test_what_no_person_wrote_is_not_a_persons(tmp_path: Path) -> None:
    """H6-3: after a compaction the summary stands for all before it."""
    lines = [
        asked("u0", None, "long ago"),
        line("c0", None, "system", {}, subtype="compact_boundary", logicalParentUuid="u0"),
        asked("u1", "c0", "In short: ...", isCompactSummary=True),
        asked("u2", "u1", "<caveat>", isMeta=True),
        asked("u3", "u2", "go on"),
        answered("a1", "u3", text("par"), "m1", None),
        asked("u4", "a1", [text("[Request interrupted by user]")]),
        line("q1", "u4", "attachment", {}, attachment={"type": "queued_command", "prompt": "hurry"}),
    ]
    prompts = [event for event in read_events(write(tmp_path / "s.jsonl", lines)) if isinstance(event, Prompted)]
    assert [(prompt.id, prompt.origin, prompt.why) for prompt in prompts] == [
        ("u1", "harness", "compact_summary"),
        ("u2", "harness", "imported"),
        ("u3", "human", ""),
        ("u4", "harness", "interrupt"),
        ("q1", "human", ""),
    ]


def test_side_talk_and_unknown_lines_are_left_out(tmp_path: Path) -> None:
    lines = [
        {"type": "summary", "summary": "x", "leafUuid": "a1"},
        asked("u1", None, "one"),
        answered("a1", "u1", text("yes"), "m1", "end_turn"),
        answered("s1", "a1", text("aside"), "m9", "end_turn", isSidechain=True),
        {"type": "from-the-future", "uuid": "f1", "parentUuid": "a1"},
        line("a2", "a1", "assistant", {"content": [{"type": "server_tool_use"}, "odd", None], "model": 7}),
    ]
    events = list(read_events(write(tmp_path / "s.jsonl", lines)))
    assert [type(event) for event in events] == [SessionStarted, Prompted, TurnStarted, BlockDone, MessageDone, RunDone]


def test_bad_lines_cost_only_themselves(tmp_path: Path) -> None:
    """F1: a torn end, garbage, and half a surrogate pair, which other programs may write."""
    good = [json.dumps(line).encode() for line in PARALLEL[1:]]
    surrogate = json.dumps(asked("u3", "u2", "half \ud83d")).encode()
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join([*good[:2], b"\xff garbage", *good[2:], b"[]", surrogate, b'{"type":"user","uu']))
    store = LogStore(str(tmp_path / "sessions"))
    log = import_transcript(store, "s", path)
    log.close()
    prompts = [entry.event for entry in store.read_branch("s")[0] if isinstance(entry.event, Prompted)]
    assert [prompt.blocks[0] for prompt in prompts] == [Text("go"), Text("and this?"), Text("half �")]


def test_a_parent_that_is_missing_ends_the_chain_and_a_circle_is_walked_once(tmp_path: Path) -> None:
    lines = [asked("a", "b", "one"), asked("b", "a", "two"), asked("c", "b", "three")]
    assert sum(isinstance(event, Prompted) for event in read_events(write(tmp_path / "circle.jsonl", lines))) == 3
    lines = [asked("a", None, "one"), asked("c", "lost", "three")]
    assert sum(isinstance(event, Prompted) for event in read_events(write(tmp_path / "lost.jsonl", lines))) == 1


def test_nothing_readable_gives_no_events(tmp_path: Path) -> None:
    assert list(read_events(tmp_path / "none.jsonl")) == []
    (tmp_path / "empty.jsonl").write_text("\n")
    assert list(read_events(tmp_path / "empty.jsonl")) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(data=st.data())
def test_a_transcript_damaged_anywhere_never_raises(data: st.DataObject, tmp_path: Path) -> None:
    """Each field in turn may be missing or of any type."""
    odd = st.sampled_from([None, 1, True, [], {}, "", "x", [None], {"type": "x"}, [{"type": "tool_result"}]])
    lines = json.loads(json.dumps(PARALLEL))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.sampled_from(lines))
        while True:
            key = data.draw(st.sampled_from(sorted(place)))
            if isinstance(place[key], dict) and place[key] and data.draw(st.booleans()):
                place = place[key]
                continue
            place[key] = data.draw(odd)
            break
    for imported in read_entries(write(tmp_path / "s.jsonl", lines)):
        assert imported.id


def test_an_adopted_session_keeps_the_names_of_its_lines(tmp_path: Path) -> None:
    """H6-3: so that a host can resume at an entry it knows."""
    store = LogStore(str(tmp_path / "sessions"))
    import_transcript(store, "s", write(tmp_path / "s.jsonl", PARALLEL)).close()
    log, branch, warnings = store.open("s", at="a4")
    log.close()
    assert warnings == []
    assert isinstance(branch[-1].event, RunDone)
    assert {"u1", "a1", "a2", "a3", "r1", "r2", "a4"} <= {entry.id for entry in branch}
    assert "u2" not in {entry.id for entry in branch}
    assert branch[1].at == pytest.approx(1767323045.678)
    assert store.list("/w")[0].first_prompt == "go"


def test_a_transcript_is_found_by_directory_and_then_anywhere(tmp_path: Path) -> None:
    """H6-3: long names are compared without the part that programs make differently."""
    deep = tmp_path / ("d" * 150) / ("e" * 150)
    deep.mkdir(parents=True)
    long_name = directory_name(str(deep))
    assert len(long_name) > 200
    for folder in (directory_name(str(tmp_path)), long_name[:201] + "other", "-somewhere"):
        (tmp_path / "config" / "projects" / folder).mkdir(parents=True)
        (tmp_path / "config" / "projects" / folder / "s1.jsonl").write_text("")
    (tmp_path / "config" / "projects" / "-somewhere" / "s2.jsonl").write_text("")
    config = str(tmp_path / "config")
    assert (found := find_transcript(config, str(tmp_path), "s1")) is not None
    assert found.parent.name == directory_name(str(tmp_path))
    assert (found := find_transcript(config, str(deep), "s1")) is not None
    assert found.parent.name == long_name[:201] + "other"
    assert (found := find_transcript(config, str(tmp_path), "s2")) is not None
    assert found.parent.name == "-somewhere"
    for bad in ("none", "../s1", "", ".", ".."):
        assert find_transcript(config, str(tmp_path), bad) is None
    assert find_transcript(str(tmp_path / "nowhere"), str(tmp_path), "s1") is None
