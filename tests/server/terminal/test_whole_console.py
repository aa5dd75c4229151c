"""Terminal, work tree, changes and files in a whole console, behind its doors and on a real port."""

import asyncio
import json
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.modelserver.server import ModelServer
from tests.server.api.place import DEADLINE, Place
from tests.server.files.shelf import git, repository
from tests.server.terminal.desk import lives


async def test_a_terminal_in_a_work_tree_from_its_opening_to_the_merge(model: ModelServer, tmp_path: Path) -> None:
    """S004-2, FM-42, FM-46: opened with the scope for it, used, its changes seen, committed, merged; then revoked."""
    async with Place(model, tmp_path.resolve()) as place:
        repository(place.work)
        session = (await place.post("/api/v1/sessions", {"cwd": str(place.work), "worktree": True})).json["id"]
        base = f"/api/v1/sessions/{session}"
        reader = await place.token("read", "operate")
        assert (await place.post(f"{base}/terminals", headers=reader)).status == 403
        opened = (await place.post(f"{base}/terminals")).json
        url = f"ws://{place.host}/api/v1/workers/{opened['id']}/pty"
        for headers in ({}, reader):
            with pytest.raises(InvalidStatus):
                await connect(url, additional_headers=headers)
        mine = await place.token("terminal")
        async with connect(url, additional_headers=mine) as connection:
            assert json.loads(await connection.recv()) == {"type": "hello", "epoch": 1, "offset": 0}
            await connection.send(b"pwd; echo typed > new; echo do''ne\n")
            seen = b""
            async with asyncio.timeout(DEADLINE):
                while b"done" not in seen:
                    message = await connection.recv()
                    seen += message if isinstance(message, bytes) else b""
            assert str(tmp_path.resolve() / "bobstay" / "worktrees").encode() in seen

            changes = (await place.get(f"{base}/diff", headers=reader)).json
            assert [(file["path"], file["status"]) for file in changes["files"]] == [("new", "untracked")]
            assert (await place.get(f"{base}/file?path=new", headers=reader)).json["text"] == "typed\n"
            assert (await place.post(f"{base}/worktree/commit", {"message": "typed"}, headers=reader)).status == 200
            assert (await place.post(f"{base}/worktree/merge", {"strategy": "squash"}, headers=reader)).status == 200
            assert git(place.work, "show", "HEAD:new") == "typed\n"

            (client,) = [one for one in place.console.hub.clients() if one.principal.scopes == {"terminal"}]
            await place.console.doors.revoke(client.principal.client, "test")
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(_until_closed(connection), 2.0)
        assert lives(opened["pid"])
    assert not lives(opened["pid"])


async def _until_closed(connection: ClientConnection) -> None:
    """Take in what is still on its way; ends with the connection."""
    while True:
        await connection.recv()
