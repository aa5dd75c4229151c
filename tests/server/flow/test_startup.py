"""A server that finds many sessions it does not know serves at once, and reads them while it runs."""

import asyncio
from pathlib import Path

import pytest

from bobstay.model.event import Noted, Prompted, SessionStarted
from bobstay.model.message import Text
from bobstay.model.session_events import WorkerStarted
from bobstay.server import session_loading
from bobstay.server.session_expiry import SessionExpiry
from bobstay.sessions.log_store import LogStore
from tests.kit.consoles import RunningConsole
from tests.kit.repositories import repository
from tests.kit.waiting import until
from tests.modelserver.server import ModelServer


def write_sessions(server: RunningConsole, count: int) -> list[str]:
    store = LogStore(server.environment.paths.sessions)
    ids = [f"session-{number:03}" for number in range(count)]
    for session_id in ids:
        log = store.create(session_id, SessionStarted(str(server.work), "1"))
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
    server = RunningConsole(model, tmp_path)
    ids = write_sessions(server, 60)
    async with server:
        assert (await server.get("/health")).status == 200
        assert server.registry.pending or len(server.registry.views) == len(ids)
        await all_loaded(server)
        listed = (await server.get("/api/v1/sessions?limit=100")).json["sessions"]
        assert sorted(each["id"] for each in listed) == ids
        assert await server.database.wait_until_indexed(ids[7], 3, 30)
        found = (await server.get("/api/v1/search?q=ostrich007")).json["hits"]
        assert {hit["session_id"] for hit in found} == {"session-007"}


@pytest.mark.usefixtures("unhurried")
async def test_a_session_is_there_when_somebody_asks_for_it_before_its_turn(
    model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    server = RunningConsole(model, tmp_path)
    ids = write_sessions(server, 3)
    monkeypatch.setattr(session_loading.SessionLoading, "finish", never)
    async with server:
        assert list(server.registry.pending) == sorted(ids, reverse=True) or server.registry.pending
        shown = await server.get(f"/api/v1/sessions/{ids[0]}")
        assert (shown.status, shown.json["first_prompt"]) == (200, "ostrich000")
        assert ids[0] not in server.registry.pending


@pytest.mark.usefixtures("unhurried")
async def test_a_terminal_opened_while_sessions_are_read_is_no_orphan(
    model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FM-28"""
    opened = asyncio.Event()
    finish = session_loading.SessionLoading.finish

    async def later(loading: session_loading.SessionLoading) -> None:
        await opened.wait()
        await finish(loading)

    server = RunningConsole(model, tmp_path)
    mine, crashed = write_sessions(server, 2)
    log, _, _ = LogStore(server.environment.paths.sessions).open(crashed)
    log.append(WorkerStarted("old-shell", "terminal", pid=2**22 + 1))
    log.close()
    monkeypatch.setattr(session_loading.SessionLoading, "finish", later)
    async with server:
        assert (await server.post(f"/api/v1/sessions/{mine}/terminals", {})).status == 201
        opened.set()
        await until(lambda: server.view(crashed).workers[0].state == "stopped")
        assert [worker.state for worker in server.view(mine).workers] == ["running"]


async def test_the_worktree_of_a_session_whose_log_cannot_be_read_is_kept(
    model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pruned = asyncio.Event()

    async def expire(_: SessionExpiry) -> None:
        pruned.set()

    monkeypatch.setattr(SessionExpiry, "run", expire)
    server = RunningConsole(model, tmp_path)
    repository(server.work)
    async with server:
        id = await server.launch(worktree=True)
        worktree, log = Path(server.view(id).cwd), Path(server.store.path(id))
    log.rename(tmp_path / "kept")
    log.symlink_to("/proc/self/mem")  # reading its beginning fails with EIO, as on a bad disk
    pruned.clear()
    async with RunningConsole(model, tmp_path) as again:
        await pruned.wait()
        assert id not in again.registry.views
    assert (worktree / "readme").exists()


async def test_a_second_start_reads_no_log_again(
    model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = RunningConsole(model, tmp_path)
    ids = write_sessions(server, 5)
    async with server:
        await all_loaded(server)
        for id in ids:
            assert await server.database.wait_until_indexed(id, 3, 30)
    monkeypatch.setattr(session_loading, "BEFORE_SERVING", 0.0)
    again = RunningConsole(model, tmp_path)
    async with again:
        assert not again.registry.pending
        assert sorted(again.registry.views) == ids


async def all_loaded(server: RunningConsole) -> None:
    await until(lambda: not server.registry.pending)
