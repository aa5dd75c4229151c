"""Replaces a tool's result with the output of a hook, which must have the same shape."""

from typing import Any

from bobstay.model.message import ReplyPart, Text
from bobstay.tools.base import Outcome, Tool


class WrongShapeError(ValueError):
    """The hook's output cannot replace the result."""


def replace_result(tool: Tool[Any], outcome: Outcome, new: Any) -> tuple[str | tuple[ReplyPart, ...], Any]:
    """Return the new content for the model and the new display for people.

    Raises:
        WrongShapeError: `new` does not have the shape of the result.
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
        # Flags and empty fields are optional in results, so they may be missing here too.
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
