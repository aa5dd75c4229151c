"""Changes are attributed to the session that made them, and a revert can be undone."""

import os
from typing import Any

import pytest

from tests.kit.consoles import RunningConsole
from tests.kit.repositories import repository
from tests.modelserver.script import Call, Say, Step


@pytest.fixture
def server(server: RunningConsole) -> RunningConsole:
    repository(server.work, **{"old.md": "one\ntwo\n", "gone.md": "bye\n"})
    return server


async def session(server: RunningConsole, name: str, *calls: Call) -> str:
    """A session that makes these calls, one after the other, without being asked about any."""
    word = server.model.play(name, *(Step(blocks=[call]) for call in calls), Step(blocks=[Say("Done.")]))
    id = await server.launch(word, permission_mode="bypassPermissions")
    await server.until_status(id, "completed")
    return id


async def paths(server: RunningConsole, id: str, scope: str = "session") -> list[str]:
    return sorted(file["path"] for file in (await diff(server, id, scope))["files"])


async def diff(server: RunningConsole, id: str, scope: str = "session") -> dict[str, Any]:
    reply = await server.get(f"/api/v1/sessions/{id}/diff?scope={scope}")
    assert reply.status == 200, reply.body
    found: dict[str, Any] = reply.json
    return found


def write(server: RunningConsole, name: str, text: str = "new\n") -> Call:
    return Call("Write", {"file_path": str(server.work / name), "content": text})


async def test_each_session_has_its_own_changes_and_the_directory_has_all(server: RunningConsole) -> None:
    asked = await session(server, "asks")
    first = await session(server, "first", write(server, "a.md"))
    second = await session(
        server, "second", write(server, "b.md"), Call("Bash", {"command": "echo c > c.md; rm gone.md"})
    )
    (server.work / "mine.md").write_text("by a person, before any command of theirs\n")
    os.utime(server.work / "mine.md", (1, 1))
    assert await paths(server, asked) == []
    assert await paths(server, first) == ["a.md"]
    assert await paths(server, second) == ["b.md", "c.md", "gone.md"]
    everything = await diff(server, first, "all")
    assert (len(everything["files"]), everything["elsewhere"]) == (5, 0)
    assert (await diff(server, first))["elsewhere"] == 4


async def test_files_of_a_patch_are_changes_of_its_session(server: RunningConsole) -> None:
    (server.work.parent / "bobstay" / "settings.json").write_text('{"models": {"sonnet": {"patches": true}}}')
    patch = "*** Begin Patch\n*** Add File: a.md\n+new\n*** Update File: old.md\n*** Move to: moved.md\n*** End Patch"
    id = await session(
        server, "patch", Call("Read", {"file_path": "old.md"}), Call("ApplyPatch", {"input": patch}, "toolu_patch")
    )
    await session(server, "other", write(server, "b.md"))
    assert await paths(server, id) == ["a.md", "moved.md", "old.md"]


async def test_a_turn_has_what_was_changed_since_the_last_prompt(server: RunningConsole) -> None:
    id = await session(server, "early", write(server, "a.md"))
    word = server.model.play("late", Step(blocks=[write(server, "b.md")]), Step(blocks=[Say("Done.")]))
    await server.post(f"/api/v1/sessions/{id}/messages", {"content": word})
    await server.until(id, lambda view: view.turns == 2 and view.status == "completed")
    assert (await paths(server, id), await paths(server, id, "turn")) == (["a.md", "b.md"], ["b.md"])


async def rejected(server: RunningConsole, id: str, path: str, *, hunk: bool) -> dict[str, Any]:
    file = next(each for each in (await diff(server, id, "all"))["files"] if each["path"] == path)
    body: dict[str, Any] = {"path": path, "version": file["version"]}
    if hunk:
        (one,) = file["hunks"]
        body |= {"hunk": {key: one[key] for key in ("old_start", "old_lines", "new_start", "new_lines")}}
        body |= {"sha256": one["sha256"], "version": ""}
    reply = await server.post(f"/api/v1/sessions/{id}/diff/reject", body)
    assert reply.status == 200, reply.body
    done: dict[str, Any] = reply.json
    return done


@pytest.mark.parametrize(("name", "hunk"), [("old.md", True), ("old.md", False), ("new.sh", False), ("gone.md", False)])
async def test_what_was_rejected_is_restored_to_the_byte(server: RunningConsole, name: str, hunk: bool) -> None:
    id = await server.launch()
    (server.work / "old.md").write_bytes(b"one\r\n\xff2\n")
    (server.work / "new.sh").write_bytes(b"#!/bin/sh\n")
    (server.work / "new.sh").chmod(0o755)
    (server.work / "gone.md").unlink()
    file = server.work / name
    before = (file.read_bytes(), file.stat().st_mode) if file.exists() else None
    done = await rejected(server, id, name, hunk=hunk)
    assert (file.exists() and file.read_bytes()) != (before and before[0])
    undone = await server.post(f"/api/v1/sessions/{id}/diff/undo", {"undo": done["undo"]})
    assert (undone.status, undone.json["paths"]) == (200, [name])
    assert ((file.read_bytes(), file.stat().st_mode) if file.exists() else None) == before
    again = await server.post(f"/api/v1/sessions/{id}/diff/undo", {"undo": done["undo"]})
    assert again.status == 404


async def test_a_file_that_was_written_meanwhile_is_left_alone(server: RunningConsole) -> None:
    id = await server.launch()
    (server.work / "old.md").write_text("changed\n")
    done = await rejected(server, id, "old.md", hunk=False)
    (server.work / "old.md").write_text("by somebody else\n")
    refused = await server.post(f"/api/v1/sessions/{id}/diff/undo", {"undo": done["undo"]})
    assert refused.status == 409
    assert (server.work / "old.md").read_text() == "by somebody else\n"
