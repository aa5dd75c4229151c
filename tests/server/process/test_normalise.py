"""The normaliser converts frames of any content to events."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.model.event import (
    BlockDone,
    HookRan,
    MessageDone,
    ModeChanged,
    ModelChanged,
    Noted,
    Prompted,
    Raw,
    RunDone,
    TasksReplaced,
    ToolDone,
)
from bobstay.model.live_events import (
    BlockBegan,
    InputDelta,
    MessageBegan,
    Requesting,
    Retrying,
    TextDelta,
    ThinkingDelta,
)
from bobstay.model.message import Text, Thinking, ToolCall
from bobstay.server.workers.process.line_splitter import LineSplitter, TooLong
from bobstay.server.workers.process.normaliser import Normaliser
from bobstay.server.workers.process.turn_results import find_ending
from bobstay.sessions.log_codec import to_json

json_values: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        2**70,
        0.5,
        "",
        "text",
        "\ud800",
        [],
        {},
        [[]],
        [{}],
        {"a": {"b": [1]}},
        {"type": 3},
        {"id": []},
    ]
)
"""Values of every kind, where another is expected."""
ids = st.sampled_from(["toolu_1", "toolu_2", "", "msg_1", "msg_2"])
blocks = st.one_of(
    json_values,
    st.fixed_dictionaries({"type": st.just("text"), "text": json_values | st.text(max_size=5)}),
    st.fixed_dictionaries({"type": st.just("tool_use"), "id": ids, "name": st.just("Bash"), "input": json_values}),
    st.fixed_dictionaries({"type": st.just("tool_result"), "tool_use_id": ids, "content": json_values}),
)
TYPES = (
    *("system", "assistant", "user", "result", "stream_event", "tool_use", "tool_result", "error", "rate_limit_event"),
    *("command_lifecycle", "conversation_reset", "never_heard_of", ""),
)
frames = st.fixed_dictionaries(
    {"type": st.sampled_from(TYPES) | json_values},
    optional={
        "subtype": st.sampled_from(["init", "status", "task_started", "api_retry", "success", "error_max_turns", "x"]),
        "message": json_values
        | st.fixed_dictionaries(
            {"id": ids, "content": st.lists(blocks, max_size=3) | json_values, "usage": json_values}
        ),
        "event": json_values
        | st.fixed_dictionaries(
            {
                "type": st.sampled_from(
                    ["message_start", "content_block_start", "content_block_delta", "message_delta"]
                ),
                "index": json_values,
                "delta": json_values,
                "message": json_values,
                "content_block": json_values,
            }
        ),
        "parent_tool_use_id": ids | json_values,
        "agent_id": json_values,
        "session_id": json_values,
        "uuid": json_values,
        "is_error": json_values,
        "terminal_reason": st.sampled_from(["completed", "aborted_tools", "max_turns"]) | json_values,
        "tool_use_result": json_values,
        "tool_result_meta": json_values,
        "total_cost_usd": json_values,
        "usage": json_values,
        "id": ids,
        "name": json_values,
        "tool_use_id": ids,
        "permissionMode": json_values,
    },
)


@settings(max_examples=150)
@given(st.lists(frames, max_size=8))
def test_no_frame_breaks_it_and_calls_come_before_their_results(given_frames: list[dict[str, Any]]) -> None:
    """S000-13, FM-8, FM-9, FM-10, FM-11"""
    normaliser = Normaliser()
    messages = [messages for frame in given_frames for messages in normaliser.feed(frame)]
    results = sum(frame.get("type") == "result" for frame in given_frames)
    assert sum(isinstance(entry.event, RunDone) for entry in messages) == results
    messages += normaliser.close_turn()
    assert not normaliser.open_calls
    seen: set[str] = set()
    answered: set[str] = set()
    marked = ""
    for entry in messages:
        to_json(entry.event)
        event = entry.event
        if isinstance(event, BlockDone) and isinstance(event.block, ToolCall):
            seen.add(event.block.id)
        elif isinstance(event, ToolDone):
            answered.add(event.reply.call_id)
            assert event.reply.call_id in seen or event.reply.call_id in marked
        elif isinstance(event, Noted):
            marked += event.text
    assert seen <= answered, "each call has an answer in the end"


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), max_size=8), st.data())
def test_lines_are_the_same_however_they_are_cut(texts: list[str], data: st.DataObject) -> None:
    """S000-8, S000-9"""
    whole = "\n".join(texts).encode()
    lines = LineSplitter(longest=12)
    found: list[bytes | TooLong] = []
    place = 0
    while place < len(whole):
        size = data.draw(st.integers(1, 9))
        found += lines.feed(whole[place : place + size])
        place += size
    found += lines.rest()
    wanted: list[bytes | TooLong] = []
    for text in texts:
        line = text.encode()
        if len(line) > 12:
            wanted.append(TooLong(len(line), line[:13]))
        elif line.strip():
            wanted.append(line.strip())
    assert found == wanted


def events(*given_frames: dict[str, Any], normaliser: Normaliser | None = None) -> list[Any]:
    used = normaliser or Normaliser()
    return [messages.event for frame in given_frames for messages in used.feed(frame)]


def assistant(*content: dict[str, Any], id: str = "m1", **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 5, "output_tokens": 1}
    return {"type": "assistant", "message": {"id": id, "model": "m", "content": list(content), "usage": usage}, **more}


def results(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": list(content)}, **more}


def call(id: str, name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def reply(id: str, text: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": text, **more}


RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "bye", "num_turns": 2}


def test_blocks_of_one_answer_are_numbered_and_the_answer_ends_with_the_turn() -> None:
    """S000-11, S000-12"""
    found = events(
        assistant({"type": "thinking", "thinking": "hm", "signature": "s"}),
        assistant({"type": "text", "text": "hello"}),
        assistant({"type": "server_tool_use", "id": "x"}),
        {**RESULT, "usage": {"output_tokens": 9}, "total_cost_usd": 0.25, "duration_ms": 7},
    )
    thinking, text, unknown, message, done = found
    assert (thinking.index, text.index) == (0, 1)
    assert isinstance(thinking.block, Thinking)
    assert text.block == Text("hello")
    assert unknown == Raw({"type": "assistant", "message_id": "m1", "block": {"type": "server_tool_use", "id": "x"}})
    assert isinstance(message, MessageDone)
    assert (message.usage.output, message.cost, message.stop) == (9, 0.25, "end_turn")
    assert done == RunDone("completed", "bye", turns=2, duration_ms=7)


def test_pieces_are_shown_and_count_at_the_end() -> None:
    """S003-8, S004-16"""

    def piece(**event: Any) -> dict[str, Any]:
        return {"type": "stream_event", "event": event}

    began = {"id": "m1", "model": "m", "usage": {"input_tokens": 5, "output_tokens": 1}}
    found = events(
        {"type": "system", "subtype": "status", "status": "requesting"},
        piece(type="message_start", message=began),
        piece(type="content_block_start", index=0, content_block={"type": "text", "text": ""}),
        piece(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "he"}),
        piece(type="content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "hm"}),
        piece(type="content_block_start", index=1, content_block={"type": "tool_use", "id": "c", "name": "Bash"}),
        piece(type="content_block_delta", index=1, delta={"type": "tool_use_delta", "partial_json": "{"}),
        assistant(call("c", "Bash")),
        piece(type="message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 30}),
        piece(type="message_stop"),
    )
    kinds = [
        Requesting,
        MessageBegan,
        BlockBegan,
        TextDelta,
        ThinkingDelta,
        BlockBegan,
        InputDelta,
        BlockDone,
        MessageDone,
    ]
    assert [type(event) for event in found] == kinds
    assert found[5] == BlockBegan("m1", 1, "tool_call", "c", "Bash")
    assert (found[-1].usage.input, found[-1].usage.output, found[-1].stop) == (5, 30, "tool_use")


def test_calls_and_results_as_frames_of_their_own_are_the_same_events() -> None:
    """S003-7: and one that is told in both ways is one."""
    found = events(
        {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}},
        assistant(call("c1", "Bash", command="ls")),
        {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"},
        RESULT,
    )
    calls = [event.block for event in found if isinstance(event, BlockDone)]
    assert calls == [ToolCall("c1", "Bash", {"command": "ls"})]
    (done,) = [event for event in found if isinstance(event, ToolDone)]
    assert (done.name, done.reply.text) == ("Bash", "a.txt")


def test_flat_frames_of_calls_and_results_are_kept_whole() -> None:
    """S003-7: `tool_use{tool}` and `tool_result{result}`, with a text or an object as the result."""
    found = events(
        {"type": "tool_use", "tool": "Edit", "input": {"file_path": "a"}, "id": "t1"},
        {"type": "tool_result", "tool_use_id": "t1", "result": "done"},
        {"type": "tool_use", "tool": "Bash", "input": {"command": "ls"}, "id": "t2"},
        {"type": "tool_result", "tool_use_id": "t2", "result": {"stdout": "a.txt"}, "is_error": True},
        {"type": "tool_result", "tool_use_id": "t3", "result": "of a call that was never told"},
        {"type": "tool_result", "tool_use_id": "t4", "output": "under another name"},
        RESULT,
    )
    assert not [event for event in found if isinstance(event, Raw)]
    calls = [event.block for event in found if isinstance(event, BlockDone)]
    assert calls == [ToolCall("t1", "Edit", {"file_path": "a"}), ToolCall("t2", "Bash", {"command": "ls"})]
    done = [event for event in found if isinstance(event, ToolDone)]
    assert [(one.name, one.reply.text, one.reply.is_error) for one in done] == [
        ("Edit", "done", False),
        ("Bash", '{"stdout":"a.txt"}', True),
        ("", "of a call that was never told", False),
        ("", '{"output":"under another name"}', False),
    ]


def test_flat_pieces_and_words_of_the_system_are_shown() -> None:
    """S003-8, S003-7"""
    found = events(
        {"type": "system", "message": "warming up"},
        {"type": "stream_event", "event_type": "text_delta", "delta": "he"},
        {"type": "stream_event", "event_type": "text_delta", "delta": "llo"},
        {"type": "stream_event", "event_type": "tool_use_delta", "delta": '{"a":'},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "hello"}]}},
        RESULT,
    )
    assert not [event for event in found if isinstance(event, Raw)]
    assert found[0] == Noted("warming up")
    assert [event.text for event in found if isinstance(event, TextDelta)] == ["he", "llo"]
    assert [event.json for event in found if isinstance(event, InputDelta)] == ['{"a":']
    (block,) = [event for event in found if isinstance(event, BlockDone)]
    assert block.message_id == next(event.message_id for event in found if isinstance(event, MessageBegan))


def test_words_of_a_sub_agent_stand_under_its_call() -> None:
    """S000-32"""
    normaliser = Normaliser()
    normaliser.feed(assistant(call("parent", "Agent", prompt="look")))
    inner = {"parent_tool_use_id": "parent", "agent_id": "a1", "subagent_type": "reviewer"}
    messages = normaliser.feed(results({"type": "text", "text": "look"}, **inner))
    messages += normaliser.feed(assistant(call("child", "Read"), id="m2", **inner))
    messages += normaliser.feed(results(reply("child"), **inner))
    assert {(entry.parent_call, entry.agent) for entry in messages} == {("parent", "reviewer")}
    assert isinstance(messages[0].event, Prompted)
    assert messages[0].event.why == "subagent"
    assert normaliser.agent("a1") == ("reviewer", "parent")


def test_lists_of_tasks_are_followed_through_both_families_of_tools() -> None:
    """S002-1, S002-5, S002-6"""
    todos = [{"content": "one", "status": "completed", "activeForm": "doing one"}, {"content": "two", "status": "odd"}]
    found = events(assistant(call("t", "TodoWrite", todos=todos)), results(reply("t")))
    (replaced,) = [event for event in found if isinstance(event, TasksReplaced)]
    assert [(task.content, task.status, task.active_form) for task in replaced.tasks] == [
        ("one", "completed", "doing one"),
        ("two", "pending", ""),
    ]
    made = {"task": {"id": "1", "subject": "First"}}
    changed = {"success": True, "taskId": "1"}
    found = events(
        assistant(call("a", "TaskCreate", subject="First", activeForm="Doing")),
        results(reply("a"), tool_use_result=made),
        assistant(call("b", "TaskUpdate", taskId="1", status="in_progress"), id="m2"),
        results(reply("b"), tool_use_result=changed),
        assistant(call("c", "TaskUpdate", taskId="1", status="deleted"), id="m3"),
        results(reply("c"), tool_use_result=changed),
    )
    lists = [
        [(task.content, task.status) for task in event.tasks] for event in found if isinstance(event, TasksReplaced)
    ]
    assert lists == [[("First", "pending")], [("First", "in_progress")], []]


def test_a_failed_call_changes_no_tasks() -> None:
    found = events(assistant(call("t", "TodoWrite", todos=[])), results(reply("t", is_error=True)))
    assert not [event for event in found if isinstance(event, TasksReplaced)]


def test_what_an_engine_says_about_itself() -> None:
    """S002-15, S003-13"""
    normaliser = Normaliser(model="opus", mode="default")
    found = events(
        {"type": "system", "subtype": "init", "session_id": "s1", "model": "opus-5", "permissionMode": "plan"},
        {"type": "system", "subtype": "init", "session_id": "s1", "model": "opus-5", "permissionMode": "plan"},
        {"type": "system", "subtype": "status", "status": None, "permissionMode": "default"},
        {
            "type": "system",
            "subtype": "api_retry",
            "attempt": 1,
            "max_retries": 2,
            "retry_delay_ms": 500,
            "error": "busy",
        },
        {"type": "system", "subtype": "model_fallback", "original_model": "opus-5", "fallback_model": "sonnet-5"},
        {"type": "system", "subtype": "hook_response", "hook_name": "h", "hook_event": "Stop", "outcome": "success"},
        {"type": "tool_progress", "tool_use_id": "t", "tool_name": "Bash", "elapsed_time_seconds": 30},
        {"type": "system", "subtype": "session_state_changed", "state": "idle"},
        {"type": "system", "subtype": "brand_new"},
        {"type": "error", "error": {"message": "oh no"}},
        normaliser=normaliser,
    )
    assert found == [
        ModelChanged("opus-5", previous="opus"),
        ModeChanged("plan"),
        ModeChanged("default"),
        Retrying(1, 2, 0.5, None, "busy"),
        ModelChanged("sonnet-5", "fallback", "opus-5"),
        HookRan("h", "Stop", "success"),
        Raw({"type": "system", "subtype": "brand_new"}),
        Noted("oh no", "error"),
    ]
    assert normaliser.engine_session == "s1"
    assert normaliser.model == "sonnet-5"


def test_a_refused_resume_does_not_change_the_known_talk() -> None:
    normaliser = Normaliser()
    normaliser.engine_session = "known"
    failed = {"type": "result", "subtype": "error_during_execution", "is_error": True, "num_turns": 0}
    (done,) = events({**failed, "session_id": "other", "errors": ["No conversation found"]}, normaliser=normaliser)
    assert (done.ending, done.text) == ("failed", "No conversation found")
    assert normaliser.engine_session == "known"


def test_endings() -> None:
    """S000-23, S004-18"""

    def ending(interrupting: bool = False, **frame: Any) -> str:
        return find_ending({"type": "result", **frame}, interrupting=interrupting)

    assert ending(subtype="success", is_error=False) == "completed"
    assert ending(subtype="success", is_error=False, terminal_reason="hook_stopped") == "hook_stopped"
    assert ending(subtype="success", is_error=True, terminal_reason="api_error") == "api_error"
    assert ending(subtype="success", is_error=True, api_error="max_output_tokens") == "max_output"
    assert ending(subtype="success", is_error=True, terminal_reason="prompt_too_long") == "prompt_too_long"
    assert ending(subtype="error_max_turns", is_error=True) == "max_turns"
    assert ending(subtype="error_max_budget_usd", is_error=True) == "max_cost"
    assert ending(subtype="error_during_execution", is_error=True) == "failed"
    assert ending(True, subtype="error_during_execution", is_error=True) == "interrupted_streaming"
    assert (
        ending(subtype="error_during_execution", is_error=True, terminal_reason="aborted_tools") == "interrupted_tools"
    )
    assert ending(True, subtype="success", is_error=False) == "completed", "it had ended before the interrupt came"
    assert ending() == "completed"


def test_echoes_of_our_own_prompts_say_nothing_and_others_are_kept() -> None:
    """S003-2"""
    normaliser = Normaliser()
    normaliser.sent.add("u1")
    normaliser.feed({"type": "command_lifecycle", "command_uuid": "u1", "state": "queued"})
    assert normaliser.queued == {"u1"}
    echo = results({"type": "text", "text": "hi"}, isReplay=True, uuid="u1")
    assert events(echo, normaliser=normaliser) == []
    assert not normaliser.queued
    local = {
        "type": "user",
        "isReplay": True,
        "message": {"content": "<local-command-stdout>Set</local-command-stdout>"},
    }
    assert events(local, normaliser=normaliser) == [Noted("Set")]
    stopped = results({"type": "text", "text": "[Request interrupted by user]"}, uuid="u2")
    assert events(stopped) == [Prompted("u2", (Text("[Request interrupted by user]"),), "harness", why="interrupt")]
