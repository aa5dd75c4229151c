"""Taking changes back over HTTP: who may, and what is written down about it."""

from tests.server.api.place import Place
from tests.server.files.shelf import git, repository


async def test_who_took_back_what_is_written_down(place: Place) -> None:
    repository(place.work, text="one\ntwo\n")
    (place.work / "text").write_text("one\n2\n")
    id = await place.launch()
    (file,) = (await place.get(f"/api/v1/sessions/{id}/diff")).json["files"]
    body = {"path": "text", "version": file["version"]}
    reader = await place.token("read", "approve", "terminal")
    path = f"/api/v1/sessions/{id}/diff/reject"
    assert (await place.post(path, body, headers=reader)).status == 403
    assert (place.work / "text").read_text() == "one\n2\n"
    operator = await place.token("read", "operate")
    reply = await place.post(path, body, headers=operator)
    assert reply.status == 200, reply.body
    assert git(place.work, "status", "--porcelain") == ""
    await place.console.database.audit.written()
    (entry,) = (await place.get("/api/v1/audit?what=diff.reject")).json["entries"]
    assert entry["who"] == "ada"
    assert entry["detail"] == {"session": id, "path": "text", "hunk": None, "kept": reply.json["kept"]}


async def test_an_unknown_session_or_a_strange_body_is_refused(place: Place) -> None:
    id = await place.launch()
    for body in ({}, {"path": ""}, {"path": "x", "hunk": {"old_start": -1}}, {"path": "x", "more": 1}, {"path": 7}):
        assert (await place.post(f"/api/v1/sessions/{id}/diff/reject", body)).status == 422
    assert (await place.post("/api/v1/sessions/nobody/diff/reject", {"path": "x"})).status == 404
    assert (await place.post(f"/api/v1/sessions/{id}/diff/reject", {"path": "x"})).status == 422  # no repository
