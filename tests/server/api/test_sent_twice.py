"""Requests that a client sends again because it never heard the answer: what they ask for is done once."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bobstay.server.rpc.rpc_server import NAME
from tests.kit.consoles import RunningConsole
from tests.kit.repositories import repository
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer

API = "/api/v1"


@pytest.mark.parametrize("worktree", [False, True])
async def test_a_session_asked_for_twice_with_the_same_client_id_is_made_once(
    server: RunningConsole, model: ModelServer, worktree: bool
) -> None:
    """Also where the second comes while the first is under way."""
    repository(server.work, file="one\n")
    prompt = model.play("once", Step(blocks=[Say("ok")]))
    body = {"cwd": str(server.work), "prompt": prompt, "client_id": "c-1", "worktree": worktree}
    both = await asyncio.gather(*(server.post(f"{API}/sessions", body) for _ in range(2)))
    assert [reply.status for reply in both] == [201, 201], [reply.body for reply in both]
    (id,) = {reply.json["id"] for reply in both}
    await server.until_status(id, "completed")
    assert (await server.post(f"{API}/sessions", body)).json["id"] == id
    child = {"prompt": model.play("more", Step(blocks=[Say("more")])), "client_id": "c-2"}
    twice = [await server.post(f"{API}/sessions/{id}/continue", child) for _ in range(2)]
    assert [reply.status for reply in twice] == [201, 201]
    assert len({reply.json["id"] for reply in twice} - {id}) == 1
    other = await server.post(f"{API}/sessions", {**body, "prompt": "", "title": "another wish", "worktree": False})
    assert other.json["id"] != id
    listed = (await server.get(f"{API}/sessions")).json["sessions"]
    assert len(listed) == 3
    assert [request.body["messages"][0]["role"] for request in model.requests] == ["user", "user"]


async def test_a_client_id_is_known_after_a_restart_and_belongs_to_its_person(
    model: ModelServer, tmp_path: Path
) -> None:
    body = {"cwd": str(tmp_path / "work"), "client_id": "c-1"}
    async with RunningConsole(model, tmp_path) as server:
        id = (await server.post(f"{API}/sessions", body)).json["id"]
    async with RunningConsole(model, tmp_path) as server:
        assert (await server.post(f"{API}/sessions", body)).json["id"] == id
        clients = server.auth.clients
        _, secret = await clients.create("token", "bob", ("operate",), label="x", by="test", lifetime=None)
        bob = {"Authorization": f"Bearer {secret}"}
        assert (await server.post(f"{API}/sessions", body, headers=bob)).json["id"] != id
        assert (await server.ask("DELETE", f"{API}/sessions/{id}")).status == 204
        deleted = await server.post(f"{API}/sessions", body)
        assert (deleted.status, deleted.json["error"]["code"]) == (409, "conflict")
        assert [each["id"] for each in (await server.get(f"{API}/trash")).json["sessions"]] == [id]


async def test_an_idempotency_key_counts_over_the_unix_socket_too(server: RunningConsole) -> None:
    reader, writer = await asyncio.open_unix_connection(f"{server.options.state}/{NAME}")

    async def call(number: int, title: str, headers: dict[str, str]) -> Any:
        params = {"body": {"cwd": str(server.work), "title": title}, "headers": headers}
        request = {"jsonrpc": "2.0", "id": number, "method": "POST /sessions", "params": params}
        writer.write(json.dumps(request).encode() + b"\n")
        return json.loads(await reader.readline())

    key = {"Idempotency-Key": "k-1"}
    first, again = await call(1, "one", key), await call(2, "one", key)
    assert first["result"]["id"] == again["result"]["id"]
    other = await call(3, "another", key)
    assert other["error"]["data"]["code"] == "conflict"
    assert (await call(4, "one", {}))["result"]["id"] != first["result"]["id"]
    writer.close()


def forget_the_prompt(path: Path) -> None:
    """Leave of a log what a crash leaves that comes just before the prompt is written."""
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(server for server, line in enumerate(lines) if b'"input_queued"' in line)
    path.write_bytes(b"".join(lines[:last]))


async def test_a_prompt_that_a_crash_cut_off_is_taken_up_when_it_is_sent_again(
    model: ModelServer, tmp_path: Path
) -> None:
    """The session is there, but the client was never told that its words were heard: they were not."""
    first = model.play("first", *(Step(blocks=[Say("ok")]) for _ in range(2)))
    more = model.play("more", *(Step(blocks=[Say("more")]) for _ in range(2)))
    body = {"cwd": str(tmp_path / "work"), "prompt": first, "client_id": "c-1"}
    child = {"prompt": more, "client_id": "c-2"}
    async with RunningConsole(model, tmp_path) as server:
        id = (await server.post(f"{API}/sessions", body)).json["id"]
        await server.until_status(id, "completed")
        copy = (await server.post(f"{API}/sessions/{id}/fork", child)).json["id"]
        await server.until_status(copy, "completed")
        store = server.store
    for each in (id, copy):
        forget_the_prompt(Path(store.path(each)))
    (tmp_path / "bobstay" / "server" / "index.sqlite").unlink()
    async with RunningConsole(model, tmp_path) as server:
        for path, request_body, made in ((f"{API}/sessions", body, id), (f"{API}/sessions/{id}/fork", child, copy)):
            for _ in range(2):
                reply = await server.post(path, request_body)
                assert (reply.status, reply.json["id"]) == (201, made), reply.body
                view = await server.until_status(made, "completed")
                assert view.last_prompt == request_body["prompt"]
        assert len(model.requests) == 4, "each of the two twice: before the crash and after it"


async def test_a_work_tree_that_a_session_was_not_made_for_is_no_hindrance(server: RunningConsole) -> None:
    """The first attempt got no further than that."""
    repository(server.work, file="one\n")
    body = {"cwd": str(server.work), "client_id": "c-1", "worktree": True}
    sessions = Path(server.store.path("x")).parent
    sessions.mkdir(parents=True, exist_ok=True)
    aside = sessions.rename(sessions.with_name("aside"))
    sessions.write_text("no directory")
    assert (await server.post(f"{API}/sessions", body)).status >= 500
    sessions.unlink()
    aside.rename(sessions)
    again = await server.post(f"{API}/sessions", body)
    assert again.status == 201, again.body
