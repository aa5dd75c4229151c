"""A server that finds many sessions it does not know serves at once, and reads them while it runs."""

import asyncio
from pathlib import Path

import pytest

from bobstay.model.event import Noted, Prompted, SessionStarted
from bobstay.model.message import Text
from bobstay.server import session_loading
from bobstay.sessions.log_store import LogStore
from tests.deadline import DEADLINE
from tests.modelserver.server import ModelServer
from tests.server.api.place import Place


def write_sessions(place: Place, count: int) -> list[str]:
    store = LogStore(place.environment.paths.sessions)
    ids = [f"session-{number:03}" for number in range(count)]
    for session_id in ids:
        log = store.create(session_id, SessionStarted(str(place.work), "1"))
        log.append(Prompted("p", (Text(f"ostrich{session_id[-3:]}"),)))
        log.append(Noted("note"))
        log.close()
    return ids


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read before the server answers."""
    monkeypatch.setattr(session_loading, "BEFORE_SERVING", 0.0)


@pytest.mark.usefixtures("unhurried")
async def test_it_answers_before_all_logs_are_read(model: ModelServer, tmp_path: Path) -> None:
    place = Place(model, tmp_path)
    ids = write_sessions(place, 60)
    async with place:
        assert (await place.get("/health")).status == 200
        assert place.console.registry.pending or len(place.console.registry.views) == len(ids)
        await all_loaded(place)
        listed = (await place.get("/api/v1/sessions?limit=100")).json["sessions"]
        assert sorted(each["id"] for each in listed) == ids
        assert await place.console.database.flushed(ids[7], 3, 30)
        found = (await place.get("/api/v1/search?q=ostrich007")).json["hits"]
        assert {hit["session_id"] for hit in found} == {"session-007"}


@pytest.mark.usefixtures("unhurried")
async def test_a_session_is_there_when_somebody_asks_for_it_before_its_turn(
    model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    place = Place(model, tmp_path)
    ids = write_sessions(place, 3)
    monkeypatch.setattr(session_loading.SessionLoading, "finish", never)
    async with place:
        assert list(place.console.registry.pending) == sorted(ids, reverse=True) or place.console.registry.pending
        shown = await place.get(f"/api/v1/sessions/{ids[0]}")
        assert (shown.status, shown.json["first_prompt"]) == (200, "ostrich000")
        assert ids[0] not in place.console.registry.pending


async def test_a_second_start_reads_no_log_again(
    model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(model, tmp_path)
    ids = write_sessions(place, 5)
    async with place:
        await all_loaded(place)
        for id in ids:
            assert await place.console.database.flushed(id, 3, 30)
    monkeypatch.setattr(session_loading, "BEFORE_SERVING", 0.0)
    again = Place(model, tmp_path)
    async with again:
        assert not again.console.registry.pending
        assert sorted(again.console.registry.views) == ids


async def all_loaded(place: Place) -> None:
    async with asyncio.timeout(DEADLINE):
        while place.console.registry.pending:
            await asyncio.sleep(0.01)
