"""A model that goes round in circles is reminded, then stopped (H3-6, F24)."""

from bobstay.engine.repeat import Repeats
from bobstay.model.event import ToolDone
from bobstay.model.message import Text, ToolCall, ToolReply


def add(repeats: Repeats, name: str, argument: str = "", result: str = "same", *, error: bool = False) -> str:
    call = ToolCall("id", name, {"a": argument})
    repeats.add(call, ToolDone(ToolReply("id", (Text(result),), is_error=error)))
    return repeats.verdict()[0]


def test_the_same_call_with_the_same_result_is_reminded_at_three_and_stopped_at_five() -> None:
    repeats = Repeats()
    assert [add(repeats, "Read") for _ in range(5)] == ["", "", "remind", "", "stop"]


def test_the_same_call_with_new_results_is_progress() -> None:
    repeats = Repeats()
    assert [add(repeats, "Read", result=str(number)) for number in range(8)] == [""] * 8


def test_two_calls_in_turn_are_a_circle_too() -> None:
    repeats = Repeats()
    verdicts = [add(repeats, "Read" if number % 2 else "Grep") for number in range(10)]
    assert "remind" in verdicts
    assert verdicts[-1] == "stop"


def test_the_same_error_again_and_again_is_a_circle_whatever_the_input() -> None:
    repeats = Repeats()
    verdicts = [add(repeats, "Edit", str(number), "not found", error=True) for number in range(5)]
    assert verdicts == ["", "", "remind", "", "stop"]


def test_different_work_in_between_starts_the_count_anew() -> None:
    repeats = Repeats()
    for _ in range(2):
        add(repeats, "Read")
    add(repeats, "Bash", "x", "y")
    assert add(repeats, "Read") == ""


def test_a_word_from_a_person_starts_the_count_anew() -> None:
    repeats = Repeats()
    for _ in range(4):
        add(repeats, "Read")
    repeats.forget()
    assert add(repeats, "Read") == ""
