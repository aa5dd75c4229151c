"""Result frames for each ending of a run."""

from typing import get_args

import pytest

from bobstay.model.event import Ending, RunDone
from bobstay.model.message import ToolCall, Usage
from bobstay.wire.result_frame import RESULT_ROWS, Tally, refused_start, result_frame
from tests.wire.test_encode import SESSION, Sum

REQUIRED = {"type", "subtype", "duration_ms", "duration_api_ms", "is_error", "num_turns", "session_id", "uuid"}


def frame(done: RunDone, tally: Tally | None = None) -> dict[str, object]:
    return result_frame(SESSION, done, tally or Tally(), Sum(), 0)


def test_every_ending_has_a_row() -> None:
    assert set(RESULT_ROWS) == set(get_args(Ending))


@pytest.mark.parametrize("ending", get_args(Ending))
def test_every_result_has_what_hosts_demand(ending: Ending) -> None:
    result = frame(RunDone(ending, text="said"))
    assert result.keys() >= REQUIRED
    assert ("result" in result) != ("errors" in result)


@pytest.mark.parametrize(
    ("ending", "subtype", "is_error", "reason"),
    [
        ("completed", "success", False, "completed"),
        ("api_error", "success", True, "api_error"),
        ("prompt_too_long", "success", True, "prompt_too_long"),
        ("max_output", "success", True, "api_error"),
        ("refused", "success", True, "api_error"),
        ("max_turns", "error_max_turns", True, "max_turns"),
        ("max_cost", "error_max_budget_usd", True, "budget_exhausted"),
        ("interrupted_streaming", "error_during_execution", True, "aborted_streaming"),
        ("interrupted_tools", "error_during_execution", True, "aborted_tools"),
        ("hook_stopped", "success", False, "hook_stopped"),
        ("deferred", "success", False, "tool_deferred"),
    ],
)
def test_endings_have_the_words_hosts_know(ending: Ending, subtype: str, is_error: bool, reason: str) -> None:
    result = frame(RunDone(ending, text="said"))
    assert (result["subtype"], result["is_error"], result["terminal_reason"]) == (subtype, is_error, reason)


def test_a_limit_is_an_error_without_a_result() -> None:
    result = frame(RunDone("max_turns", text="Reached maximum number of turns (2)"))
    assert result["errors"] == ["Reached maximum number of turns (2)"]


def test_an_ending_without_words_still_says_something() -> None:
    assert frame(RunDone("interrupted_tools"))["errors"] != [""]


def test_a_blocked_prompt_made_no_turn_and_has_no_reason() -> None:
    result = frame(RunDone("prompt_blocked", text="blocked"), Tally(user_frames=1))
    assert (result["num_turns"], result["is_error"], result["result"]) == (0, False, "blocked")
    assert "terminal_reason" not in result


def test_a_deferred_call_is_handed_to_the_host() -> None:
    result = frame(RunDone("deferred", deferred=ToolCall("c1", "Bash", {"command": "ls"})))
    assert result["deferred_tool_use"] == {"id": "c1", "name": "Bash", "input": {"command": "ls"}}
    assert result["stop_reason"] == "tool_deferred"


def test_structured_output_stands_beside_its_text() -> None:
    result = frame(RunDone("completed", text='{"a":1}', structured={"a": 1}, stop="tool_use"))
    assert (result["structured_output"], result["result"]) == ({"a": 1}, '{"a":1}')


def test_an_api_error_tells_status_and_kind() -> None:
    result = frame(RunDone("api_error", text="API Error: 400 bad", status=400, error="unknown"))
    assert (result["api_error_status"], result["api_error_type"]) == (400, "invalid_request_error")
    assert result["stop_reason"] == "stop_sequence"


def test_the_last_stop_stands_where_the_ending_gives_none() -> None:
    assert frame(RunDone("max_turns"), Tally(stop="tool_use", usage=Usage(1, 1)))["stop_reason"] == "tool_use"


def test_a_session_that_cannot_be_opened_is_a_result_too() -> None:
    result = refused_start(SESSION, "No conversation found with session ID: x")
    assert result.keys() >= REQUIRED
    assert (result["subtype"], result["num_turns"]) == ("error_during_execution", 0)
