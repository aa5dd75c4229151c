"""MCP servers of a session over HTTP: states, reconnect, on and off, approval by content, signing in (H8-3)."""

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.assembly import session_servers
from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore
from tests.kit.consoles import RunningConsole
from tests.kit.mcp_sessions import scripted_entry
from tests.kit.oauth_server import ProtectedServer, protected_server
from tests.kit.stream_client import stream_client
from tests.kit.waiting import DEADLINE, until_true
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer

API = "/api/v1"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine must not decide whether a server is there in time."""
    for name in ("FIRST_WAIT", "NAMED_WAIT"):
        monkeypatch.setattr(session_servers, name, DEADLINE)


@pytest.fixture
async def protected() -> AsyncIterator[ProtectedServer]:
    async with protected_server() as made:
        yield made


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def trust(server: RunningConsole) -> None:
    TrustStore(server.environment.paths.bobstay).put(str(server.work), executable_parts(str(server.work)))


async def session(server: RunningConsole, model: ModelServer) -> str:
    """A session whose agent runs."""
    id = await server.launch(model.play("hello", Step(blocks=[Say("Hello.")])))
    await server.until_status(id, "completed")
    return id


async def listed(server: RunningConsole, id: str) -> dict[str, Any]:
    report = (await server.get(f"{API}/sessions/{id}/surroundings")).json
    return {each["name"]: each for each in report["mcp_servers"]}


async def until_state(server: RunningConsole, id: str, name: str, state: str) -> dict[str, Any]:
    async def has_state() -> bool:
        return bool((await listed(server, id))[name]["state"] == state)

    await until_true(has_state)
    found: dict[str, Any] = (await listed(server, id))[name]
    return found


async def act(server: RunningConsole, id: str, name: str, what: str, body: Any = None, **more: Any) -> Any:
    return await server.post(f"{API}/sessions/{id}/mcp-servers/{name}/{what}", body, **more)


async def test_each_server_says_its_state_why_and_what_it_offers(
    server: RunningConsole, model: ModelServer, tmp_path: Path
) -> None:
    broken = {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no token was given')"]}
    secret = scripted_entry(API_TOKEN="hunter2-hunter2")
    write(tmp_path / "bobstay" / "settings.json", {"mcpServers": {"good": secret, "broken": broken}})
    id = await server.launch()
    before = await listed(server, id)
    assert {name: each["state"] for name, each in before.items()} == {"good": "configured", "broken": "configured"}
    assert not before["good"]["live"]
    await server.post(f"{API}/sessions/{id}/messages", {"content": model.play("go", Step(blocks=[Say("ok")]))})
    await server.until_status(id, "completed")
    good, broken_one = (await listed(server, id))["good"], await until_state(server, id, "broken", "failed")
    assert (good["state"], good["level"], good["live"], good["transport"]) == ("connected", "user", True, "stdio")
    assert good["source"] == str(tmp_path / "bobstay" / "settings.json")
    assert {"shout", "ask"} <= {tool["name"] for tool in good["tools"]}
    assert (good["prompts"], good["resources"]) == (1, 1)
    assert "scripted_mcp_server.py" in good["target"]
    assert "no token was given" in broken_one["error"]
    assert "hunter2" not in json.dumps([good, broken_one])


async def test_a_server_is_reconnected_and_switched_off_and_on(
    server: RunningConsole, model: ModelServer, tmp_path: Path
) -> None:
    write(tmp_path / "bobstay" / "settings.json", {"mcpServers": {"good": scripted_entry()}})
    id = await session(server, model)
    await until_state(server, id, "good", "connected")
    off = await act(server, id, "good", "switch", {"enabled": False})
    assert (off.status, off.json["state"], off.json["tools"]) == (200, "disabled", [])
    refused = await act(server, id, "good", "reconnect")
    assert (refused.status, refused.json["error"]["code"]) == (409, "wrong_state")
    assert (await act(server, id, "good", "switch", {"enabled": True})).status == 200
    await until_state(server, id, "good", "connected")
    again = await act(server, id, "good", "reconnect")
    assert (again.status, again.json["state"]) == (200, "connected")
    assert (await act(server, id, "nothing", "reconnect")).status == 404
    no_scope = await act(server, id, "good", "reconnect", headers=await server.token("read", "approve"))
    assert no_scope.status == 403
    audit = (await server.get(f"{API}/audit?session_id={id}")).json["entries"]
    assert {"switch_server", "reconnect_server"} <= {entry["what"] for entry in audit}


async def test_subscribers_hear_of_a_change(server: RunningConsole, model: ModelServer, tmp_path: Path) -> None:
    write(tmp_path / "bobstay" / "settings.json", {"mcpServers": {"good": scripted_entry()}})
    id = await session(server, model)
    await until_state(server, id, "good", "connected")
    async with stream_client(server.stream_url, additional_headers=server.headers) as client:
        await client.follow(f"session:{id}", after="now")
        await act(server, id, "good", "switch", {"enabled": False})
        await client.wait("inventory.changed", topic=f"session:{id}")


async def test_a_project_server_is_approved_by_its_content(
    server: RunningConsole, model: ModelServer, tmp_path: Path
) -> None:
    write(server.work / ".mcp.json", {"mcpServers": {"theirs": scripted_entry()}})
    untrusted = (await listed(server, await server.launch()))["theirs"]
    assert (untrusted["state"], untrusted["needs_approval"]) == ("disabled", False)
    assert "not trusted" in untrusted["error"]
    trust(server)
    id = await session(server, model)
    waiting = (await listed(server, id))["theirs"]
    assert (waiting["state"], waiting["needs_approval"], waiting["level"]) == ("disabled", True, "project")
    assert waiting["source"] == str(server.work / ".mcp.json")
    stale = await act(server, id, "theirs", "approve", {"digest": "0" * 64})
    assert (stale.status, stale.json["error"]["code"]) == (409, "input_changed")
    body = {"digest": waiting["digest"]}
    no_scope = await act(server, id, "theirs", "approve", body, headers=await server.token("read", "operate"))
    assert no_scope.status == 403
    approved = await act(server, id, "theirs", "approve", body)
    assert approved.status == 200, approved.body
    await until_state(server, id, "theirs", "connected")
    write(server.work / ".mcp.json", {"mcpServers": {"theirs": scripted_entry(MCP_MODE="illegal")}})
    trust(server)
    changed = (await listed(server, await server.launch()))["theirs"]
    assert (changed["state"], changed["needs_approval"]) == ("disabled", True), "another entry needs another approval"


async def test_a_person_signs_in_and_the_server_is_connected(
    server: RunningConsole, model: ModelServer, tmp_path: Path, protected: ProtectedServer
) -> None:
    """H8-3: needs-auth is shown at once; the redirect comes back to this machine."""
    write(tmp_path / "bobstay" / "settings.json", {"mcpServers": {"tracker": {"type": "http", "url": protected.url}}})
    id = await session(server, model)
    waiting = await until_state(server, id, "tracker", "needs-auth")
    assert waiting["can_sign_in"]
    reply = await act(server, id, "tracker", "sign-in")
    assert reply.status == 200, reply.body
    address = reply.json["address"]
    assert address.startswith(protected.issuer)
    assert (await listed(server, id))["tracker"]["sign_in"] == address
    assert (await act(server, id, "tracker", "sign-in")).json["address"] == address, "one sign-in at a time"
    await protected.sign_in(address)
    connected = await until_state(server, id, "tracker", "connected")
    assert (connected["sign_in"], connected["error"]) == ("", "")
    assert connected["tools"]


async def test_a_refused_sign_in_says_why(
    server: RunningConsole, model: ModelServer, tmp_path: Path, protected: ProtectedServer
) -> None:
    nothing = {"type": "http", "url": "http://127.0.0.1:9/mcp"}
    entries = {"gone": nothing, "local": scripted_entry()}
    write(tmp_path / "bobstay" / "settings.json", {"mcpServers": entries})
    id = await session(server, model)
    gone = await act(server, id, "gone", "sign-in")
    assert (gone.status, gone.json["error"]["code"]) == (503, "unavailable")
    local = await act(server, id, "local", "sign-in")
    assert (local.status, local.json["error"]["code"]) == (422, "not_supported")
