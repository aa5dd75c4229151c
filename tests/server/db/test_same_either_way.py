"""Tables written live, in any batches, equal those rebuilt from the logs, for any sequence of events."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.model.event import (
    Advised,
    BlockDone,
    Durable,
    InputQueued,
    InteractionClosed,
    InteractionOpened,
    MessageDone,
    ModelChanged,
    Noted,
    Prompted,
    Raw,
    RunDone,
    Task,
    TasksReplaced,
    ToolDone,
    ToolStarted,
    TurnStarted,
)
from bobstay.model.message import Image, Text, Thinking, ToolCall, ToolReply, Usage
from bobstay.model.session_events import (
    ArtifactMade,
    Configured,
    InterruptAsked,
    SessionChanged,
    SessionConfig,
    WorkerExited,
    WorkerStarted,
)
from bobstay.server.db import fulltext_dialects, task_table
from bobstay.server.db import projection_writer as writing
from bobstay.server.db.log_tail import offset_after
from tests.server.db.projected_sessions import ProjectedSessions

few = st.sampled_from(["a", "b", "c"])
message_text = st.text(max_size=12)
numbers = st.integers(0, 10**6)
money = st.floats(0, 100, allow_nan=False)
usages = st.builds(Usage, numbers, numbers, numbers, numbers)
inputs = st.dictionaries(
    message_text, st.one_of(message_text, numbers, st.none(), st.lists(message_text, max_size=2)), max_size=3
)
calls = st.builds(ToolCall, few, message_text, inputs)
replies = st.builds(ToolReply, few, st.lists(st.builds(Text, message_text), max_size=2).map(tuple), st.booleans())
blocks = st.one_of(
    st.builds(Text, message_text),
    st.builds(Thinking, message_text),
    st.builds(Image, st.just("image/png"), st.just("AAAA")),
    calls,
    replies,
)
statuses: Any = st.sampled_from(["pending", "in_progress", "completed"])
endings: Any = st.sampled_from(["completed", "interrupted_tools", "api_error"])
outcomes: Any = st.sampled_from(["allowed", "denied", "cancelled"])
events: st.SearchStrategy[Durable] = st.one_of(
    st.builds(Prompted, few, st.lists(blocks, max_size=3).map(tuple), st.sampled_from(["human", "hook"])),
    st.builds(BlockDone, few, st.integers(0, 3), blocks, message_text),
    st.builds(MessageDone, few, message_text, st.just("end_turn"), usages, money),
    st.builds(ToolStarted, few, message_text, inputs),
    st.builds(ToolDone, replies, message_text, st.none(), numbers, denied=st.booleans(), interrupted=st.booleans()),
    st.builds(TurnStarted, st.integers(1, 4), message_text, message_text),
    st.builds(RunDone, endings, message_text),
    st.builds(InteractionOpened, few, st.just("permission"), calls),
    st.builds(InteractionClosed, few, outcomes, message_text, message_text, st.one_of(st.none(), inputs)),
    st.builds(TasksReplaced, st.lists(st.builds(Task, message_text, statuses, message_text), max_size=4).map(tuple)),
    st.builds(Advised, few, st.just("allow"), message_text, st.booleans(), message_text, usages, money),
    st.builds(Noted, message_text),
    st.builds(ModelChanged, message_text),
    st.builds(InputQueued, few, st.lists(blocks, max_size=2).map(tuple)),
    st.builds(SessionChanged, st.one_of(st.none(), message_text), st.one_of(st.none(), st.booleans())),
    st.builds(Configured, st.builds(SessionConfig, project=message_text)),
    st.builds(WorkerStarted, few, st.just("native")),
    st.builds(WorkerExited, few, why=st.sampled_from(["exit", "lost", "asleep"])),
    st.builds(ArtifactMade, few, st.just("plan"), message_text, message_text),
    st.builds(InterruptAsked),
    st.builds(Raw, st.dictionaries(message_text, message_text, max_size=2)),
)
EXAMPLES = 12
histories = st.lists(st.tuples(st.sampled_from(["one", "two"]), events, st.booleans()), max_size=30)


async def check(url: str, history: list[tuple[str, Durable, bool]]) -> None:
    """On a database that others used before: a rebuild without logs must leave nothing of theirs."""
    with tempfile.TemporaryDirectory() as folder:
        projected = await ProjectedSessions.open(url, Path(folder), adopt=True)
        try:
            await projected.database.rebuild()
            for session, event, pause in history:
                projected.write(event, session=session)
                if pause:
                    await projected.settled()
            live = await projected.everything()
            counts = await projected.database.rebuild()
            assert await projected.everything() == live
            assert counts.skipped == projected.database.health().skipped == 0
            assert counts.entries == sum(view.seq for view in projected.views.values())
        finally:
            await projected.close()


def test_made_live_or_anew_it_is_the_same(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S002-8, S002-18, FM-8, FM-9: for any order of calls, results, tasks and decisions, in batches of any size."""
    where = url or f"sqlite:///{tmp_path}/reused.sqlite"

    @settings(max_examples=EXAMPLES)
    @given(histories, st.sampled_from([1, 3, 500]))
    def holds(history: list[tuple[str, Durable, bool]], batch: int) -> None:
        monkeypatch.setattr(writing, "BATCH", batch)
        asyncio.run(check(where, history))

    holds()


@settings(max_examples=EXAMPLES)
@given(history=histories, cut=st.integers(0, 30), queue=st.integers(1, 5))
def test_whatever_is_dropped_comes_back_from_the_logs(
    history: list[tuple[str, Durable, bool]], cut: int, queue: int
) -> None:
    """S003-42, S003-43: a small queue that overflows, entries nobody told of, a restart in between: all is there."""

    async def holds() -> None:
        with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as changed:
            changed.setattr(writing, "MOST_WAITING", queue)
            first = await ProjectedSessions.open("", Path(name))
            try:
                for index, (session, event, _) in enumerate(history):
                    first.write(event, session=session, put=index < cut)
                for session in first.views:
                    first.database.refresh(session)
                await first.settled()
                for session, event, _ in history[::2]:
                    first.write(event, session=session, put=False)
            finally:
                await first.close()
            second = await ProjectedSessions.open("", Path(name))
            try:
                await second.database.catch_up()
                caught_up = await second.everything()
                await second.database.rebuild()
                assert await second.everything() == caught_up
                again = await second.database.catch_up()
                assert (again.read, again.entries) == (0, 0)
            finally:
                await second.close()

    asyncio.run(holds())


async def test_a_rebuild_leaves_what_no_log_holds(projected: ProjectedSessions) -> None:
    projected.write(Prompted("p", (Text("words"),)))
    mine = await task_table.add_task(projected.database, "one", "mine", by="ann")
    projected.database.audit.record("ann", "did.something", {"a": 1}, "one")
    await projected.database.audit.wait_until_written()
    await projected.settled()
    counts = await projected.database.rebuild()
    assert (counts.sessions, counts.read, counts.entries) == (1, 1, 2)
    assert await task_table.list_tasks(projected.database) == [mine]


async def test_the_full_text_index_is_whole_after_a_rebuild(projected: ProjectedSessions) -> None:
    from sqlalchemy import text

    projected.write(Prompted("p", (Text("needle"),)), TasksReplaced(()))
    await projected.settled()
    await projected.database.rebuild()
    if projected.database.engines.dialect == "sqlite":
        async with projected.database.engines.write.begin() as connection:
            check = (
                f"INSERT INTO {fulltext_dialects.NAME}({fulltext_dialects.NAME}, rank) VALUES ('integrity-check', 1)"
            )
            await connection.execute(text(check))


@settings(max_examples=100)
@given(lines=st.lists(st.binary(max_size=200), max_size=20), seq=st.integers(0, 25), data=st.data())
def test_the_place_after_an_entry_is_found_whatever_follows(lines: list[bytes], seq: int, data: st.DataObject) -> None:
    with tempfile.NamedTemporaryFile() as file:
        places = {0: 0}
        for number, line in enumerate(lines, 1):
            padding = data.draw(st.sampled_from([0, 10, 70_000]))
            entry = b'{"seq":%d,"id":"e%d","x":"%s"}\n' % (number, number, b"x" * padding)
            file.write(entry)
            places[number] = file.tell()
            if not line.startswith(b'{"seq"'):
                file.write(line.replace(b"\n", b" ") + b"\n")
        file.write(b'{"seq":99,"id":"torn')
        file.flush()
        assert offset_after(file.name, seq, f"e{seq}") == places.get(seq)
        assert seq == 0 or offset_after(file.name, seq, "another") is None
