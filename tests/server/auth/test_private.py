"""Other users of this machine: they see no file and get nothing from the port."""

import asyncio
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.server.auth.private_files import (
    NotPrivate,
    new_private_file,
    opening_page,
    private_file,
    private_folder,
)
from tests.server.auth.auth_server import AuthServer, is_root

NOBODY = 65_534
ATTEMPT = """
import encodings.idna, json, os, sys, urllib.request, urllib.error
state, port, pid = sys.argv[1], sys.argv[2], sys.argv[3]
os.setgroups([]); os.setgid(65534); os.setuid(65534)
got = {}
def attempt(name, action):
    try:
        got[name] = str(action())
    except urllib.error.HTTPError as error:
        got[name] = f"status {error.code}"
    except OSError as error:
        got[name] = type(error).__name__
def get(path, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    with urllib.request.urlopen(request, timeout=200) as reply:
        return f"status {reply.status}"
attempt("public", lambda: open(os.path.join(os.path.dirname(state), "public")).read())
attempt("list", lambda: os.listdir(state))
attempt("tables", lambda: open(state + "/auth.sqlite", "rb").read(10))
attempt("page", lambda: open(sys.argv[4]).read())
attempt("write", lambda: open(state + "/planted", "w"))
attempt("memory", lambda: open(f"/proc/{pid}/environ", "rb").read())
attempt("shell", lambda: get("/"))
attempt("api", lambda: get("/api/v1/things"))
attempt("claims", lambda: get("/api/v1/things", **{"Sec-Fetch-Site": "none", "X-Forwarded-User": "owner"}))
print(json.dumps(got))
"""


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder everybody may enter, so that only the server's own checks keep others out."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "public").write_text("for all")
    (folder / "public").chmod(0o644)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(not is_root(), reason="only root can become another user")
async def test_fm_55_another_user_of_this_machine_sees_nothing(public_folder: Path) -> None:
    """FM-55: neither tables, nor the page with the code, nor an answer of the API."""
    state = Path(private_folder(str(public_folder / "state")))
    private_file(str(state / "auth.sqlite"))
    async with AuthServer(state) as auth_server:
        await auth_server.enter()
        page = opening_page(str(state), auth_server.auth.address(await auth_server.auth.start_code()))
        arguments = [str(state), str(auth_server.port), str(os.getpid()), page]
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", ATTEMPT, *arguments, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}
        )
        out, _ = await child.communicate()
    assert json.loads(out) == {
        "public": "for all",
        **dict.fromkeys(("list", "tables", "page", "write", "memory"), "PermissionError"),
        "shell": "status 200",
        "api": "status 401",
        "claims": "status 401",
    }


def test_fm_55_folder_and_files_are_ours_alone_whatever_the_umask(tmp_path: Path) -> None:
    """FM-55: 0700 and 0600, also for what was there before with other modes."""
    before = os.umask(0)
    try:
        state = private_folder(str(tmp_path / "a" / "state"))
        assert stat.S_IMODE(os.stat(state).st_mode) == 0o700
        private_file(f"{state}/new")
        (tmp_path / "a" / "state" / "old").write_text("x")
        private_file(f"{state}/old")
        fd, _ = new_private_file(state, ".txt")
        os.close(fd)
        page = opening_page(state, "http://127.0.0.1:1/#code=x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o700
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in os.scandir(state)} == {0o600}
    assert "#code=x" in Path(page).read_text()
    os.chmod(state, 0o755)
    private_folder(state)
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o700
    assert (tmp_path / "a" / "state" / "old").read_text() == "x"


def test_fm_54_names_cannot_be_guessed_and_nothing_that_is_there_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FM-54: random names and O_EXCL; a link planted in the right place is not followed."""
    names = set[str]()
    for _ in range(50):
        fd, path = new_private_file(str(tmp_path))
        os.close(fd)
        names.add(os.path.basename(path))
    assert len(names) == 50
    assert all(len(name) == 32 for name in names)
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("known", "known.html"):
        (tmp_path / name).symlink_to(victim)
    monkeypatch.setattr("secrets.token_hex", lambda _: "known")
    with pytest.raises(FileExistsError):
        new_private_file(str(tmp_path))
    with pytest.raises(FileExistsError):
        opening_page(str(tmp_path), "http://127.0.0.1/")
    assert victim.read_text() == "precious"


def test_fm_54_links_in_the_place_of_our_folder_or_file_are_refused(tmp_path: Path) -> None:
    """FM-54: also where they lead to something of ours."""
    (tmp_path / "real").mkdir()
    (tmp_path / "target").write_text("x")
    (tmp_path / "target").chmod(0o644)
    for name, target in (("folder", "real"), ("file", "target"), ("dangling", "nothing")):
        (tmp_path / name).symlink_to(tmp_path / target)
    with pytest.raises(NotPrivate, match="link"):
        private_folder(str(tmp_path / "folder"))
    for name in ("file", "dangling"):
        with pytest.raises(NotPrivate, match="link"):
            private_file(str(tmp_path / name))
    assert stat.S_IMODE((tmp_path / "target").stat().st_mode) == 0o644
    assert not (tmp_path / "nothing").exists()


def test_fm_54_other_things_in_our_place_are_refused(tmp_path: Path) -> None:
    """FM-54: a file for a folder, a folder, a pipe, or what belongs to somebody else."""
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with pytest.raises(NotPrivate):
        private_folder(str(tmp_path / "file"))
    for name in ("pipe", "folder"):
        with pytest.raises(NotPrivate):
            private_file(str(tmp_path / name))


@pytest.mark.skipif(not is_root(), reason="only root can give files away")
def test_fm_55_what_somebody_else_put_there_is_not_used(tmp_path: Path) -> None:
    """FM-55: they could read what we write into it."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for name in ("folder", "file"):
        os.chown(tmp_path / name, NOBODY, NOBODY)
    with pytest.raises(NotPrivate):
        private_folder(str(tmp_path / "folder"))
    with pytest.raises(NotPrivate):
        private_file(str(tmp_path / "file"))


def test_the_page_that_opens_the_console_cannot_be_broken_out_of(tmp_path: Path) -> None:
    text = Path(opening_page(str(tmp_path / "state"), 'http://x/"><script>alert(1)</script>')).read_text()
    assert "<script>" not in text


def test_the_modes_of_tables_follow_the_file_made_for_them(tmp_path: Path) -> None:
    import sqlite3

    state = private_folder(str(tmp_path / "state"))
    private_file(f"{state}/x.sqlite")
    before = os.umask(0)
    try:
        tables: Any = sqlite3.connect(f"{state}/x.sqlite")
        tables.execute("PRAGMA journal_mode=WAL")
        tables.execute("CREATE TABLE t (a)")
        modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in os.scandir(state)}
        tables.close()
    finally:
        os.umask(before)
    assert len(modes) == 3
    assert set(modes.values()) == {0o600}
