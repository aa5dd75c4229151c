"""Diffs of real repositories, with names and contents of all kinds and any size."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.server.files.git_diff_parser import MOST_FILE, parse_list, parse_patch, to_added_hunk, unquote
from bobstay.server.files.path_names import decode_path
from bobstay.server.files.working_changes import MOST_FILES, MOST_PATCH
from tests.kit.http_exchange import HttpReply
from tests.kit.repositories import git, repository
from tests.server.files.files_host import FilesHost


async def diff(host: FilesHost, cwd: Path | None = None, **query: Any) -> HttpReply:
    session = host.session(cwd)
    reply = await host.get(f"/sessions/{session.id}/diff", **query)
    host.registry.release(session.id)
    return reply


async def files_of(host: FilesHost, cwd: Path | None = None, **query: Any) -> dict[str, Any]:
    reply = await diff(host, cwd, **query)
    assert reply.status == 200, reply.body
    return {file["path"]: file for file in reply.json["files"]}


async def test_each_kind_of_change_is_told(host: FilesHost) -> None:
    """Modified, added, removed, renamed, new, executable, binary; with hunks and numbers."""
    repository(
        host.work,
        edited="one\ntwo\nthree\n",
        gone="bye\n",
        old_name="".join(f"{number}\n" for number in range(50)),
        script="#!/bin/sh\n",
    )
    (host.work / "edited").write_text("one\n2\nthree\nfour")
    (host.work / "gone").unlink()
    git(host.work, "mv", "old_name", "new_name")
    (host.work / "script").chmod(0o755)
    (host.work / "staged").write_text("new\n")
    git(host.work, "add", "staged")
    (host.work / "fresh").write_text("a\nb")
    (host.work / "picture").write_bytes(b"\x89PNG\0\1\2")
    found = await files_of(host)

    assert {path: file["status"] for path, file in found.items()} == {
        "edited": "modified",
        "gone": "deleted",
        "new_name": "renamed",
        "script": "modified",
        "staged": "added",
        "fresh": "untracked",
        "picture": "untracked",
    }
    assert (found["edited"]["added"], found["edited"]["removed"]) == (2, 1)
    (hunk,) = found["edited"]["hunks"]
    assert hunk["text"] == " one\n-two\n+2\n three\n+four\n\\ No newline at end of file"
    assert (hunk["old_start"], hunk["old_lines"], hunk["new_start"], hunk["new_lines"]) == (1, 3, 1, 4)
    assert found["new_name"]["old_path"] == "old_name"
    assert (found["script"]["old_mode"], found["script"]["new_mode"]) == ("100644", "100755")
    assert found["fresh"]["hunks"][0]["text"] == "+a\n+b\n\\ No newline at end of file"
    assert found["fresh"]["added"] == 2
    assert found["picture"]["binary"]


@pytest.mark.parametrize(
    "name",
    [
        b"new\nline",
        b"tab\there",
        b'quo"te',
        b"back\\slash",
        b"\xff\xfe",
        "ä ö".encode(),
        b"diff --git a b",
        b"-option",
        b":(top)magic",
        b"*",
        b"sp ace",
        b"a b/a b",
        b" => ",
        b"{a => b}",
        b"\x1b[31mred",
        "\u202egnp.exe".encode(),
    ],
)
async def test_names_of_any_bytes_are_told_apart_and_can_be_asked_for(host: FilesHost, name: bytes) -> None:
    """Tracked and new alike; the answer is JSON whatever the name is."""
    repository(host.work)
    path = os.path.join(os.fsencode(host.work), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"before\n")
    new = await files_of(host)
    git(host.work, "add", "--all")
    git(host.work, "commit", "--quiet", "-m", "second")
    with open(path, "wb") as file:
        file.write(b"after\n")
    with open(path + b"2", "wb") as file:
        file.write(b"beside it\n")
    (changed,) = [file for file in (await files_of(host)).values() if file["status"] == "modified"]
    alone = await files_of(host, path=changed["path"])

    assert [decode_path(shown) for shown in new] == [name]
    assert decode_path(changed["path"]) == name
    assert changed["hunks"][0]["text"] == "-before\n+after"
    assert list(alone) == [changed["path"]]


async def test_a_renamed_file_of_an_odd_name_keeps_its_hunks(host: FilesHost) -> None:
    lines = "".join(f"{number}\n" for number in range(50))
    repository(host.work, **{"a b/ä".replace("/", "_"): lines})
    git(host.work, "mv", "a b_ä", "x\ty")
    (host.work / "x\ty").write_text(lines + "more\n")
    found = await files_of(host)

    assert found["x\ty"]["old_path"] == "a b_ä"
    assert found["x\ty"]["hunks"][0]["text"].endswith("+more")


async def test_content_that_looks_like_a_diff_is_content(host: FilesHost) -> None:
    repository(host.work, file="x\n", other="x\n")
    fake = "diff --git a/other b/other\n--- a/other\n+++ b/other\n@@ -1 +1 @@\n-x\n+FAKE\n"
    (host.work / "file").write_text(fake)
    found = await files_of(host)

    assert list(found) == ["file"]
    assert (found["file"]["added"], found["file"]["removed"]) == (6, 1)
    assert found["file"]["hunks"][0]["text"].count("\n") == 6


async def test_a_session_in_a_subdirectory_sees_only_that(host: FilesHost) -> None:
    repository(host.work)
    (host.work / "sub").mkdir()
    (host.work / "sub" / "new").write_text("x")
    (host.work / "readme").write_text("changed\n")

    assert list(await files_of(host, host.work / "sub")) == ["new"]
    assert set(await files_of(host, path="sub")) == {"sub/new"}


async def test_a_base_is_a_commit_and_never_an_option(host: FilesHost) -> None:
    """FM-48: branches, tags and hashes; everything else is refused before git sees it."""
    repository(host.work)
    (host.work / "readme").write_text("second\n")
    git(host.work, "commit", "--all", "--quiet", "-m", "second")
    git(host.work, "tag", "v1")
    found = await files_of(host, base="HEAD~1")

    assert found["readme"]["hunks"][0]["text"] == "-first\n+second"
    assert await files_of(host, base="v1") == {}
    for base in ("--output=/tmp/x", "-O/etc/passwd", "HEAD..main", ":/first", "HEAD^{/x}", "a b", "a\nb", "x" * 300):
        reply = await diff(host, base=base)
        assert (reply.status, reply.code) == (422, "invalid"), base
    assert (await diff(host, base="nowhere")).code == "not_found"


async def test_the_base_of_a_work_tree_is_what_it_began_from(host: FilesHost) -> None:
    repository(host.work)
    first = git(host.work, "rev-parse", "HEAD").strip()
    (host.work / "readme").write_text("second\n")
    git(host.work, "commit", "--all", "--quiet", "-m", "second")
    session = host.session(worktree=str(host.work), base=first)
    reply = await host.get(f"/sessions/{session.id}/diff")

    assert reply.json["base"] == first
    assert [file["path"] for file in reply.json["files"]] == ["readme"]


async def test_a_repository_without_a_commit_has_new_files_only(host: FilesHost) -> None:
    git(host.work, "init", "--quiet")
    (host.work / "new").write_text("x\n")
    (host.work / "staged").write_text("y\n")
    git(host.work, "add", "staged")
    found = await files_of(host)

    assert {path: file["status"] for path, file in found.items()} == {"new": "untracked", "staged": "added"}


@pytest.mark.parametrize("broken", ["none", "file", "empty", "head"])
async def test_what_is_no_repository_is_said_so(host: FilesHost, broken: str) -> None:
    if broken == "file":
        (host.work / ".git").write_text("gitdir: /nowhere\n")
    elif broken == "empty":
        (host.work / ".git").mkdir()
    elif broken == "head":
        repository(host.work)
        (host.work / ".git" / "HEAD").unlink()
    reply = await diff(host)

    assert reply.status in (409, 422)
    assert reply.code in ("not_supported", "conflict")


async def test_long_and_many_changes_are_cut_and_say_so(host: FilesHost) -> None:
    """FM-57: one large file, then very many; no answer grows without bound."""
    repository(host.work, large="x\n")
    (host.work / "large").write_text("y" * 50 + "\n" + "line\n" * (MOST_FILE // 2))
    (host.work / "new").write_text("line\n" * MOST_FILE)
    (host.work / "wide").write_text("z" * MOST_FILE)
    found = await files_of(host)
    for file in found.values():
        assert file["truncated"] or file["path"] == "wide"
        assert sum(len(hunk["text"]) for hunk in file["hunks"]) <= MOST_FILE
    assert found["large"]["added"] == MOST_FILE // 2 + 1

    for name in ("large", "new", "wide"):
        (host.work / name).unlink()
    folder = host.work / "many"
    folder.mkdir()
    for number in range(MOST_FILES + 10):
        (folder / str(number)).touch()
    reply = await diff(host)
    assert (reply.json["truncated"], reply.json["total"]) == (True, MOST_FILES + 11)
    assert len(reply.json["files"]) == MOST_FILES
    assert len(reply.body) < MOST_PATCH


async def test_one_change_beyond_all_bounds_leaves_the_others_readable(host: FilesHost) -> None:
    repository(host.work, a="x\n", b="x\n")
    (host.work / "a").write_text("".join(f"{number:060}\n" for number in range(100_000)))
    (host.work / "b").write_text("y\n")
    found = await files_of(host)

    assert found["a"]["truncated"]
    assert found["b"]["added"] == 1
    assert found["b"].get("truncated") or found["b"]["hunks"]
    assert (await files_of(host, path="b"))["b"]["hunks"][0]["text"] == "-x\n+y"


async def test_asking_for_the_list_alone_brings_no_hunks(host: FilesHost) -> None:
    repository(host.work)
    (host.work / "readme").write_text("changed\n")
    found = await files_of(host, hunks="false")

    assert found["readme"]["added"] == 1
    assert found["readme"]["hunks"] == []


async def test_a_conflict_that_is_not_resolved_is_told(host: FilesHost) -> None:
    repository(host.work)
    git(host.work, "checkout", "--quiet", "-b", "side")
    (host.work / "readme").write_text("side\n")
    git(host.work, "commit", "--all", "--quiet", "-m", "side")
    git(host.work, "checkout", "--quiet", "main")
    (host.work / "readme").write_text("main\n")
    git(host.work, "commit", "--all", "--quiet", "-m", "main")
    with pytest.raises(AssertionError):
        git(host.work, "merge", "side")
    found = await files_of(host)

    assert found["readme"]["status"] == "unmerged"


async def test_a_linked_work_tree_a_shallow_clone_and_sha256_are_repositories_too(host: FilesHost) -> None:
    origin = repository(host.root / "origin")
    (origin / "readme").write_text("second\n")
    git(origin, "commit", "--all", "--quiet", "-m", "second")
    git(host.root, "clone", "--quiet", "--depth=1", origin.as_uri(), "shallow")
    git(origin, "worktree", "add", "--quiet", "../linked")
    modern = host.root / "modern"
    git(host.root, "init", "--quiet", "--object-format=sha256", "modern")
    (modern / "readme").write_text("second\n")
    git(modern, "add", "readme")
    git(modern, "commit", "--quiet", "-m", "first")
    for place in ("shallow", "linked", "modern"):
        (host.root / place / "readme").write_text("changed\n")
        found = await files_of(host, host.root / place)
        assert found["readme"]["hunks"][0]["text"] == "-second\n+changed"


@given(st.binary(max_size=400))
def test_any_output_of_git_is_read_without_an_error(output: bytes) -> None:
    parse_list(output)
    parse_patch(b"diff --git " + output)
    unquote(b'"' + output + b'"')


@given(
    st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), min_size=1, max_size=20), st.booleans()
)
def test_a_new_file_is_told_line_by_line(lines: list[bytes], ended: bool) -> None:
    data = b"\n".join([*lines, b"last"]) + (b"\n" if ended else b"")
    (hunk,), count, truncated = to_added_hunk(data)
    reported = hunk.text.split("\n")

    assert (count, hunk.new_lines, truncated) == (len(lines) + 1, len(lines) + 1, False)
    assert reported[:count] == ["+" + line.decode(errors="replace") for line in (*lines, b"last")]
    assert reported[count:] == ([] if ended else ["\\ No newline at end of file"])
