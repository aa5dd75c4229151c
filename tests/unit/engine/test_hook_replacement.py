"""What a hook may put in the place of a tool's result (H2-3)."""

from typing import Any

import pytest

from bobstay.engine.hook_replacement import WrongShapeError, replace_result
from bobstay.model.message import Text
from bobstay.tools.base import Outcome
from bobstay.tools.builtin.glob import Glob


def test_a_text_takes_the_place_of_a_text() -> None:
    assert replace_result(Glob(), Outcome("old"), "new")[1] == "new"
    assert replace_result(Glob(), Outcome((Text("old"),)), "new")[1] == "new"


@pytest.mark.parametrize(("old", "new"), [("old", 3), ("old", {"a": 1}), ({"a": 1}, "text"), ({"a": 1}, {"b": 1})])
def test_another_shape_is_refused(old: Any, new: Any) -> None:
    with pytest.raises(WrongShapeError, match="was not used"):
        replace_result(Glob(), Outcome("text", display=old), new)
