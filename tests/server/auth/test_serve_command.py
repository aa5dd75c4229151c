"""`bobstay serve` as a person types it: what it refuses, what it keeps to itself."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bobstay.cli.serve_command import _parser
from tests.kit.served_console import ServedConsole
from tests.server.db.postgres import Cluster


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (["--port", "99999"], {}, "is not a port"),
        (["--port", "-1"], {}, "is not a port"),
        ([], {"PORT": "abc"}, "is not a port"),
        (["--engine", "noequals"], {}, "is not NAME=COMMAND"),
        (["--engine", "empty="], {}, "is not NAME=COMMAND"),
        (["--engine", "native=x"], {}, "choose another"),
        (["--root", "/nope/never"], {}, "there is no folder"),
        (["--db-file", "/nope/never"], {}, "cannot be read"),
        (["--db-file", ""], {}, "needs the name of a file"),
    ],
)
def test_what_makes_no_sense_is_said_and_not_started(
    tmp_path: Path, arguments: list[str], variables: dict[str, str], message: str
) -> None:
    """S000-54"""
    command = [sys.executable, "-m", "bobstay", "serve", "--no-browser", *arguments]
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **variables}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_port_is_3001_where_nobody_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """S000-54"""
    monkeypatch.delenv("PORT", raising=False)
    assert _parser().parse_args([]).port == 3001


@pytest.mark.parametrize("name", ["server.log", "server.log.1"])
def test_the_log_of_the_server_is_its_owners_alone(tmp_path: Path, name: str) -> None:
    """The one of an earlier version, and one that is made anew."""
    old = tmp_path / "bobstay" / "server" / name
    old.parent.mkdir(parents=True)
    old.write_text("of an earlier version\n")
    old.chmod(0o644)
    ServedConsole(tmp_path, "--log-level", "debug").start().stop()
    assert (old.parent / "server.log").exists()
    for path in old.parent.iterdir():
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


@pytest.mark.parametrize("way", ["option", "joined", "file", "variable"])
async def test_a_password_of_the_database_is_on_no_command_line(
    cluster: Cluster,
    tmp_path: Path,
    way: str,
) -> None:
    url = (await cluster.new_database()).replace("://tester", "://tester:sesame")
    assert "sesame" in url
    file = tmp_path / "database"
    file.write_text(url + "\n")
    arguments = {"option": ["--db", url], "joined": [f"--db={url}"], "file": ["--db-file", str(file)]}.get(way, [])
    variables: dict[str, Any] = {"BOBSTAY_DB": url} if way == "variable" else {}
    with ServedConsole(tmp_path, *arguments, **variables) as served:
        assert served.process is not None
        command = Path(f"/proc/{served.process.pid}/cmdline").read_bytes()
        assert b"serve" in command
        assert b"sesame" not in command
        assert served.get("/health")
        assert not (tmp_path / "bobstay" / "server" / "index.sqlite").exists()
