"""Reverting changes of a session: one hunk, a whole file, and never more than the person saw."""

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bobstay.server.files.git_diff_parser import RawHunk, parse_hunks
from bobstay.server.revert import confined_write
from bobstay.server.revert.reverse_hunk import HunkMismatch, revert_hunk
from tests.kit.http_exchange import HttpReply
from tests.kit.repositories import git, repository
from tests.server.files.files_host import FilesHost

LONG = "".join(f"line {number}\n" for number in range(60))


class Review:
    """A session over a repository, as a page sees it."""

    def __init__(self, host: FilesHost, cwd: Path | None = None, **query: Any) -> None:
        self.host = host
        self.session = host.session(cwd)
        self.query = query

    async def file(self, path: str) -> Any:
        reply = await self.host.get(f"/sessions/{self.session.id}/diff", **self.query)
        assert reply.status == 200, reply.body
        return next((file for file in reply.json["files"] if file["path"] == path), None)

    async def reject(self, file: Any, number: int | None = None, **more: Any) -> HttpReply:
        """The whole file, or the hunk of this number."""
        body = {"path": file["path"], **self.query, **more}
        if number is None:
            body.setdefault("version", file.get("version", ""))
        else:
            hunk = file["hunks"][number]
            body["hunk"] = {name: hunk[name] for name in ("old_start", "old_lines", "new_start", "new_lines")}
            body.setdefault("sha256", hunk["sha256"])
        return await self.host.post(f"/sessions/{self.session.id}/diff/reject", body)


async def test_one_hunk_goes_and_the_others_stay(host: FilesHost) -> None:
    repository(host.work, text=LONG)
    target = host.work / "text"
    target.chmod(0o755)
    changed = LONG.replace("line 3\n", "three\n").replace("line 30\n", "").replace("line 55\n", "55\nmore\n")
    target.write_text(changed)
    review = Review(host)
    file = await review.file("text")
    assert len(file["hunks"]) == 3
    reply = await review.reject(file, 1)
    assert reply.status == 200, reply.body
    assert target.read_text() == LONG.replace("line 3\n", "three\n").replace("line 55\n", "55\nmore\n")
    assert stat.S_IMODE(target.stat().st_mode) == 0o755
    (left,) = reply.json["changes"]["files"]
    assert [hunk["sha256"] for hunk in left["hunks"]] == [file["hunks"][place]["sha256"] for place in (0, 2)]
    kept = Path(reply.json["kept"])
    assert kept.read_text() == changed
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert not [name for name in os.listdir(host.work) if "bobstay" in name]


async def test_a_page_may_take_back_several_hunks_of_one_look(host: FilesHost) -> None:
    """The first moves the others: they are known by what they are, not only by where."""
    repository(host.work, text=LONG)
    (host.work / "text").write_text(LONG.replace("line 3\n", "a\nb\nc\n").replace("line 50\n", "fifty\n"))
    review = Review(host)
    file = await review.file("text")
    assert (await review.reject(file, 0)).status == 200
    assert (await review.reject(file, 1)).status == 200
    assert (host.work / "text").read_text() == LONG
    gone = await review.reject(file, 1)
    assert (gone.status, gone.code) == (409, "conflict")


async def test_a_file_that_changed_since_is_left_alone(host: FilesHost) -> None:
    repository(host.work, text=LONG)
    target = host.work / "text"
    target.write_text(LONG.replace("line 3\n", "three\n"))
    review = Review(host)
    file = await review.file("text")
    target.write_text(LONG.replace("line 3\n", "THREE\n"))
    for number in (0, None):
        reply = await review.reject(file, number)
        assert (reply.status, reply.code) == (409, "conflict")
        assert "Look at the diff again" in reply.json["error"]["message"]
    assert target.read_text() == LONG.replace("line 3\n", "THREE\n")


async def test_whole_files_of_each_kind_come_back(host: FilesHost) -> None:
    repository(host.work, edited=LONG, gone="bye\n", old_name=LONG, script="#!/bin/sh\n", binary="\0\1\2")
    (host.work / "edited").write_text("quite another\n")
    (host.work / "gone").unlink()
    git(host.work, "mv", "old_name", "new_name")
    (host.work / "new_name").write_text(LONG + "and one more\n")
    (host.work / "script").chmod(0o755)
    (host.work / "binary").write_bytes(b"\0\3")
    (host.work / "staged").write_text("new\n")
    git(host.work, "add", "staged")
    (host.work / "fresh").write_text("a\nb")
    review = Review(host)
    for path in ("edited", "gone", "new_name", "script", "binary", "staged", "fresh"):
        file = await review.file(path)
        assert file["rejectable"] is True
        reply = await review.reject(file)
        assert reply.status == 200, (path, reply.body)
        assert bool(reply.json["kept"]) == (path != "gone")
    assert git(host.work, "status", "--porcelain") == ""
    assert await review.file("old_name") is None
    assert (host.work / "edited").read_text() == LONG
    assert (host.work / "gone").read_text() == "bye\n"
    assert (host.work / "old_name").read_text() == LONG
    assert not (host.work / "new_name").exists()
    assert stat.S_IMODE((host.work / "script").stat().st_mode) == 0o644
    assert (host.work / "binary").read_bytes() == b"\0\1\2"
    assert not (host.work / "fresh").exists()


async def test_what_was_staged_does_not_come_with_the_next_commit(host: FilesHost) -> None:
    repository(host.work)
    inner = host.work / "inner"
    inner.mkdir()
    for name in ("edited", "gone"):
        (inner / name).write_text(LONG)
    git(host.work, "add", ".")
    git(host.work, "commit", "-qm", "more")
    (inner / "edited").write_text("staged\n")
    git(host.work, "rm", "-q", "inner/gone")
    (inner / "added").write_text("staged\n")
    git(host.work, "add", ".")
    hook = host.work / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {host.outside}/ran\n")
    hook.chmod(0o755)
    review = Review(host, inner)
    for path in ("edited", "gone", "added"):
        reply = await review.reject(await review.file(path))
        assert reply.status == 200, reply.body
        assert reply.json["changes"]["files"] == []
    assert not (host.outside / "ran").exists()
    hook.unlink()
    assert git(host.work, "status", "--porcelain") == ""


async def test_a_deleted_file_gets_its_folder_back(host: FilesHost) -> None:
    repository(host.work)
    inner = host.work / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x\n")
    git(host.work, "add", ".")
    git(host.work, "commit", "-qm", "more")
    (inner / "file").unlink()
    inner.rmdir()
    (host.work / "a").rmdir()
    review = Review(host)
    assert (await review.reject(await review.file("a/b/file"))).status == 200
    assert (inner / "file").read_text() == "x\n"


async def test_a_rename_is_not_undone_over_a_new_file(host: FilesHost) -> None:
    repository(host.work, old_name=LONG)
    (host.work / "old_name").rename(host.work / "new_name")
    git(host.work, "add", "-A")
    review = Review(host)
    file = await review.file("new_name")
    assert (file["status"], file["view"]) == ("renamed", "renamed_only")
    (host.work / "old_name").write_text("precious")
    review.query = {}
    reply = await review.reject(file)
    assert reply.status == 409
    assert (host.work / "old_name").read_text() == "precious"
    assert (host.work / "new_name").read_text() == LONG


async def test_against_another_base_and_below_a_folder(host: FilesHost) -> None:
    repository(host.work)
    inner = host.work / "inner"
    inner.mkdir()
    (inner / "text").write_text(LONG)
    git(host.work, "add", ".")
    git(host.work, "commit", "-qm", "one")
    base = git(host.work, "rev-parse", "HEAD").strip()
    (inner / "text").write_text(LONG.replace("line 9\n", "nine\n"))
    git(host.work, "commit", "-qam", "two")
    review = Review(host, inner, base=base)
    file = await review.file("text")
    assert (await review.reject(file, 0)).status == 200
    assert (inner / "text").read_text() == LONG
    (inner / "text").write_text("other\n")
    assert (await review.reject(await review.file("text"))).status == 200
    assert (inner / "text").read_text() == LONG


async def test_line_ends_git_does_not_show_are_kept(host: FilesHost) -> None:
    repository(host.work, text=LONG)
    git(host.work, "config", "core.autocrlf", "true")
    target = host.work / "text"
    windows = LONG.replace("\n", "\r\n").encode()
    target.write_bytes(windows.replace(b"line 5\r\n", b"five\r\nand more\r\n"))
    review = Review(host)
    file = await review.file("text")
    assert (await review.reject(file, 0)).status == 200
    assert target.read_bytes() == windows
    target.write_bytes(b"all gone\r\n")
    assert (await review.reject(await review.file("text"))).status == 200
    assert target.read_bytes() == windows


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("new_end", ["", "\n"])
async def test_the_end_of_a_file_comes_back_with_or_without_newline(host: FilesHost, end: str, new_end: str) -> None:
    repository(host.work, text="a\nb\nc" + end)
    (host.work / "text").write_text("a\nb\nsee" + new_end)
    review = Review(host)
    assert (await review.reject(await review.file("text"), 0)).status == 200
    assert (host.work / "text").read_text() == "a\nb\nc" + end


async def test_what_cannot_be_taken_back_is_refused_with_words(
    host: FilesHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(host.work, edited=LONG, becomes_link=LONG, filtered="x\n")
    (host.work / "link").symlink_to("/etc/passwd")
    (host.work / "becomes_link").unlink()
    (host.work / "becomes_link").symlink_to("/etc/passwd")
    (host.work / "fresh").write_text("new\n")
    (host.work / ".gitattributes").write_text("filtered filter=lfs\n")
    (host.work / "filtered").write_text("y\n")
    (host.work / "edited").write_text(LONG + "more\n")
    review = Review(host)
    cases: list[tuple[str, int | None, int, str]] = [
        ("link", None, 422, "not_supported"),
        ("becomes_link", None, 422, "not_supported"),
        ("filtered", None, 422, "not_supported"),
        ("fresh", 0, 422, "invalid"),
    ]
    for path, number, status, code in cases:
        reply = await review.reject(await review.file(path), number)
        assert (reply.status, reply.code) == (status, code), path
        assert reply.json["error"]["message"]
    file = await review.file("edited")
    assert (await review.reject(file, 0, sha256="")).status == 422
    assert (await review.reject(file, 0, sha256="0" * 64)).status == 409
    assert (await review.reject({"path": "nowhere"})).status == 409
    assert (await review.reject({"path": "../outside"})).status == 422
    assert (await review.reject({"path": ".git/config"})).status == 409
    monkeypatch.setattr(confined_write, "MOST", 100)
    assert (await review.reject(file)).status == 413
    assert (host.work / "edited").read_text() == LONG + "more\n"
    assert (host.work / "filtered").read_text() == "y\n"


async def test_a_folder_that_became_a_link_leads_nowhere(host: FilesHost) -> None:
    """FM-46: between look and deed the folder is swapped for a link to the outside."""
    from bobstay.server.files.session_directory import open_session_directory

    (host.outside / "file").write_text("precious")
    (host.work / "folder").symlink_to(host.outside)
    with open_session_directory(str(host.work), host.roots.allowed()) as place:
        for deed in (
            lambda: confined_write.write_file(place, "folder/file", b"x", 0o644, over=""),
            lambda: confined_write.remove_file(place, "folder/file", version=""),
            lambda: confined_write.read_file(place, "folder/file"),
            lambda: confined_write.write_file(place, ".git/config", b"x", 0o644, over=""),
        ):
            with pytest.raises(Exception, match=r"link|must not be changed|lead"):
                deed()
    assert (host.outside / "file").read_text() == "precious"


async def test_nothing_is_told_of_files_a_link_leads_to(host: FilesHost) -> None:
    repository(host.work)
    (host.work / "folder").mkdir()
    (host.work / "folder" / "file").write_text("ours\n")
    git(host.work, "add", ".")
    git(host.work, "commit", "-qm", "more")
    (host.work / "folder" / "file").unlink()
    (host.work / "folder").rmdir()
    (host.outside / "file").write_text("of others")
    (host.work / "folder").symlink_to(host.outside)
    file = await Review(host).file("folder/file")
    assert (file["status"], file["size"], file["version"]) == ("deleted", 0, "")


async def test_what_somebody_writes_at_the_last_moment_is_not_written_over(host: FilesHost) -> None:
    from bobstay.server.errors import ApiError
    from bobstay.server.files.session_directory import open_session_directory
    from bobstay.server.files.working_changes import file_version

    target = host.work / "text"
    target.write_text("shown\n")
    with open_session_directory(str(host.work), host.roots.allowed()) as place:
        seen = file_version(place, "text")[0]
        target.write_text("written meanwhile\n")
        with pytest.raises(ApiError, match="Look at the diff again"):
            confined_write.write_file(place, "text", b"old\n", over=seen)
        with pytest.raises(ApiError, match="Look at the diff again"):
            confined_write.write_file(place, "text", b"old\n", 0o644, over="")
        with pytest.raises(ApiError, match="Look at the diff again"):
            confined_write.remove_file(place, "text", version=seen)
    assert target.read_text() == "written meanwhile\n"
    assert os.listdir(host.work) == ["text"]


async def test_without_a_copy_nothing_is_touched_and_the_index_neither(host: FilesHost) -> None:
    repository(host.work, edited=LONG)
    (host.work / "edited").write_text("staged\n")
    git(host.work, "add", ".")
    review = Review(host)
    state = Path(host.services.options.state)
    state.mkdir(parents=True, exist_ok=True)
    (state / "rejected").write_text("a file in the way")
    reply = await review.reject(await review.file("edited"))
    assert reply.code == "storage", reply.body
    assert git(host.work, "diff", "--cached", "--name-only").split() == ["edited"]
    assert (host.work / "edited").read_text() == "staged\n"


async def test_a_file_with_a_long_name_is_taken_back_too(host: FilesHost) -> None:
    name = "漢" * 80
    repository(host.work, **{name: "old\n"})
    (host.work / name).write_text("new\n")
    review = Review(host)
    reply = await review.reject(await review.file(name))
    assert reply.status == 200, reply.body
    assert (host.work / name).read_text() == "old\n"
    assert Path(reply.json["kept"]).read_text() == "new\n"


async def test_each_kind_of_file_says_what_there_is_to_show(host: FilesHost) -> None:
    repository(host.work, script="#!/bin/sh\n", binary="\0\1\2", old_name=LONG, edited="a\n")
    (host.work / "script").chmod(0o755)
    (host.work / "binary").write_bytes(b"\0\3")
    git(host.work, "mv", "old_name", "new_name")
    (host.work / "edited").write_text("b\n")
    (host.work / "huge").write_text("x" * 300 + "\n" * 300_000)
    (host.work / "empty").touch()
    (host.work / "link").symlink_to("edited")
    review = Review(host)
    views = {path: (await review.file(path)) for path in os.listdir(host.work) if path != ".git"}
    assert {path: file.get("view", "text") for path, file in views.items()} == {
        "script": "mode_only",
        "binary": "binary",
        "new_name": "renamed_only",
        "edited": "text",
        "huge": "text",
        "empty": "empty",
        "link": "link",
    }
    assert views["huge"]["truncated"] is True
    assert views["huge"]["size"] == 300_300
    assert (views["script"]["old_mode"], views["script"]["new_mode"]) == ("100644", "100755")
    assert views["link"].get("rejectable", False) is False
    alone = await Review(host, path="new_name").file("new_name")
    assert (alone["status"], alone["old_path"]) == ("renamed", "old_name")


LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"+", b"-x", b" y", b"\\ No newline", b"@@ -1 +1 @@", b"\r"]))


def diffed(folder: Path, old: bytes, new: bytes) -> list[RawHunk]:
    """The hunks as git itself sees them."""
    (folder / "old").write_bytes(old)
    (folder / "new").write_bytes(new)
    command = ["git", "diff", "--no-index", "--unified=1", "--text", "--src-prefix=a/", "--dst-prefix=b/", "old", "new"]
    output = subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout
    return parse_hunks(output, b"new")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=LINES, new=LINES, ends=st.tuples(st.booleans(), st.booleans()), data=st.data())
def test_hunks_taken_back_one_by_one_in_any_order_give_the_old_file(
    tmp_path: Path, old: list[bytes], new: list[bytes], ends: tuple[bool, bool], data: st.DataObject
) -> None:
    before = b"\n".join(old) + (b"\n" if ends[0] and old else b"")
    now = b"\n".join(new) + (b"\n" if ends[1] and new else b"")
    while hunks := diffed(tmp_path, before, now):
        chosen = data.draw(st.sampled_from(hunks))
        now = revert_hunk(now, chosen)
        assert len(diffed(tmp_path, before, now)) < len(hunks)
    assert now == before


def test_a_hunk_that_does_not_fit_changes_nothing() -> None:
    hunk = RawHunk(1, 1, 1, 1, b"", (b"-old", b"+new"))
    assert revert_hunk(b"new\nrest\n", hunk) == b"old\nrest\n"
    for data in (b"", b"newer\n", b"x\nnew\n", b"ne"):
        with pytest.raises(HunkMismatch):
            revert_hunk(data, hunk)
    emptied = RawHunk(1, 1, 0, 0, b"", (b"-old",))
    assert revert_hunk(b"", emptied) == b"old\n"
    with pytest.raises(HunkMismatch):
        revert_hunk(b"written meanwhile\n", emptied)
    cut = RawHunk(1, 5, 1, 5, b"", (b"-old", b"+new"))
    with pytest.raises(HunkMismatch):
        revert_hunk(b"new\n", cut)
    at_the_end = RawHunk(1, 1, 1, 1, b"", (b"-old", b"+new", b"\\ No newline at end of file"))
    with pytest.raises(HunkMismatch):
        revert_hunk(b"new\nmore\n", at_the_end)
