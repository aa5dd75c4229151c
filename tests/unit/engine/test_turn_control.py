"""How a turn is stopped from outside."""

from bobstay.engine.turn_control import TurnControl


def test_a_turn_that_a_person_stopped_does_not_end_for_its_time() -> None:
    control = TurnControl()
    control.abort()
    control.expire()
    assert (control.aborted, control.expired, control.reason) == (True, False, "by the user")


def test_a_turn_whose_time_is_over_says_so() -> None:
    control = TurnControl()
    control.expire()
    assert (control.aborted, control.expired) == (True, True)
    assert control.reason == "because the time for this run was over"
