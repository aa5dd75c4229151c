"""What must survive a power cut is on the disk before anything follows from it; the rest need not wait."""

import os

import pytest

from bobstay.model.background_events import BackgroundEnded
from bobstay.model.event import BlockDone, Durable, InputQueued, Prompted, RunDone, ToolStarted
from bobstay.model.message import Text
from bobstay.sessions import jsonl_log
from tests.kit.scripted_session import MakeSession

BLOCKS = (Text("words"),)


@pytest.mark.parametrize(
    ("event", "synced"),
    [
        (Prompted("p", BLOCKS), True),
        (Prompted("p", BLOCKS, "harness"), False),
        (InputQueued("q", BLOCKS, "queue"), True),
        (ToolStarted("c", "Bash", {}, read_only=False), True),
        (ToolStarted("c", "Read", {}, read_only=True), False),
        (BackgroundEnded("b", "c", "run the tests", "completed", 0), True),
        (BlockDone("m", 0, Text("an answer")), False),
        (RunDone("completed"), True),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, bool) else None,
)
async def test_prompts_and_calls_with_effects_are_on_the_disk_at_once(
    make_session: MakeSession, monkeypatch: pytest.MonkeyPatch, event: Durable, synced: bool
) -> None:
    session = make_session()
    written: list[int] = []

    def flush(fd: int) -> None:
        os.fsync(fd)
        written.append(fd)

    monkeypatch.setattr(jsonl_log, "_flush", flush)
    session.journal.record(event)
    assert bool(written) is synced
