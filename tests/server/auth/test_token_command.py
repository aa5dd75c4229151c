"""`bobstay token`, as a process of its own, with and without a running server."""

import asyncio
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import select

from bobstay.cli.token_command import run
from bobstay.server.db.database_engines import FILE, connect, resolve
from bobstay.server.db.migration import migrate
from bobstay.server.db.own_tables import audit
from tests.kit.waiting import DEADLINE
from tests.server.auth.auth_server import AuthServer

PROGRAM = "import sys; from bobstay.cli.token_command import run; sys.exit(run(sys.argv[1:]))"
SECRET = re.compile(r"bst_[A-Za-z0-9_-]{43}")


def token(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": str(home), "BOBSTAY_HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": "src"}
    environment |= variables
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        check=False,
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )


def made(home: Path, *arguments: str) -> tuple[str, str]:
    """The id and the secret of a new token."""
    done = token(home, "create", *arguments)
    assert done.returncode == 0, done.stderr
    assert SECRET.fullmatch(done.stdout.strip()), "the token alone is on the standard output"
    return done.stderr.split()[1], done.stdout.strip()


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[AuthServer]:
    """A server on the very tables the command uses."""
    engines = connect(resolve("", str(tmp_path / "server")))
    await migrate(engines)
    async with AuthServer(tmp_path, engines.own, time.time) as auth_server:
        yield auth_server
    await engines.dispose()


async def test_a_token_lets_a_script_in_with_its_scopes_and_no_others(running: AuthServer) -> None:
    id, secret = await asyncio.to_thread(
        made, running.folder, "--scope", "read,approve", "--expires=8h", "--name", "ci"
    )
    bearer = {"Authorization": f"Bearer {secret}"}
    assert (await running.ask("GET", "/api/v1/things", bearer)).json == {"by": "token:ci"}
    assert (await running.ask("POST", "/api/v1/approve", bearer, {})).status == 200
    assert (await running.ask("POST", "/api/v1/act", bearer, {})).status == 403
    client = next(client for client in await running.auth.clients.list_clients() if client.id == id)
    assert client.expires_at is not None
    assert abs(client.expires_at - time.time() - 8 * 3600) < DEADLINE
    assert client.created_by == "command line"
    async with running.engine.connect() as connection:
        rows = [tuple(row) for row in await connection.execute(select(audit.c.who, audit.c.what, audit.c.detail))]
    assert [row[:2] for row in rows] == [("command line", "auth.token_made")]
    assert id in rows[0][2]
    assert secret not in repr(rows)


async def test_a_code_from_the_command_line_opens_a_browser_once(running: AuthServer) -> None:
    done = await asyncio.to_thread(token, running.folder, "code", "--scope", "read", "--name", "tablet")
    code = done.stdout.strip().removeprefix("#code=")
    page = await running.enter(code)
    assert (await running.ask("GET", "/api/v1/auth/me", page)).json["name"] == "owner/tablet"
    reply = await running.ask("POST", "/api/v1/auth/exchange", {"Origin": running.origin}, {"code": code})
    assert reply.status == 401


def test_tokens_are_listed_without_their_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOBSTAY_HOME", str(tmp_path))

    def output(*arguments: str) -> str:
        assert run(list(arguments)) == 0
        return capsys.readouterr().out

    assert "There are no tokens" in output("list")
    secret = output("create", "--scope", "read", "--name", "ci", "--expires", "never").strip()
    listed = output("list")
    id = listed.split()[0]
    assert listed == f"{id}  read  no expiry  never used  token:ci\n"
    assert SECRET.fullmatch(secret)
    assert secret not in listed
    assert output("revoke", id) == f"{id} is revoked.\n"
    assert "There are no tokens" in output("list")


def test_fm_55_what_the_command_makes_is_for_its_user_alone(tmp_path: Path) -> None:
    """FM-55: the folder and every file in it, whatever the umask was, and even if the folder was open before."""
    (tmp_path / "server").mkdir(mode=0o777)
    (tmp_path / "server").chmod(0o777)
    before = os.umask(0)
    try:
        made(tmp_path, "--scope", "read")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "server").stat().st_mode) == 0o700
    files = list((tmp_path / "server").iterdir())
    assert FILE in {file.name for file in files}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "Name an action"),
        (["mint"], "Name an action"),
        (["create"], "--scope"),
        (["create", "--scope"], "needs a value"),
        (["create", "--scope", "root"], "no scope root"),
        (["create", "--scope", ""], "--scope"),
        (["create", "--scope", "read", "--expires", "soon"], "not a duration"),
        (["create", "--scope", "read", "--expires", "0h"], "too short"),
        (["create", "--scope", "read", "--expires", "99999999d"], "too long"),
        (["create", "--scope", "read", "--name", "a\nb"], "name"),
        (["create", "--scope", "read", "extra"], "not understood"),
        (["revoke"], "The id is missing"),
        (["revoke", "a", "b"], "not understood"),
        (["list", "--all"], "not understood"),
        (["code", "--expires", "never"], "a day at most"),
    ],
)
def test_a_wrong_command_line_is_told_what_is_wrong(
    arguments: list[str],
    expected: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BOBSTAY_HOME", str(tmp_path))
    assert run(arguments) == 2
    output = capsys.readouterr()
    assert expected in output.err
    assert "Usage:" in output.err
    assert output.out == ""
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_will_not_do_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOBSTAY_HOME", str(tmp_path))
    server = tmp_path / "server"
    server.mkdir()
    (server / FILE).write_text("this is no database, but a text that is long enough to be seen as one" * 20)
    assert run(["list"]) == 1
    assert "damaged" in capsys.readouterr().err
    assert run(["list", "--db", "mysql://x/y"]) == 1
    assert "postgresql://" in capsys.readouterr().err


def test_a_state_folder_that_is_a_link_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BOBSTAY_HOME", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "server").symlink_to(tmp_path / "elsewhere")
    assert run(["list"]) == 1
    assert "is a link" in capsys.readouterr().err


def test_the_database_is_named_as_the_server_is_told_it(tmp_path: Path) -> None:
    """By a file or a variable: a URL may hold a password, and a command line is seen by everybody."""
    url, file = f"sqlite:///{tmp_path / 'other.sqlite'}", tmp_path / "database"
    file.write_text(url + "\n")
    id, _ = made(tmp_path, "--scope", "read", "--db-file", str(file))
    for done in (token(tmp_path, "list", BOBSTAY_DB=url), token(tmp_path, "list", f"--db-file={file}")):
        assert id in done.stdout
    assert id not in token(tmp_path, "list").stdout
    missing = token(tmp_path, "list", "--db-file", str(tmp_path / "nothing"))
    assert (missing.returncode, "cannot be read" in missing.stderr) == (2, True)
    empty = token(tmp_path, "list", "--db-file=")
    assert (empty.returncode, "needs the name of a file" in empty.stderr) == (2, True)
