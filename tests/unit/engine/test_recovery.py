"""What is tried after a failed model call, as a table (H3-3, H3-5, F5, F7, F10)."""

import pytest

from bobstay.engine.agent import RetryPolicy
from bobstay.engine.limits import Limits, find_limit
from bobstay.engine.recovery import FallBack, GiveUp, Prune, Wait, after_error, prunable
from bobstay.engine.state import State
from bobstay.engine.turn_state import Recovery
from bobstay.model.event import BlockDone, MessageDone, Prompted, Pruned, ToolDone, TurnStarted
from bobstay.model.message import Image, Text, ToolCall, ToolReply, Usage
from bobstay.providers.base import ErrorKind, ProviderError

POLICY = RetryPolicy(attempts=2, first=0.1)


def conversation(replies: int) -> State:
    state = State().apply(Prompted("p", (Text("go"),)))
    for number in range(replies):
        state = state.apply(BlockDone(f"m{number}", 0, ToolCall(f"c{number}", "Read", {})))
        state = state.apply(ToolDone(ToolReply(f"c{number}", (Text("x" * 400),))))
    return state


@pytest.mark.parametrize("kind", ["rate_limit", "overloaded", "server", "timeout", "stalled", "connection", "protocol"])
def test_a_passing_fault_is_retried_a_bounded_number_of_times(kind: ErrorKind) -> None:
    recovery = Recovery()
    error = ProviderError("x", kind=kind)
    actions = [after_error(error, recovery, POLICY, State(), ()) for _ in range(3)]
    assert [type(action) for action in actions] == [Wait, Wait, GiveUp]


@pytest.mark.parametrize("kind", ["authentication", "permission", "invalid_request", "quota", "refused", "not_found"])
def test_a_lasting_fault_is_not_retried(kind: ErrorKind) -> None:
    action = after_error(ProviderError("no", kind=kind, status=400), Recovery(), POLICY, State(), ())
    assert action == GiveUp("api_error", "API Error: 400 no")


def pauses(retry_after: float | None, policy: RetryPolicy = POLICY, count: int = 1) -> list[float]:
    recovery, error = Recovery(), ProviderError("slow down", kind="rate_limit", status=429, retry_after=retry_after)
    actions = [after_error(error, recovery, policy, State(), ()) for _ in range(count)]
    return [action.seconds for action in actions if isinstance(action, Wait)]


def test_the_pause_the_service_asks_for_is_kept_and_spread() -> None:
    found = {pause for _ in range(64) for pause in pauses(7.5)}
    assert 7.5 <= min(found) < max(found) <= 7.5 * 1.25


def test_a_service_that_asks_for_no_pause_gets_the_growing_one_all_the_same() -> None:
    found = pauses(0.0, RetryPolicy(), 11)
    for own, pause in zip((0.5, 1, 2, 4, 8, 16, 32, 32, 32, 32), found, strict=True):
        assert own <= pause <= own * 1.25


def test_a_pause_too_long_to_wait_for_counts_as_refusal() -> None:
    error = ProviderError("tomorrow", kind="rate_limit", status=429, retry_after=86_400)
    assert isinstance(after_error(error, Recovery(), POLICY, State(), ()), GiveUp)


def test_an_overloaded_model_falls_back_to_the_next_after_three_tries() -> None:
    recovery, policy = Recovery(), RetryPolicy(attempts=10)
    error = ProviderError("busy", kind="overloaded", status=529)
    actions = [after_error(error, recovery, policy, State(), ("other",)) for _ in range(3)]
    assert [type(action) for action in actions] == [Wait, Wait, FallBack]
    assert actions[-1] == FallBack("other")


def test_a_prompt_too_long_prunes_old_output_then_all_but_the_last_and_then_says_so() -> None:
    recovery = Recovery()
    error = ProviderError("too long", kind="prompt_too_long", status=400)
    state = conversation(6)
    action = after_error(error, recovery, POLICY, state, ())
    assert action == Prune(("c0", "c1"), 200)
    state = state.apply(Pruned(("c0", "c1"), 200))
    assert after_error(error, recovery, POLICY, state, ()) == Prune(("c2", "c3", "c4"), 300)
    assert after_error(error, recovery, POLICY, conversation(6), ()) == GiveUp(
        "prompt_too_long", "Prompt is too long: too long"
    )


def test_after_progress_the_oldest_output_may_be_pruned_again() -> None:
    recovery = Recovery()
    error = ProviderError("too long", kind="prompt_too_long", status=400)
    after_error(error, recovery, POLICY, conversation(6), ())
    recovery.reset()
    assert isinstance(after_error(error, recovery, POLICY, conversation(6), ()), Prune)


def test_with_nothing_to_prune_a_prompt_too_long_ends_the_turn() -> None:
    error = ProviderError("too long", kind="prompt_too_long", status=400)
    assert isinstance(after_error(error, Recovery(), POLICY, conversation(0), ()), GiveUp)
    assert [reply.call_id for reply in prunable(conversation(2))] == ["c0"]


def test_an_image_the_service_refuses_is_left_out_once() -> None:
    recovery = Recovery()
    error = ProviderError("image exceeds", kind="image_too_large", status=400)
    shown = State().apply(Prompted("p", (Image("image/png", "aGk="),)))
    assert after_error(error, recovery, POLICY, shown, ()) == Prune((), 0, images=True)
    assert isinstance(after_error(error, recovery, POLICY, shown, ()), GiveUp)


def spent(cost: float, steps: int = 1) -> State:
    state = State().apply(TurnStarted(1, "demo", "default"))
    for _ in range(steps):
        state = state.apply(MessageDone("m", "demo", "end_turn", Usage(10, 10), cost=cost / steps))
    return state


@pytest.mark.parametrize(
    ("limits", "ending"),
    [
        (Limits(turns=2), "max_turns"),
        (Limits(cost=0.5), "max_cost"),
        (Limits(tokens=40), "max_tokens"),
        (Limits(seconds=5), "max_time"),
    ],
)
def test_each_limit_ends_with_its_own_name(limits: Limits, ending: str) -> None:
    """H3-2"""
    found = find_limit(limits, spent(1.0, 2), spent=1.0, elapsed=5.0)
    assert found is not None
    assert found.ending == ending
    assert find_limit(limits, State(), spent=0.0, elapsed=0.0) is None
