"""The goals of the benchmarks: what counts as met."""

from benchmarks.contenders import OURS
from benchmarks.figures import Figures
from benchmarks.goals import goals
from benchmarks.run import Measured


def test_a_difference_that_noise_has_made_negative_meets_no_goal() -> None:
    """Ten megabytes cannot be read in less time than none: such a ratio was said to be below its limit."""
    runs = [
        Measured(OURS, "nothing", 1.0, 0.1, gaps=[0.010]),
        Measured(OURS, "lines", 1.0, 0.3, gaps=[0.200]),
        Measured("plain", "nothing", 1.0, 0.1, gaps=[0.010]),
        Measured("plain", "lines", 1.0, 0.2, gaps=[0.005]),
    ]
    found = {goal.text: goal for goal in goals(Figures(runs), [])}
    assert found["10 MB of lines: wall time"].met is None
    assert found["10 MB of lines: processor time"].met is True
