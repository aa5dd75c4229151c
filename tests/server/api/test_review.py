"""Taking changes back over HTTP: who may, and what is written down about it."""

from tests.kit.consoles import RunningConsole
from tests.kit.repositories import git, repository


async def test_who_took_back_what_is_written_down(server: RunningConsole) -> None:
    repository(server.work, text="one\ntwo\n")
    (server.work / "text").write_text("one\n2\n")
    id = await server.launch()
    (file,) = (await server.get(f"/api/v1/sessions/{id}/diff")).json["files"]
    body = {"path": "text", "version": file["version"]}
    reader = await server.token("read", "approve", "terminal")
    path = f"/api/v1/sessions/{id}/diff/reject"
    assert (await server.post(path, body, headers=reader)).status == 403
    assert (server.work / "text").read_text() == "one\n2\n"
    operator = await server.token("read", "operate")
    reply = await server.post(path, body, headers=operator)
    assert reply.status == 200, reply.body
    assert git(server.work, "status", "--porcelain") == ""
    await server.database.audit.wait_until_written()
    (entry,) = (await server.get("/api/v1/audit?what=diff.reject")).json["entries"]
    assert entry["who"] == "ada"
    assert entry["detail"] == {"session": id, "path": "text", "hunk": None, "kept": reply.json["kept"]}


async def test_an_unknown_session_or_a_strange_body_is_refused(server: RunningConsole) -> None:
    id = await server.launch()
    for body in ({}, {"path": ""}, {"path": "x", "hunk": {"old_start": -1}}, {"path": "x", "more": 1}, {"path": 7}):
        assert (await server.post(f"/api/v1/sessions/{id}/diff/reject", body)).status == 422
    assert (await server.post("/api/v1/sessions/nobody/diff/reject", {"path": "x"})).status == 404
    assert (await server.post(f"/api/v1/sessions/{id}/diff/reject", {"path": "x"})).status == 422  # no repository
