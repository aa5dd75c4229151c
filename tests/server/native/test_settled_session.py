"""A session of the server waits for its log, and keeps the state of its engine that of the log."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from bobstay.engine.journal import Journal
from bobstay.engine.state import State
from bobstay.model.event import Event, Noted
from bobstay.server.sessions.open_session import LoadedLog, OpenSession
from bobstay.server.sessions.session_index import NoIndex
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.hub import Hub, HubClient
from bobstay.server.streams.stream_publisher import StreamPublisher
from bobstay.sessions.log_reader import LogReader
from tests.kit.held_log import HeldLog
from tests.kit.waiting import DEADLINE


@pytest.fixture
def log(tmp_path: Path) -> HeldLog:
    log = HeldLog.create(str(tmp_path / "one.jsonl"))
    log.held = Noted
    return log


def opened(log: HeldLog, hub: Hub, views: list[SessionView] | None = None) -> OpenSession:
    loaded = LoadedLog(log, LogReader(log.path), SessionView("one"), {})
    changed: list[SessionView] = [] if views is None else views
    return OpenSession(loaded, StreamPublisher(hub), NoIndex(), lambda _, after, __: changed.append(after))


async def test_an_open_session_is_settled_when_its_log_is(log: HeldLog) -> None:
    session = opened(log, Hub())
    session.append(Noted("x"))
    settled = asyncio.ensure_future(session.settled())
    async with asyncio.timeout(DEADLINE):
        await log.reached.wait()
        assert not settled.done()
        log.let_store()
        await settled
    log.close()


async def test_nothing_is_shown_before_it_is_stored(log: HeldLog) -> None:
    hub, client, views = Hub(), HubClient(), list[SessionView]()
    hub.subscribe("session:one", client)
    session = opened(log, hub, views)
    session.append(Noted("first"))
    session.append(Noted("second"))
    assert session.view.seq == 2, "the next entry must follow from it"
    assert (client.waiting, views) == (0, [])
    log.let_store()
    frames = [msgspec.json.decode(frame) for frame in await client.next_batch()]
    assert [frame["data"]["text"] for frame in frames] == ["first", "second"]
    assert [view.seq for view in views] == [1, 2]
    log.close()


class Observer:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def apply(self, event: Event) -> None:
        assert isinstance(event, Noted)
        self.texts.append(event.text)


async def test_an_engine_that_starts_folds_each_event_once(log: HeldLog) -> None:
    log.held = None
    session, observer = opened(log, Hub()), Observer()
    session.record(Noted("before"))
    branch = await session.begin_engine()
    journal = Journal(session, State())
    journal.observers.append(observer)
    session.record(Noted("by others, meanwhile"))
    journal.record(Noted("its own"))
    session.attach_engine(journal)
    session.record(Noted("by others, later"))
    assert [envelope.event for envelope in branch] == [Noted("before")]
    assert sorted(observer.texts) == ["by others, later", "by others, meanwhile", "its own"]
    session.detach_engine()
    log.close()
