"""A model that goes round in circles is reminded, then stopped (H3-6, F24)."""

from hypothesis import given
from hypothesis import strategies as st

from bobstay.engine.repeat_guard import FinishedCall, RepeatGuard
from bobstay.model.event import Decided, ToolDone
from bobstay.model.message import Text, ToolCall, ToolReply


def finished(
    name: str, argument: str = "", result: str = "same", *, error: bool = False, polls: bool = False
) -> FinishedCall:
    reply = ToolReply("id", (Text(result),), is_error=error)
    return FinishedCall(ToolCall("id", name, {"a": argument}), ToolDone(reply), polls)


def add(repeats: RepeatGuard, *calls: FinishedCall) -> str:
    repeats.add(calls)
    return repeats.check()[0]


def test_the_same_call_with_the_same_result_is_reminded_at_three_and_six_and_stopped_at_ten() -> None:
    repeats = RepeatGuard()
    decisions = [add(repeats, finished("Read")) for _ in range(10)]
    assert decisions == ["", "", "remind", "", "", "remind", "", "", "", "stop"]


def test_the_same_call_with_new_results_is_progress() -> None:
    repeats = RepeatGuard()
    assert [add(repeats, finished("Read", result=str(number))) for number in range(20)] == [""] * 20


def test_different_inputs_never_count_though_all_fail_alike() -> None:
    repeats = RepeatGuard()
    failing = [finished("Bash", f"grep -q x f{number}", "Exit code 1", error=True) for number in range(20)]
    assert [add(repeats, each) for each in failing] == [""] * 20


def test_calls_of_one_answer_count_once() -> None:
    repeats = RepeatGuard()
    assert add(repeats, *[finished("Read")] * 30) == ""
    assert add(repeats, *[finished("Read")] * 30) == ""
    assert add(repeats, finished("Read")) == "remind"


def test_a_call_repeated_beside_others_counts() -> None:
    repeats = RepeatGuard()
    decisions = [add(repeats, finished("Edit"), finished("Read", str(number), str(number))) for number in range(10)]
    assert (decisions[2], decisions[5], decisions[9]) == ("remind", "remind", "stop")


def test_two_calls_in_turn_are_a_circle_too() -> None:
    repeats = RepeatGuard()
    decisions = [add(repeats, finished("Read" if number % 2 else "Grep")) for number in range(20)]
    assert [number for number, decision in enumerate(decisions) if decision == "remind"] == [5, 11]
    assert decisions.index("stop") == 19


def test_waiting_and_polling_never_count() -> None:
    repeats = RepeatGuard()
    poll, look = finished("Wait", polls=True), finished("Look", polls=True)
    assert [add(repeats, each) for _ in range(20) for each in (poll, look)] == [""] * 40


def test_a_check_after_each_wait_is_polling() -> None:
    repeats = RepeatGuard()
    steps = (finished("Wait", polls=True), finished("Bash", "curl localhost", "refused", error=True))
    assert [add(repeats, each) for _ in range(20) for each in steps] == [""] * 40


def test_what_a_person_refuses_never_counts() -> None:
    repeats = RepeatGuard()
    reply = ToolReply("id", (Text("no"),), is_error=True)
    refused = ToolDone(reply, denied=True, decided=Decided("reject", "user_temporary"))
    assert [add(repeats, FinishedCall(ToolCall("id", "Bash", {}), refused)) for _ in range(20)] == [""] * 20


def test_what_a_rule_refuses_counts() -> None:
    repeats = RepeatGuard()
    reply = ToolReply("id", (Text("no"),), is_error=True)
    refused = ToolDone(reply, denied=True, decided=Decided("reject", "config", "rule"))
    assert [add(repeats, FinishedCall(ToolCall("id", "Bash", {}), refused)) for _ in range(10)][-1] == "stop"


def test_different_work_in_between_starts_the_count_anew() -> None:
    repeats = RepeatGuard()
    for _ in range(2):
        add(repeats, finished("Read"))
    add(repeats, finished("Bash", "x", "y"))
    assert add(repeats, finished("Read")) == ""


def test_a_word_from_a_person_starts_the_count_anew() -> None:
    repeats = RepeatGuard()
    for _ in range(9):
        add(repeats, finished("Read"))
    repeats.reset()
    assert add(repeats, finished("Read")) == ""


def test_the_order_of_keys_makes_no_other_input() -> None:
    repeats = RepeatGuard()
    done = ToolDone(ToolReply("id", (Text("same"),)))
    inputs = ({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1}, {"a": 1, "b": {"c": 1, "d": 2}})
    assert [add(repeats, FinishedCall(ToolCall("id", "Edit", each), done)) for each in inputs][-1] == "remind"


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), max_size=40))
def test_no_run_is_stopped_unless_one_call_or_one_pair_came_back_ten_times(steps: list[list[str]]) -> None:
    repeats = RepeatGuard()
    for number, step in enumerate(steps, 1):
        if add(repeats, *[finished(name) for name in step]) == "stop":
            last = [set(each) for each in steps[:number]][::-1]
            single = any(all(name in each for each in last[:10]) for name in last[0])
            assert single or len(last) >= 20
            return
