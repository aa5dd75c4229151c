"""What a hook puts in the place of a tool's result: only something of the same shape, and then nothing of the old."""

from typing import Any

from bobstay.model.message import ReplyPart, Text
from bobstay.tools.base import Outcome, Tool


class WrongShapeError(ValueError):
    """What came cannot stand in the result's place."""


def replaced(tool: Tool[Any], outcome: Outcome, new: Any) -> tuple[str | tuple[ReplyPart, ...], Any]:
    """Content for the model and display for people.

    Raises:
        WrongShapeError: the shape is another.
    """
    old = outcome.display if outcome.display is not None else outcome.content
    if isinstance(old, tuple):
        old = "\n".join(part.text for part in old if isinstance(part, Text))
    _check(old, new)
    return tool.content_of(new), new


def _check(old: Any, new: Any) -> None:
    if not isinstance(old, dict):
        if not isinstance(new, type(old)):
            raise WrongShapeError(f"updatedToolOutput must be {_kind(old)}, as the result is; it was not used.")
        return
    if not isinstance(new, dict):
        raise WrongShapeError("updatedToolOutput must be an object, as the result is; it was not used.")
    for name, value in old.items():
        # What may be missing from a result may be missing here; what it is made of may not.
        if value is None or isinstance(value, bool):
            continue
        given = new.get(name)
        fits = isinstance(given, int | float) if isinstance(value, int | float) else isinstance(given, type(value))
        if not fits:
            raise WrongShapeError(f"updatedToolOutput must have {name!r}, {_kind(value)}; it was not used.")


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "a text"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else "a number"
