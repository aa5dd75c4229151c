"""Changes are told apart by the session that made them, and what was rejected can be had back."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.modelserver.script import Call, Say, Step
from tests.server.api.place import Place


@pytest.fixture
async def place(model: Any, tmp_path: Path) -> Any:
    async with Place(model, tmp_path) as made:
        (made.work / "old.md").write_text("one\ntwo\n")
        (made.work / "gone.md").write_text("bye\n")
        for words in (
            ["init", "-q"],
            ["add", "-A"],
            ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"],
        ):
            subprocess.run(["git", "-C", str(made.work), *words], check=True)
        yield made


async def session(place: Place, name: str, *calls: Call) -> str:
    """A session that makes these calls, one after the other, without being asked about any."""
    word = place.model.play(name, *(Step(blocks=[call]) for call in calls), Step(blocks=[Say("Done.")]))
    id = await place.launch(word, permission_mode="bypassPermissions")
    await place.until_status(id, "completed")
    return id


async def paths(place: Place, id: str, scope: str = "session") -> list[str]:
    return sorted(file["path"] for file in (await diff(place, id, scope))["files"])


async def diff(place: Place, id: str, scope: str = "session") -> dict[str, Any]:
    reply = await place.get(f"/api/v1/sessions/{id}/diff?scope={scope}")
    assert reply.status == 200, reply.body
    found: dict[str, Any] = reply.json
    return found


def write(place: Place, name: str, text: str = "new\n") -> Call:
    return Call("Write", {"file_path": str(place.work / name), "content": text})


async def test_each_session_has_its_own_changes_and_the_directory_has_all(place: Place) -> None:
    asked = await session(place, "asks")
    first = await session(place, "first", write(place, "a.md"))
    second = await session(
        place, "second", write(place, "b.md"), Call("Bash", {"command": "echo c > c.md; rm gone.md"})
    )
    (place.work / "mine.md").write_text("by a person, before any command of theirs\n")
    os.utime(place.work / "mine.md", (1, 1))
    assert await paths(place, asked) == []
    assert await paths(place, first) == ["a.md"]
    assert await paths(place, second) == ["b.md", "c.md", "gone.md"]
    everything = await diff(place, first, "all")
    assert (len(everything["files"]), everything["elsewhere"]) == (5, 0)
    assert (await diff(place, first))["elsewhere"] == 4


async def test_a_turn_has_what_was_changed_since_the_last_prompt(place: Place) -> None:
    id = await session(place, "early", write(place, "a.md"))
    word = place.model.play("late", Step(blocks=[write(place, "b.md")]), Step(blocks=[Say("Done.")]))
    await place.post(f"/api/v1/sessions/{id}/messages", {"content": word})
    await place.until(id, lambda view: view.turns == 2 and view.status == "completed")
    assert (await paths(place, id), await paths(place, id, "turn")) == (["a.md", "b.md"], ["b.md"])


async def rejected(place: Place, id: str, path: str, *, hunk: bool) -> dict[str, Any]:
    file = next(each for each in (await diff(place, id, "all"))["files"] if each["path"] == path)
    body: dict[str, Any] = {"path": path, "version": file["version"]}
    if hunk:
        (one,) = file["hunks"]
        body |= {"hunk": {key: one[key] for key in ("old_start", "old_lines", "new_start", "new_lines")}}
        body |= {"sha256": one["sha256"], "version": ""}
    reply = await place.post(f"/api/v1/sessions/{id}/diff/reject", body)
    assert reply.status == 200, reply.body
    done: dict[str, Any] = reply.json
    return done


@pytest.mark.parametrize(("name", "hunk"), [("old.md", True), ("old.md", False), ("new.sh", False), ("gone.md", False)])
async def test_what_was_rejected_is_restored_to_the_byte(place: Place, name: str, hunk: bool) -> None:
    id = await place.launch()
    (place.work / "old.md").write_bytes(b"one\r\n\xff2\n")
    (place.work / "new.sh").write_bytes(b"#!/bin/sh\n")
    (place.work / "new.sh").chmod(0o755)
    (place.work / "gone.md").unlink()
    file = place.work / name
    before = (file.read_bytes(), file.stat().st_mode) if file.exists() else None
    done = await rejected(place, id, name, hunk=hunk)
    assert (file.exists() and file.read_bytes()) != (before and before[0])
    undone = await place.post(f"/api/v1/sessions/{id}/diff/undo", {"undo": done["undo"]})
    assert (undone.status, undone.json["paths"]) == (200, [name])
    assert ((file.read_bytes(), file.stat().st_mode) if file.exists() else None) == before
    again = await place.post(f"/api/v1/sessions/{id}/diff/undo", {"undo": done["undo"]})
    assert again.status == 404


async def test_a_file_that_was_written_meanwhile_is_left_alone(place: Place) -> None:
    id = await place.launch()
    (place.work / "old.md").write_text("changed\n")
    done = await rejected(place, id, "old.md", hunk=False)
    (place.work / "old.md").write_text("by somebody else\n")
    refused = await place.post(f"/api/v1/sessions/{id}/diff/undo", {"undo": done["undo"]})
    assert refused.status == 409
    assert (place.work / "old.md").read_text() == "by somebody else\n"
