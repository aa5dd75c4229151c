"""`bobstay reindex`, as a person runs it."""

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bobstay.cli.reindex_command import run
from bobstay.model.event import Noted, Prompted, SessionStarted
from bobstay.model.message import Text
from bobstay.server.db.database import Database
from bobstay.sessions.log_store import LogStore


def reindex(folder: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    program = "import sys; from bobstay.cli.reindex_command import run; sys.exit(run(sys.argv[1:]))"
    environ = {"HOME": str(folder), "BOBSTAY_HOME": str(folder), "PATH": "/usr/bin:/bin", **variables}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env=environ, check=False)


def write_sessions(folder: Path) -> None:
    store = LogStore(str(folder / "sessions"))
    for number in range(3):
        log = store.create(f"s{number}", SessionStarted("/work", "1"))
        log.append(Prompted("p", (Text("words"),)))
        log.append(Noted("note"))
        log.close()


def test_it_makes_the_tables_from_the_logs_and_says_how_many(tmp_path: Path) -> None:
    write_sessions(tmp_path)
    for _ in range(2):
        done = reindex(tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("3 sessions, 9 entries in ")
    tables = sqlite3.connect(tmp_path / "server" / "index.sqlite")
    assert tables.execute("SELECT count(*) FROM messages").fetchall() == [(6,)]
    tables.close()


@pytest.mark.parametrize("way", ["file", "variable"])
def test_the_database_is_named_as_the_server_is_told_it(tmp_path: Path, way: str) -> None:
    write_sessions(tmp_path)
    url, file = f"sqlite:///{tmp_path / 'other.sqlite'}", tmp_path / "database"
    file.write_text(url)
    message_text = ("--db-file", str(file)) if way == "file" else ()
    done = reindex(tmp_path, *message_text, **({"BOBSTAY_DB": url} if way == "variable" else {}))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "other.sqlite").exists()
    assert not (tmp_path / "server" / "index.sqlite").exists()


async def test_it_does_so_in_postgresql(cluster: Any, tmp_path: Path) -> None:
    write_sessions(tmp_path)
    done = reindex(tmp_path, "--db", await cluster.new_database())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("3 sessions, 9 entries in ")


async def test_it_is_refused_while_a_server_runs(tmp_path: Path) -> None:
    write_sessions(tmp_path)
    database = await Database.open("", str(tmp_path / "server"), LogStore(str(tmp_path / "sessions")))
    try:
        for arguments in ((), ("--set-aside",)):
            done = reindex(tmp_path, *arguments)
            assert (done.returncode, done.stdout) == (1, "")
            assert "Stop the server" in done.stderr
            assert "Traceback" not in done.stderr
    finally:
        await database.close()


@pytest.mark.parametrize(
    ("arguments", "code", "output"),
    [
        (("--help",), 0, "Usage: bobstay reindex"),
        (("--what",), 2, "Usage: bobstay reindex"),
        (("--db",), 2, "Usage: bobstay reindex"),
        (("--db-file", "/nope/never"), 2, "cannot be read"),
        (("--db-file=",), 2, "needs the name of a file"),
        (("--db=mysql://x/y",), 1, "sqlite:///path"),
        (("--db=postgresql://u@127.0.0.1:1/x",), 1, "does not answer"),
        (("--db=postgresql://u@127.0.0.1:1/x", "--set-aside"), 2, "Only a SQLite file"),
    ],
)
def test_wrong_words_are_answered_with_what_to_do(
    arguments: tuple[str, ...],
    code: int,
    output: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("BOBSTAY_HOME", str(tmp_path))
    assert run(list(arguments)) == code
    written = capsys.readouterr()
    assert output in written.out + written.err


def command(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environ = {"HOME": str(folder), "BOBSTAY_HOME": str(folder), "PATH": "/usr/bin:/bin"}
    message_text = [sys.executable, "-m", "bobstay", *arguments]
    return subprocess.run(message_text, capture_output=True, text=True, timeout=200, env=environ, check=False)


def test_a_database_set_aside_gives_up_no_user_and_no_token(tmp_path: Path) -> None:
    """The command knows all tables that no log holds, whoever uses them."""
    write_sessions(tmp_path)
    made = command(tmp_path, "token", "create", "--scope", "read", "--name", "ci")
    assert made.returncode == 0, made.stderr
    before = {name: rows(tmp_path, name) for name in ("auth_clients", "auth_users", "audit")}
    assert before["auth_clients"]
    done = reindex(tmp_path, "--set-aside")
    assert (done.returncode, done.stderr) == (0, "")
    assert {name: rows(tmp_path, name) for name in before} == before
    assert "of auth_clients" in done.stdout


def rows(folder: Path, table: str) -> list[Any]:
    tables = sqlite3.connect(folder / "server" / "index.sqlite")
    try:
        return tables.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
    finally:
        tables.close()
