"""How much work something is, where a clock would tell how busy the machine is."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SOME_JSON = json.dumps([{"id": number, "name": f"entry {number}", "tags": ["a", "b"]} for number in range(200)])


@contextmanager
def calls() -> Iterator[list[str]]:
    """The names of all functions this thread calls meanwhile."""
    made: list[str] = []

    def note(frame: FrameType, kind: str, about: Any) -> None:
        if kind in ("call", "c_call"):
            made.append(about.__name__ if kind == "c_call" else frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield made
    finally:
        sys.setprofile(before)


def multiples(work: Callable[[], object], rounds: int = 5) -> float:
    """How many times as much of the processor `work` takes as decoding some JSON right before it: the best round."""
    return min(_taken(work) / _taken(_yardstick) for _ in range(rounds))


def _yardstick() -> None:
    json.loads(_SOME_JSON)


def _taken(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return max(time.process_time() - began, 1e-6)
