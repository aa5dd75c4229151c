"""Error of a tool call that the model is meant to read."""

from typing import Any


class ToolError(Exception):
    """An expected failure. Its text is returned to the model as an error result."""

    def __init__(self, message: str, *, display: Any = None) -> None:
        super().__init__(message)
        self.display = display
