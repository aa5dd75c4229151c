"""Minimises the command of a hole by removing everything it does not need."""

import re
from collections.abc import Callable

PIECE = re.compile(r"\s+|\w+|.", re.DOTALL)
MOST_TRIES = 300


def minimise(command: str, still_fails: Callable[[str], bool], most_tries: int = MOST_TRIES) -> str:
    """The shortest command found that still fails, by removing ever smaller runs of its pieces."""
    pieces = PIECE.findall(command)
    size = max(1, len(pieces) // 2)
    tries = 0
    while True:
        position, shrunk = 0, False
        while position < len(pieces) and tries < most_tries:
            tries += 1
            shorter = pieces[:position] + pieces[position + size :]
            if shorter and still_fails("".join(shorter)):
                pieces, shrunk = shorter, True
            else:
                position += size
        if tries >= most_tries or (size == 1 and not shrunk):
            return "".join(pieces)
        size = size if shrunk and size == 1 else max(1, size // 2)
