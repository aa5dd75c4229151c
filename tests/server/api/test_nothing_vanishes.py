"""What is packed away, deleted or typed is where people expect it, and nowhere else."""

import asyncio
import json
import os
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bobstay.model.event import Prompted
from bobstay.model.message import Text
from bobstay.model.session_events import SessionChanged
from bobstay.server.db import state_tables
from bobstay.server.db.log_archive import Archive
from bobstay.server.db.retention import archive_older_than
from tests.kit.consoles import RunningConsole
from tests.kit.repositories import git, repository
from tests.kit.served_console import ServedConsole
from tests.kit.stream_client import stream_client
from tests.kit.waiting import DEADLINE, until, wait_until
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer


async def packed(server: RunningConsole, **config: Any) -> str:
    """A session that was archived and is packed away now."""
    id = await server.launch(**config)
    await pack(server, id)
    return id


async def pack(server: RunningConsole, id: str) -> None:
    session = server.registry.open(id)
    session.append(Prompted("p", (Text("an old ostrich"),)))
    session.append(SessionChanged(title="Ostrich", archived=True), sync=True)
    server.registry.release(id)
    database = server.database
    assert await database.wait_until_indexed(id, server.view(id).seq)
    assert (await archive_older_than(database, 0)).sessions == (id,)
    server.registry.pack(id)


async def test_a_packed_session_is_listed_shown_and_exported(server: RunningConsole) -> None:
    """S003-40: nobody thinks it is gone."""
    id = await packed(server)
    listed = (await server.get("/api/v1/sessions?archived=true")).json["sessions"]
    assert [(each["id"], each["title"], each["stored"]) for each in listed] == [(id, "Ostrich", True)]
    assert (await server.get(f"/api/v1/sessions/{id}")).json["stored"] is True
    rows = (await server.get(f"/api/v1/sessions/{id}/rows")).json["rows"]
    assert "an old ostrich" in str(rows)
    events = (await server.get(f"/api/v1/sessions/{id}/events")).json["events"]
    assert "an old ostrich" in str(events)
    exported = await server.get(f"/api/v1/sessions/{id}/export?format=md")
    assert (exported.status, b"an old ostrich" in exported.body) == (200, True)
    assert not os.path.exists(server.store.path(id))


async def test_a_cursor_stays_valid_when_the_log_is_packed_and_brought_back(server: RunningConsole) -> None:
    """S003-40, S004-41: it is the same log in another place, so its epoch is the same and nothing is reset."""
    id = await server.launch()
    topic = f"session:{id}"
    async with stream_client(server.stream_url, additional_headers=server.headers) as watcher:
        first = (await watcher.follow(topic))["data"]
        await pack(server, id)
        stored = (await watcher.follow(topic, first["seq"], epoch=first["epoch"]))["data"]
        assert (await server.post(f"/api/v1/sessions/{id}/restore")).status == 200
        again = (await watcher.follow(topic, stored["seq"], epoch=first["epoch"]))["data"]
    assert [stored["epoch"], again["epoch"]] == [first["epoch"]] * 2
    assert "stream.reset" not in [frame["type"] for frame in watcher.frames]


async def test_a_session_that_is_brought_back_while_others_are_packed_stays_open(
    model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought_back, pack_log = threading.Event(), Archive.pack

    def slowly(archive: Archive, log_path: str) -> str:
        if archive.all():
            brought_back.wait(DEADLINE)
        return pack_log(archive, log_path)

    monkeypatch.setattr(Archive, "pack", slowly)
    async with RunningConsole(model, tmp_path, archive_after_days=1e-9) as server:
        for id in [await server.launch(), await server.launch()]:
            (await server.registry.acquire(id)).append(SessionChanged(archived=True), sync=True)
            server.registry.release(id)
            assert await server.database.wait_until_indexed(id, server.view(id).seq)
        packing = asyncio.create_task(server.expiry.run())
        await until(lambda: any(view.stored for view in server.registry.views.values()))
        id = next(view.id for view in server.registry.views.values() if view.stored)
        session = await server.registry.acquire(id)
        brought_back.set()
        await packing
        session.append(SessionChanged(title="Still open"))
        assert [view.stored for view in server.registry.views.values() if view.id != id] == [True]
        assert (server.view(id).title, server.view(id).stored) == ("Still open", False)


@pytest.mark.parametrize("indexed", [True, False])
async def test_a_damaged_archive_affects_no_other_session(model: ModelServer, tmp_path: Path, *, indexed: bool) -> None:
    """Whether the tables know the session, or are made again as after an update."""
    async with RunningConsole(model, tmp_path) as server:
        id, sound = await packed(server), await server.launch()
        archive = Path(server.database.archive.path(id))
    archive.write_bytes(archive.read_bytes()[:-20])
    if not indexed:
        for file in Path(server.options.state).glob("index.sqlite*"):
            file.unlink()
    async with RunningConsole(model, tmp_path) as again:
        assert sorted(again.registry.views) == sorted([id, sound] if indexed else [sound])
        reply = await again.get(f"/api/v1/sessions/{id}/events")
        assert reply.json["error"]["code"] == ("storage" if indexed else "not_found")
        assert (await again.get(f"/api/v1/sessions/{sound}/events")).status == 200


async def test_a_packed_session_is_brought_back_by_the_next_message(server: RunningConsole, model: ModelServer) -> None:
    id = await packed(server)
    prompt = model.play("again", Step(blocks=[Say("Here.")]))
    assert (await server.post(f"/api/v1/sessions/{id}/messages", {"content": prompt})).status == 202
    view = await server.until_status(id, "completed")
    assert (view.stored, view.title) == (False, "Ostrich")
    assert os.path.exists(server.store.path(id))


async def test_a_packed_session_can_be_forked_and_restored(server: RunningConsole) -> None:
    id = await packed(server)
    child = await server.post(f"/api/v1/sessions/{id}/fork", {})
    assert (child.status, child.json["parent"]) == (201, id)
    again = await server.post(f"/api/v1/sessions/{id}/restore")
    assert (again.status, again.json["error"]["code"]) == (409, "wrong_state")


def test_a_server_that_starts_again_still_lists_what_is_packed(tmp_path: Path) -> None:
    with ServedConsole(tmp_path, "--archive-after", "0.000001", BOBSTAY_MODEL="demo") as served:
        id = served.launch("")
        served.ask("PATCH", f"/sessions/{id}", {"archived": True})
        served.stop()
        served.start()
        wait_until(lambda: served.get(f"/sessions/{id}")["stored"])
        served.stop()
        served.start()
        listed = served.get("/sessions?archived=true")["sessions"]
        assert [(each["id"], each["stored"]) for each in listed] == [(id, True)]


async def test_a_delete_that_fails_hides_nothing(server: RunningConsole, tmp_path: Path) -> None:
    id = await server.launch()
    trash = Path(server.options.state) / "trash"
    trash.write_text("no folder")
    refused = await server.ask("DELETE", f"/api/v1/sessions/{id}")
    assert (refused.status, refused.json["error"]["code"]) == (507, "storage")
    listed = (await server.get("/api/v1/sessions")).json["sessions"]
    assert [each["id"] for each in listed] == [id]
    assert server.view(id).status == "draft"
    trash.unlink()
    assert (await server.ask("DELETE", f"/api/v1/sessions/{id}")).status == 204


async def test_a_deleted_session_is_in_the_trash_and_can_be_restored_or_removed(server: RunningConsole) -> None:
    id = await server.launch()
    await server.ask("PATCH", f"/api/v1/sessions/{id}", {"title": "Regretted"})
    await server.ask("DELETE", f"/api/v1/sessions/{id}")
    assert (await server.get(f"/api/v1/sessions/{id}")).status == 404
    found = (await server.get("/api/v1/trash")).json["sessions"]
    assert [(each["id"], each["title"]) for each in found] == [(id, "Regretted")]
    back = await server.post(f"/api/v1/trash/{id}/restore")
    assert (back.status, back.json["title"], back.json["status"]) == (200, "Regretted", "draft")
    assert (await server.get("/api/v1/trash")).json["sessions"] == []
    await server.ask("DELETE", f"/api/v1/sessions/{id}")
    assert (await server.ask("DELETE", f"/api/v1/trash/{id}")).status == 204
    assert (await server.post(f"/api/v1/trash/{id}/restore")).status == 404


@pytest.mark.parametrize("name", ["..%2Fserver", "nothing", ".hidden", "%00"])
async def test_the_trash_gives_nothing_but_its_own(server: RunningConsole, name: str) -> None:
    assert (await server.post(f"/api/v1/trash/{name}/restore")).status in (400, 404)
    assert (await server.ask("DELETE", f"/api/v1/trash/{name}")).status in (400, 404)


async def test_a_draft_is_in_no_log_and_seen_by_nobody_else(server: RunningConsole) -> None:
    id = await server.launch()
    before = server.view(id)
    for text in ("my passw", "my password is swordfish-42", "hello"):
        assert (await server.ask("PUT", f"/api/v1/sessions/{id}/draft", {"text": text})).status == 200
    assert (await server.get(f"/api/v1/sessions/{id}/draft")).json["text"] == "hello"
    assert server.view(id) == before
    log = await asyncio.to_thread(Path(server.store.path(id)).read_bytes)
    assert b"swordfish" not in log
    other = await other_person(server)
    assert (await server.ask("GET", f"/api/v1/sessions/{id}/draft", headers=other)).json["text"] == ""
    assert (await server.ask("PUT", f"/api/v1/sessions/{id}/draft", {"text": ""})).json["text"] == ""
    assert (await server.get(f"/api/v1/sessions/{id}/draft")).json["text"] == ""


async def other_person(server: RunningConsole) -> dict[str, Any]:
    _, secret = await server.auth.clients.create(
        "token", "bob", ("read", "operate"), label="test", by="test", lifetime=None
    )
    return {"Authorization": f"Bearer {secret}"}


async def test_pages_of_a_list_that_moves_show_no_session_twice(server: RunningConsole) -> None:
    ids = [await server.launch() for _ in range(5)]
    first = (await server.get("/api/v1/sessions?limit=3")).json
    assert [each["id"] for each in first["sessions"]] == [ids[4], ids[3], ids[2]]
    await server.ask("PATCH", f"/api/v1/sessions/{ids[2]}", {"title": "moved to the top"})
    second = (await server.get(f"/api/v1/sessions?limit=3&cursor={first['cursor']}")).json
    assert ([each["id"] for each in second["sessions"]], second["cursor"]) == ([ids[1], ids[0]], None)
    await server.ask("DELETE", f"/api/v1/sessions/{ids[2]}")
    again = (await server.get(f"/api/v1/sessions?limit=3&cursor={first['cursor']}")).json
    assert [each["id"] for each in again["sessions"]] == [ids[1], ids[0]]


@pytest.mark.parametrize("cursor", ["nonsense", "zz_1", "_"])
async def test_a_cursor_that_is_none_of_ours_is_refused(server: RunningConsole, cursor: str) -> None:
    refused = await server.get(f"/api/v1/sessions?cursor={cursor}")
    assert (refused.status, refused.json["error"]["code"]) == (422, "invalid")


async def test_a_request_that_a_crash_cut_off_can_be_sent_again(model: ModelServer, tmp_path: Path) -> None:
    key = {"Idempotency-Key": "k-1"}
    async with RunningConsole(model, tmp_path) as server:
        assert await state_tables.begin_request(server.database, "ada", "k-1", "of a request that never ended") is None
    async with RunningConsole(model, tmp_path) as server:
        body = {"cwd": str(server.work)}
        first = await server.ask("POST", "/api/v1/sessions", body, {**server.headers, **key})
        again = await server.ask("POST", "/api/v1/sessions", body, {**server.headers, **key})
        assert (first.status, again.status, again.json["id"]) == (201, 201, first.json["id"])
        other = await server.ask("POST", "/api/v1/sessions?x=1", body, {**server.headers, **key})
        assert other.status in (409, 422)
    async with RunningConsole(model, tmp_path) as server:
        later = await server.ask("POST", "/api/v1/sessions", body, {**server.headers, **key})
        assert later.json["id"] == first.json["id"], "what was answered stays known"


async def test_a_launch_that_a_crash_cut_off_leaves_neither_a_work_tree_nor_a_branch(
    model: ModelServer, tmp_path: Path
) -> None:
    async with RunningConsole(model, tmp_path) as server:
        repository(server.work, file="one\n")
        made = await server.services.worktrees.add(str(server.work), "abcdefgh-of-no-session")
    async with RunningConsole(model, tmp_path), asyncio.timeout(DEADLINE):
        while os.path.exists(made.path) or made.branch in await asyncio.to_thread(git, server.work, "branch"):
            await asyncio.sleep(0.02)


async def test_what_is_removed_from_the_trash_takes_its_output_along(server: RunningConsole) -> None:
    id = await server.launch()
    home = Path(server.environment.paths.bobstay)
    output, plan = home / "output" / id / "1.txt", home / "plans" / f"{id}.md"
    for path in (output, plan):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("much")
    await server.ask("DELETE", f"/api/v1/sessions/{id}")
    assert output.exists(), "it can still be restored"
    assert (await server.ask("DELETE", f"/api/v1/trash/{id}")).status == 204
    assert not output.parent.exists()
    assert not plan.exists()


async def test_a_server_removes_old_sessions_only_where_the_settings_say_so(model: ModelServer, tmp_path: Path) -> None:
    """H6-2"""
    async with RunningConsole(model, tmp_path) as server:
        old, pinned, young = [await server.launch() for _ in range(3)]
        await server.ask("PATCH", f"/api/v1/sessions/{pinned}", {"pinned": True})
        store = server.store
    then = time.time() - 40 * 86_400
    for id in (old, pinned):
        os.utime(store.path(id), (then, then))
    async with RunningConsole(model, tmp_path) as server:
        assert await server.expiry.remove_unused() == []
        assert set(server.registry.views) == {old, pinned, young}
    (tmp_path / "bobstay" / "settings.json").write_text('{"cleanupPeriodDays": 30}')
    async with RunningConsole(model, tmp_path) as server:
        async with asyncio.timeout(DEADLINE):
            while (await server.get(f"/api/v1/sessions/{old}")).status != 404:
                await asyncio.sleep(0.02)
        listed = (await server.get("/api/v1/sessions")).json["sessions"]
        assert {each["id"] for each in listed} == {pinned, young}
        assert not os.path.exists(store.path(old))


async def test_ephemeral_sessions_are_removed_a_day_after_their_last_entry(model: ModelServer, tmp_path: Path) -> None:
    """S003-40: by the server itself, and nothing else is."""
    async with RunningConsole(model, tmp_path) as server:
        old, pinned, young = [await server.launch(ephemeral=True) for _ in range(3)]
        other = await server.launch()
        await server.ask("PATCH", f"/api/v1/sessions/{pinned}", {"pinned": True})
        store = server.store
    for id in (old, pinned, other):
        entries = [json.loads(line) for line in Path(store.path(id)).read_text().splitlines()]
        dated = [{**entry, "at": time.time() - 25 * 3600} for entry in entries]
        Path(store.path(id)).write_text("".join(json.dumps(entry) + "\n" for entry in dated))
    (tmp_path / "bobstay" / "server" / "index.sqlite").unlink()
    async with RunningConsole(model, tmp_path) as server:
        async with asyncio.timeout(DEADLINE):
            while old in server.registry.views or (await server.get("/api/v1/trash")).json["sessions"]:
                await asyncio.sleep(0.02)
        assert set(server.registry.views) == {pinned, young, other}


async def test_an_ephemeral_session_that_is_pinned_meanwhile_stays(server: RunningConsole) -> None:
    """Removing many takes a while, and each is looked at when its turn comes."""
    first, second = [await server.launch(ephemeral=True) for _ in range(2)]
    removing = asyncio.create_task(server.expiry.remove_ephemeral(time.time() + 1))
    registry = server.registry
    async with asyncio.timeout(DEADLINE):
        while {first, second} <= set(registry.views):
            await asyncio.sleep(0)  # what follows must come before the second one is removed
    (left,) = {first, second} & set(registry.views)
    registry.open(left).record(SessionChanged(pinned=True))
    registry.release(left)
    await removing
    assert left in registry.views
    assert os.path.exists(server.store.path(left))


async def test_an_ephemeral_session_that_was_packed_away_is_removed_too(server: RunningConsole) -> None:
    id = await packed(server, ephemeral=True)
    assert await server.expiry.remove_ephemeral(time.time() + 1) == [id]
    assert id not in server.registry.views
    assert not [file for _, _, files in os.walk(server.options.state) for file in files if id in file]
    assert (await server.get("/api/v1/trash")).json["sessions"] == []


async def locked(path: Path) -> sqlite3.Connection:
    """Another program that lets nobody write to a database."""
    other = sqlite3.connect(path, isolation_level=None, timeout=0)
    async with asyncio.timeout(DEADLINE):
        while not other.in_transaction:
            with suppress(sqlite3.OperationalError):  # the server writes, and must be let finish
                other.execute("BEGIN EXCLUSIVE")
            await asyncio.sleep(0.01)
    return other


async def test_an_ephemeral_session_is_removed_for_good_while_the_database_does_not_answer(
    model: ModelServer, tmp_path: Path
) -> None:
    async with RunningConsole(model, tmp_path) as server:
        id = await server.launch(ephemeral=True)
        assert await server.database.wait_until_indexed(id, server.view(id).seq)
        other = await locked(tmp_path / "bobstay" / "server" / "index.sqlite")
        try:
            assert await server.expiry.remove_ephemeral(time.time() + 1) == [id]
        finally:
            other.close()
        assert (await server.get("/api/v1/trash")).json["sessions"] == []
    async with RunningConsole(model, tmp_path) as server:
        assert (await server.get("/api/v1/sessions")).json["sessions"] == []


async def test_what_is_done_once_a_day_outlives_a_database_that_does_not_answer(
    model: ModelServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with RunningConsole(model, tmp_path, archive_after_days=1e-9) as server:
        id = await server.launch()
        await server.ask("PATCH", f"/api/v1/sessions/{id}", {"archived": True})
        assert await server.database.wait_until_indexed(id, server.view(id).seq)
        other = await locked(tmp_path / "bobstay" / "server" / "index.sqlite")
        try:
            await server.expiry.run()
        finally:
            other.close()
        assert "will be processed tomorrow" in caplog.text
