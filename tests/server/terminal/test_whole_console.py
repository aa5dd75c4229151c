"""Terminal, worktree, changes and files in a whole console, with authentication and on a real port."""

import asyncio
import json
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bobstay.server import auxiliary_workers
from bobstay.server.errors import ApiError
from bobstay.server.sessions.worker_view import MOST_ENDED_SHOWN
from bobstay.server.workers import diff_watcher
from tests.kit.consoles import RunningConsole
from tests.kit.processes import is_alive
from tests.kit.repositories import git, repository
from tests.kit.waiting import DEADLINE, until
from tests.modelserver.server import ModelServer


async def test_a_terminal_in_a_work_tree_from_its_opening_to_the_merge(model: ModelServer, tmp_path: Path) -> None:
    """S004-2, FM-42, FM-46: opened with the scope for it, used, its changes seen, committed, merged; then revoked."""
    async with RunningConsole(model, tmp_path.resolve()) as server:
        repository(server.work)
        session = (await server.post("/api/v1/sessions", {"cwd": str(server.work), "worktree": True})).json["id"]
        base = f"/api/v1/sessions/{session}"
        reader = await server.token("read", "operate")
        assert (await server.post(f"{base}/terminals", headers=reader)).status == 403
        opened = (await server.post(f"{base}/terminals")).json
        url = f"ws://{server.host}/api/v1/workers/{opened['id']}/pty"
        for headers in ({}, reader):
            with pytest.raises(InvalidStatus):
                await connect(url, additional_headers=headers)
        mine = await server.token("terminal")
        async with connect(url, additional_headers=mine) as connection:
            assert json.loads(await connection.recv()) == {"type": "hello", "epoch": 1, "offset": 0}
            await connection.send(b"pwd; echo typed > new; echo do''ne\n")
            seen = b""
            async with asyncio.timeout(DEADLINE):
                while b"done" not in seen:
                    message = await connection.recv()
                    seen += message if isinstance(message, bytes) else b""
            assert str(tmp_path.resolve() / "bobstay" / "worktrees").encode() in seen

            changes = (await server.get(f"{base}/diff", headers=reader)).json
            assert [(file["path"], file["status"]) for file in changes["files"]] == [("new", "untracked")]
            assert (await server.get(f"{base}/file?path=new", headers=reader)).json["text"] == "typed\n"
            assert (await server.post(f"{base}/worktree/commit", {"message": "typed"}, headers=reader)).status == 200
            assert (await server.post(f"{base}/worktree/merge", {"strategy": "squash"}, headers=reader)).status == 200
            assert git(server.work, "show", "HEAD:new") == "typed\n"

            (client,) = [one for one in server.hub.clients() if one.principal.scopes == {"terminal"}]
            await server.auth.revoke(client.principal.client, "test")
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(_until_closed(connection), DEADLINE)
        assert is_alive(opened["pid"])
    assert not is_alive(opened["pid"])


async def _until_closed(connection: ClientConnection) -> None:
    """Take in what is still on its way; ends with the connection."""
    while True:
        await connection.recv()


async def test_ended_terminals_are_forgotten_but_for_the_last_ones(
    model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auxiliary_workers, "MOST_ENDED", 2)
    async with RunningConsole(model, tmp_path.resolve()) as server:
        session = await server.launch()
        opened: list[str] = []
        for _ in range(MOST_ENDED_SHOWN + 2):
            opened.append((await server.post(f"/api/v1/sessions/{session}/terminals")).json["id"])
            server.auxiliary_workers.terminal(opened[-1]).write(b"exit\n")
            await server.until(session, lambda view: all(worker.state != "running" for worker in view.workers))
        shown = [worker.id for worker in server.view(session).workers]
        assert shown == opened[-MOST_ENDED_SHOWN:]
        for gone in opened[:-2]:
            with pytest.raises(ApiError, match="no such terminal"):
                server.auxiliary_workers.terminal(gone)
        for kept in opened[-2:]:
            assert not server.auxiliary_workers.terminal(kept).alive(), "its last words can still be read"


async def test_a_watcher_that_let_go_is_started_again_for_who_comes_back(
    model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff_watcher, "IDLE_SECONDS", 0.05)
    async with RunningConsole(model, tmp_path.resolve()) as server:
        repository(server.work)
        session = await server.launch()
        first = (await server.post(f"/api/v1/sessions/{session}/watch")).json["id"]
        await until(lambda: not server.auxiliary_workers.is_active_in(session))
        again = await server.post(f"/api/v1/sessions/{session}/watch")
        assert (again.status, again.json["state"]) == (200, "running")
        assert again.json["id"] != first
