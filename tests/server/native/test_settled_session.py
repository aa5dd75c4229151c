"""A session of the server is settled when its log is."""

import asyncio
from pathlib import Path

from bobstay.model.event import Noted
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_index import NoIndex
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.stream_publisher import StreamPublisher
from tests.kit.held_log import HeldLog
from tests.kit.waiting import DEADLINE


async def test_an_open_session_is_settled_when_its_log_is(tmp_path: Path) -> None:
    log = HeldLog.create(str(tmp_path / "one.jsonl"))
    log.held = Noted
    session = OpenSession(log, SessionView("one"), StreamPublisher(Hub()), NoIndex(), lambda *_: None)
    session.append(Noted("x"))
    settled = asyncio.ensure_future(session.settled())
    async with asyncio.timeout(DEADLINE):
        await log.reached.wait()
        assert not settled.done()
        log.stored.set()
        await settled
    log.close()
