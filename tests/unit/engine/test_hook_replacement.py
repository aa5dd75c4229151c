"""The output of a hook that replaces a result has the result's shape, or is refused with the difference."""

from typing import Any

import pytest

from bobstay.engine.hook_replacement import WrongShapeError, replace_result
from bobstay.tools.base import Outcome
from bobstay.tools.builtin.read import Read

SHAPE = {"path": "a", "count": 1, "lines": ["x"], "where": {}, "whole": True, "note": None}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (SHAPE, {**SHAPE, "path": 1}, "'path', a text"),
        (SHAPE, {**SHAPE, "count": "1"}, "'count', a number"),
        (SHAPE, {**SHAPE, "lines": "x"}, "'lines', a list"),
        (SHAPE, {**SHAPE, "where": []}, "'where', an object"),
        (SHAPE, "text", "must be an object"),
        ("text", {}, "must be a text"),
        (["x"], "text", "must be a list"),
    ],
)
def test_another_shape_is_refused_with_the_one_that_is_expected(old: Any, new: Any, expected: str) -> None:
    with pytest.raises(WrongShapeError, match=expected):
        replace_result(Read(), Outcome("words", display=old), new)


def test_a_number_may_be_of_either_kind_and_what_may_be_missing_may_be_missing() -> None:
    new = {"path": "b", "count": 1.5, "lines": [], "where": {"x": 1}}
    assert replace_result(Read(), Outcome("words", display=SHAPE), new)[1] == new
