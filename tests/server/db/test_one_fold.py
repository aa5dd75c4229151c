"""A session is folded in one way: its row in the tables, its view when it is opened, and its streams agree."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import select, update

from bobstay.model.event import (
    BlockDone,
    Durable,
    InputQueued,
    InteractionOpened,
    MessageDone,
    Prompted,
    RunDone,
    ToolDone,
    TurnStarted,
)
from bobstay.model.message import Text, ToolCall, ToolReply, Usage
from bobstay.server.db.database import Database
from bobstay.server.db.projected_tables import sessions
from bobstay.server.external_sessions import ExternalSessions
from bobstay.server.inbox import Inbox
from bobstay.server.sessions.abandoned_view import observed_view
from bobstay.server.sessions.session_index import NoIndex
from bobstay.server.sessions.session_registry import SessionRegistry, fold_log
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.stream_publisher import StreamPublisher
from bobstay.sessions.log_store import LogStore
from tests.server.db.projected_sessions import ProjectedSessions
from tests.server.db.test_same_either_way import events

CALL = ToolCall("c", "Bash", {"command": "ls"})


async def current(database: Database) -> SessionView:
    view = await database.current_view("one")
    assert view is not None
    return view


async def ways(folder: Path, projected: ProjectedSessions) -> dict[str, SessionView]:
    """The view of the session `one`, come to in each way there is."""
    await projected.settled()
    found = {"as it grew": projected.views["one"], "from the tables": await current(projected.database)}
    await projected.close()
    anew = await Database.open("", str(folder / "anew"), projected.store)
    try:
        await anew.rebuild()
        found["from tables made anew"] = await current(anew)
    finally:
        await anew.close()
    found["from its file"] = fold_log(projected.store, "one")
    registry = SessionRegistry(LogStore(projected.store.directory), StreamPublisher(Hub()), NoIndex())
    await ExternalSessions(registry, projected.store, Inbox(), str(folder)).refresh("one")
    assert registry.view("one") == observed_view(registry.logs, found["from its file"]), (
        "by who looks at what others write"
    )
    opened = (await registry.acquire("one")).view
    registry.release("one")
    found["opened"] = opened
    found["opened at once"] = registry.open("one").view
    registry.release("one")
    return {way: replace(view, elsewhere=False) for way, view in found.items()}


async def test_a_row_whose_view_lacks_what_the_fold_remembers_is_folded_anew(tmp_path: Path) -> None:
    """As one of an earlier version does, which kept it elsewhere."""
    projected = await ProjectedSessions.open("", tmp_path)
    projected.write(Prompted("p1", (Text("first"),)), TurnStarted(1, "m", "default"))
    await projected.settled()
    async with projected.database.engines.write.begin() as connection:
        row = await connection.scalar(select(sessions.c.view))
        assert row is not None
        view = msgspec.json.decode(row)
        assert view.pop("memory")["standing"]["in_turn"]
        await connection.execute(update(sessions).values(view=msgspec.json.encode(view).decode()))
    assert (await current(projected.database)).status_fold == projected.views["one"].status_fold
    known, changed = await projected.database.known_views()
    assert (known, changed) == ({}, ["one"])
    await projected.close()


async def test_after_somebody_went_back_all_see_the_same(tmp_path: Path) -> None:
    """What was under way on the branch that was left is over; what it cost is counted."""
    projected = await ProjectedSessions.open("", tmp_path)
    projected.write(Prompted("p1", (Text("first"),)), TurnStarted(1, "m", "default"))
    kept = projected.write(MessageDone("m1", "m", "end_turn", Usage(100, 10), 0.5), RunDone("completed", "ok"))
    projected.write(
        InputQueued("q", (Text("later"),)), Prompted("p2", (Text("second"),)), TurnStarted(2, "m", "default")
    )
    projected.write(BlockDone("m2", 0, CALL), MessageDone("m2", "m", "tool_use", Usage(200, 20), 0.25))
    projected.write(InteractionOpened("i", "permission", CALL), InputQueued("r", (Text("and this"),)))
    assert projected.views["one"].status == "waiting_input"
    projected.write(Prompted("p3", (Text("another way"),)), parent=kept.id)
    projected.write(TurnStarted(2, "m", "default"), MessageDone("m3", "m", "end_turn", Usage(300, 30), 0.125))
    projected.write(RunDone("completed", "ok"))
    found = await ways(tmp_path, projected)
    view = found["opened"]
    assert {way: repr(one) for way, one in found.items()} == dict.fromkeys(found, repr(view))
    assert (view.status, view.queued, view.interactions, view.open_calls) == ("completed", (), (), ())
    assert (view.cost, view.last_prompt, view.turns, view.seq) == (0.875, "another way", 2, projected.views["one"].seq)


async def test_going_back_ends_what_was_under_way(tmp_path: Path) -> None:
    """FM-13: no status without a way out, also before anything else happened on the new branch."""
    projected = await ProjectedSessions.open("", tmp_path)
    kept = projected.write(Prompted("p1", (Text("first"),)))
    projected.write(
        TurnStarted(1, "m", "default"), BlockDone("m1", 0, CALL), InteractionOpened("i", "permission", CALL)
    )
    projected.write(ToolDone(ToolReply("other", ())), parent=kept.id)
    found = await ways(tmp_path, projected)
    view = found["opened"]
    assert {way: repr(one) for way, one in found.items()} == dict.fromkeys(found, repr(view))
    assert (view.status, view.activity, view.interactions, view.open_calls) == ("interrupted", "idle", (), ())


histories: Any = st.lists(st.tuples(events, st.one_of(st.none(), st.integers(0, 30))), max_size=24)


@settings(max_examples=12, deadline=None)
@given(histories)
def test_whatever_happens_and_wherever_one_goes_back_to_all_see_the_same(
    history: list[tuple[Durable, int | None]],
) -> None:
    async def check(folder: Path) -> None:
        projected = await ProjectedSessions.open("", folder)
        projected.begin()
        ids = [projected.views["one"].head]
        for event, back in history:
            about: dict[str, Any] = {} if back is None else {"parent": ids[back % len(ids)]}
            ids.append(projected.write(event, **about).id)
        found = await ways(folder, projected)
        expected = repr(found["as it grew"])
        assert {way: repr(view) for way, view in found.items()} == dict.fromkeys(found, expected)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder)))
