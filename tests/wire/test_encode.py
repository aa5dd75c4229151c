"""Encoding of each kind of event as frames."""

from typing import Any

import pytest
from msgspec import Struct, field

from bobstay.model.event import (
    BlockDone,
    Decided,
    Event,
    MessageDone,
    ModeChanged,
    ModelChanged,
    Noted,
    Prompted,
    RunDone,
    ToolDone,
    TurnStarted,
)
from bobstay.model.ids import is_uuid
from bobstay.model.live_events import InputDelta, MessageBegan, Retrying, TextDelta
from bobstay.model.message import Image, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.wire.event_encoder import EventEncoder
from bobstay.wire.wire_frames import Facts, Frame
from tests.kit.processor_work import calls

SESSION = "5e551017-0000-4000-8000-000000000001"
HOST_ID = "0057aaaa-0000-4000-8000-000000000002"
FACTS = Facts(cwd="/w", tools=("Bash", "Read"), model="m-1", mode="default", api_key_source="ANTHROPIC_API_KEY")
CALL = ToolCall("call_1", "Bash", {"command": "ls"})


class Model(Struct):
    usage: Usage = Usage(100, 20)
    cost: float = 0.5
    window: int = 200_000
    max_output: int = 64_000


class Sum(Struct):
    cost_usd: float = 0.5
    api_ms: int = 47
    models: dict[str, Model] = field(default_factory=lambda: {"m-1": Model()})


def encoder(*, partial: bool = False, replay: bool = False) -> EventEncoder:
    return EventEncoder(SESSION, lambda: FACTS, Sum, partial=partial, replay=replay)


def turn(subject: EventEncoder, *events: Event, client_id: str = "") -> list[Frame]:
    opening: tuple[Event, ...] = (Prompted("p1", (Text("hi"),), client_id=client_id), TurnStarted(1, "m-1", "default"))
    return [frame for event in (*opening, *events) for frame in subject.frames(event)]


def lines(text: str = "Hello.") -> BlockDone:
    return BlockDone("msg_1", 0, Text(text), "m-1", Usage(100, 1))


def ended(stop: Any = "end_turn") -> MessageDone:
    return MessageDone("msg_1", "m-1", stop, Usage(100, 20))


def kinds(frames: list[Frame]) -> list[str]:
    return [frame.get("subtype") or frame["type"] if frame["type"] == "system" else frame["type"] for frame in frames]


def test_a_plain_turn_is_init_then_the_answer_then_one_result() -> None:
    frames = turn(encoder(), lines(), ended(), RunDone("completed", text="Hello.", stop="end_turn", duration_ms=5))
    assert kinds(frames) == ["init", "assistant", "result"]


def test_every_frame_carries_the_session_and_an_id_of_its_own() -> None:
    frames = turn(encoder(partial=True, replay=True), lines(), ended(), RunDone("completed", text="Hello."))
    assert all(frame["session_id"] == SESSION and is_uuid(frame["uuid"]) for frame in frames[:1] + frames[2:])
    assert len({frame["uuid"] for frame in frames}) == len(frames)


def test_a_block_is_sent_alone_with_the_usage_as_of_the_beginning() -> None:
    (frame,) = encoder().frames(lines())
    assert frame["message"] == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m-1",
        "content": [{"type": "text", "text": "Hello."}],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 100,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 1,
        },
    }
    assert frame["parent_tool_use_id"] is None
    assert "aborted" not in frame


def test_thinking_carries_its_signature_because_hosts_demand_the_key() -> None:
    (frame,) = encoder().frames(BlockDone("msg_1", 0, Thinking("Hm.", "c2ln"), "m-1"))
    assert frame["message"]["content"] == [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]


def test_a_block_cut_short_is_marked_aborted() -> None:
    (frame,) = encoder().frames(BlockDone("msg_1", 0, Text("Hel"), "m-1", partial=True))
    assert frame["aborted"] is True


def test_a_tool_result_goes_with_its_display_and_how_it_was_permitted() -> None:
    subject = encoder()
    turn(subject, BlockDone("msg_1", 0, CALL, "m-1"))
    done = ToolDone(
        ToolReply("call_1", (Text("a.txt"),)),
        name="Bash",
        display={"stdout": "a.txt"},
        decided=Decided("accept", "config", "mode"),
    )
    (frame,) = subject.frames(done)
    assert frame["message"]["content"] == [
        {"tool_use_id": "call_1", "type": "tool_result", "content": "a.txt", "is_error": False}
    ]
    assert frame["tool_use_result"] == {"stdout": "a.txt"}
    assert frame["tool_result_meta"] == [
        {"id": "call_1", "permission_decision": {"decision": "accept", "source": "config", "reason_type": "mode"}}
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no such file", "Error: no such file"),
        ("<tool_use_error>Error: No such tool: X</tool_use_error>", "Error: No such tool: X"),
    ],
)
def test_a_failed_call_shows_its_error_as_text(text: str, shown: str) -> None:
    (frame,) = encoder().frames(ToolDone(ToolReply("call_1", (Text(text),), is_error=True), display={"a": 1}))
    assert frame["tool_use_result"] == shown
    assert frame["message"]["content"][0]["content"] == text


def test_an_image_in_a_reply_is_sent_as_a_block() -> None:
    (frame,) = encoder().frames(ToolDone(ToolReply("call_1", (Text("here"), Image("image/png", "AAAA")))))
    assert [part["type"] for part in frame["message"]["content"][0]["content"]] == ["text", "image"]


def denied(source: str, reason_type: str = "") -> ToolDone:
    reply = ToolReply("call_1", (Text("no"),), is_error=True)
    return ToolDone(reply, name="Bash", denied=True, decided=Decided("reject", source, reason_type))


def test_a_denial_by_rule_or_mode_is_announced() -> None:
    frames = turn(encoder(), BlockDone("msg_1", 0, CALL, "m-1"), denied("config", "mode"), RunDone("completed"))
    assert kinds(frames) == ["init", "assistant", "permission_denied", "user", "result"]
    assert (frames[2]["tool_name"], frames[2]["tool_use_id"], frames[2]["message"]) == ("Bash", "call_1", "no")
    assert frames[2]["decision_reason_type"] == "mode"


@pytest.mark.parametrize(("source", "report"), [("user_temporary", "user_reject"), ("hook", "hook")])
def test_a_denial_by_a_person_or_hook_is_only_in_the_result(source: str, report: str) -> None:
    frames = turn(encoder(), BlockDone("msg_1", 0, CALL, "m-1"), denied(source), RunDone("completed"))
    assert kinds(frames) == ["init", "assistant", "user", "result"]
    assert frames[2]["tool_result_meta"][0]["permission_decision"]["source"] == report
    assert frames[3]["permission_denials"] == [
        {"tool_name": "Bash", "tool_use_id": "call_1", "tool_input": {"command": "ls"}}
    ]


def test_denials_are_not_carried_into_the_next_turn() -> None:
    subject = encoder()
    turn(subject, BlockDone("msg_1", 0, CALL, "m-1"), denied("hook"), RunDone("completed"))
    assert turn(subject, RunDone("completed"))[-1]["permission_denials"] == []


def test_words_of_the_harness_are_synthetic_and_count_as_a_turn() -> None:
    reminder = Prompted("p2", (Text("go on"),), "harness", why="output_limit")
    frames = turn(encoder(), lines(), reminder, lines(), RunDone("completed", text="x"))
    assert frames[2]["isSynthetic"] is True
    assert frames[2]["message"]["content"] == [{"type": "text", "text": "go on"}]
    assert frames[-1]["num_turns"] == 2


def test_notes_for_the_model_alone_are_not_shown() -> None:
    note = Prompted("p2", (Text("<system-reminder>x</system-reminder>"),), "hook", why="PostToolUse:Bash")
    assert kinds(turn(encoder(), note, RunDone("completed"))) == ["init", "result"]


def test_three_tools_make_four_turns() -> None:
    replies = [ToolDone(ToolReply(f"c{number}", (Text("x"),))) for number in range(3)]
    assert turn(encoder(), *replies, RunDone("completed"))[-1]["num_turns"] == 4


def test_an_interrupt_is_told_once_whether_or_not_the_loop_says_so() -> None:
    report = Prompted("p2", (Text("[Request interrupted by user]"),), "harness", why="interrupt")
    for events in ([report], []):
        frames = turn(encoder(), *events, RunDone("interrupted_streaming"))
        assert kinds(frames) == ["init", "user", "result"]
        assert frames[1]["message"]["content"] == [{"type": "text", "text": "[Request interrupted by user]"}]
        assert "isSynthetic" not in frames[1]
        assert frames[2]["num_turns"] == 2


def test_an_api_error_is_also_a_message_in_the_model_place() -> None:
    done = RunDone("api_error", text="API Error: 429 slow down", status=429, error="rate_limit")
    frames = turn(encoder(), done)
    assert kinds(frames) == ["init", "assistant", "result"]
    message = frames[1]
    assert (message["message"]["model"], message["error"]) == ("<synthetic>", "rate_limit")
    assert (message["api_error_status"], message["api_error_type"]) == (429, "rate_limit_error")
    assert message["is_api_error_message"] is True


def test_a_retry_says_when_and_why() -> None:
    (frame,) = encoder().frames(Retrying(1, 10, 0.585, 529, "server_error"))
    fields = {
        key: frame[key] for key in ("subtype", "attempt", "max_retries", "retry_delay_ms", "error_status", "error")
    }
    assert fields == {
        "subtype": "api_retry",
        "attempt": 1,
        "max_retries": 10,
        "retry_delay_ms": 585,
        "error_status": 529,
        "error": "overloaded",
    }


def test_a_fallback_names_both_models_and_a_wish_is_silent() -> None:
    (frame,) = encoder().frames(ModelChanged("small", "fallback", "big"))
    assert (frame["subtype"], frame["original_model"], frame["fallback_model"]) == ("model_fallback", "big", "small")
    assert list(encoder().frames(ModelChanged("small"))) == []


def test_a_mode_is_told_once_by_whoever_notices_first() -> None:
    subject = encoder()
    turn(subject, RunDone("completed"))
    (frame,) = subject.frames(ModeChanged("acceptEdits"))
    assert (frame["subtype"], frame["status"], frame["permissionMode"]) == ("status", None, "acceptEdits")
    assert list(subject.mode("acceptEdits")) == []
    assert next(iter(subject.mode("plan")))["permissionMode"] == "plan"


def test_a_prompt_is_echoed_after_init_with_the_id_the_host_gave() -> None:
    frames = turn(encoder(replay=True), RunDone("completed"), client_id=HOST_ID)
    assert kinds(frames) == ["command_lifecycle", "init", "user", "result", "command_lifecycle"]
    echo = frames[2]
    assert (echo["isReplay"], echo["uuid"], echo["message"]["content"]) == (True, HOST_ID, "hi")
    assert [frames[0]["state"], frames[4]["state"]] == ["started", "completed"]
    assert frames[3]["user_message_uuids"] == [HOST_ID]


def test_a_prompt_folded_in_is_echoed_in_its_place_and_is_no_turn() -> None:
    folded = Prompted("p2", (Text("also"),), client_id=HOST_ID, why="steer")
    frames = turn(encoder(replay=True), ToolDone(ToolReply("c", ())), folded, RunDone("completed"))
    assert kinds(frames) == ["init", "user", "user", "user", "command_lifecycle", "command_lifecycle", "result"]
    assert frames[3]["message"]["content"] == "also"
    assert frames[-1]["num_turns"] == 2


def test_without_the_flag_nothing_is_echoed() -> None:
    assert kinds(turn(encoder(), RunDone("completed"))) == ["init", "result"]


def test_a_note_before_the_turn_waits_for_init() -> None:
    subject = encoder()
    frames = [
        frame for event in (Noted("careful"), TurnStarted(1, "m-1", "default")) for frame in subject.frames(event)
    ]
    assert kinds(frames) == ["init", "informational"]


def test_usage_is_of_the_turn_and_totals_are_of_the_session() -> None:
    frames = turn(encoder(), lines(), ended("tool_use"), lines(), ended(), RunDone("completed", text="Hello."))
    result = frames[-1]
    assert (result["usage"]["input_tokens"], result["usage"]["output_tokens"]) == (200, 40)
    assert (result["total_cost_usd"], result["duration_api_ms"]) == (0.5, 47)
    assert result["modelUsage"]["m-1"]["contextWindow"] == 200_000
    assert result["stop_reason"] == "end_turn"


def test_twenty_thousand_pieces_cost_next_to_nothing_where_nobody_wants_them() -> None:
    subject = encoder()
    pieces: list[Event] = [TextDelta("msg_1", 0, "word "), InputDelta("msg_1", 1, "{")] * 10_000
    with calls() as made:
        for piece in pieces:
            assert subject.frames(piece) == ()
    assert len(made) <= 3 * len(pieces), "nothing is made that is thrown away"


def test_deltas_are_streamed_where_they_are_wanted() -> None:
    subject = encoder(partial=True)
    subject.frames(MessageBegan("msg_1", "m-1", Usage(100, 1)))
    (frame,) = subject.frames(TextDelta("msg_1", 0, "word"))
    assert frame["event"] == {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "word"},
    }
