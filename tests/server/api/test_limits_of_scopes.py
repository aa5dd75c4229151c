"""What a token that may only operate cannot reach by another way; and what goes with a session that is deleted."""

from pathlib import Path
from typing import Any

import pytest

from bobstay.model.event import InputQueued, SessionStarted
from bobstay.model.message import Text
from bobstay.model.session_events import Configured, SessionConfig
from bobstay.sessions.log_store import LogStore
from tests.kit.consoles import RunningConsole
from tests.kit.waiting import until
from tests.modelserver.server import ModelServer


@pytest.mark.parametrize(
    "fields",
    [
        {"permission_mode": "bypassPermissions"},
        {"permission_mode": "acceptEdits"},
        {"permission_mode": "auto"},
        {"allowed_tools": ["Bash"]},
        {"engine": "claude", "mcp_config": {"mcpServers": {"one": {"command": "touch"}}}},
        {"env": {"MY_FLAGS": "touch ran"}},
    ],
)
async def test_who_may_not_approve_cannot_begin_a_session_that_asks_less(
    server: RunningConsole, fields: dict[str, Any]
) -> None:
    operate = await server.token("read", "operate")
    body = {"cwd": str(server.work), **fields}
    refused = await server.post("/api/v1/sessions", body, headers=operate)
    assert (refused.status, refused.json["error"]["code"]) == (403, "forbidden")
    assert refused.json["error"]["details"]["needed"] == "approve"
    both = await server.token("operate", "approve")
    assert (await server.post("/api/v1/sessions", body, headers=both)).status == 201


async def test_who_may_not_approve_cannot_put_a_session_into_a_mode_that_asks_less(server: RunningConsole) -> None:
    operate = await server.token("read", "operate")
    id = await server.launch()
    where = f"/api/v1/sessions/{id}"
    assert (await server.ask("PATCH", where, {"permission_mode": "bypassPermissions"}, operate)).status == 403
    assert (await server.ask("PATCH", where, {"permission_mode": "plan"}, operate)).status == 200
    more = {"permission_mode": "acceptEdits"}
    assert (await server.post(where + "/continue", more, headers=operate)).status == 403


async def test_a_change_of_something_else_leaves_the_time_of_bypassing(server: RunningConsole) -> None:
    id = await server.launch(permission_mode="bypassPermissions")
    until = server.view(id).config.bypass_until
    assert (await server.ask("PATCH", f"/api/v1/sessions/{id}", {"max_turns": 7})).status == 200
    assert (server.view(id).config.bypass_until, server.view(id).config.max_turns) == (until, 7)


async def test_a_deleted_session_takes_its_terminals_with_it(server: RunningConsole) -> None:
    id = await server.launch()
    opened = await server.post(f"/api/v1/sessions/{id}/terminals")
    assert opened.status == 201
    terminal = server.auxiliary_workers.terminal(opened.json["id"])
    assert (await server.ask("DELETE", f"/api/v1/sessions/{id}")).status == 204
    assert not terminal.alive()
    assert id not in server.registry.views


async def test_a_session_of_an_engine_that_is_no_more_fails_and_says_so(model: ModelServer, tmp_path: Path) -> None:
    """FM-13: it does not stay in a state without a way out, and holds up nobody's recovery."""
    ids = ("00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b")
    for id in ids:
        log = LogStore(str(tmp_path / "bobstay" / "sessions")).create(id, SessionStarted(str(tmp_path), "1", ""))
        log.append(Configured(SessionConfig(engine="gone")))
        log.append(InputQueued("i", (Text("hello"),), "queue"))
        log.close()
    async with RunningConsole(model, tmp_path) as server:
        await until(lambda: {server.view(id).status for id in ids} == {"failed"})
        assert "gone" in server.view(ids[0]).error
        again = await server.post(f"/api/v1/sessions/{ids[0]}/messages", {"content": "hello"})
        assert (again.status, again.json["error"]["code"]) == (422, "cannot_start")
