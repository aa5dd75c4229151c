"""`bobstay doctor`: checks of the installation, and their fixes (H5-6, H5-8)."""

import fcntl
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from bobstay.cli.doctor_command import run, run_checks
from bobstay.config.environment import Environment
from tests.kit.user_folders import UserFolders

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"


class Project(UserFolders):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.variables["PATH"] = os.environ["PATH"]

    def found(self) -> dict[str, list[Any]]:
        grouped: dict[str, list[Any]] = {}
        for finding in run_checks(str(self.work), Environment.read(self.variables)):
            grouped.setdefault(finding.check, []).append(finding)
        return grouped

    def states(self, check: str) -> list[str]:
        return [finding.state for finding in self.found()[check]]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_new_machine_has_nothing_that_fails(project: Project) -> None:
    found = project.found()
    assert not [finding for each in found.values() for finding in each if finding.state == "fail"]
    assert {"python", "home", "sessions", "settings", "keys", "model", "shell", "ripgrep", "git", "sandbox"} < set(
        found
    )
    assert {"trust", "rules", "output"} < set(found)
    assert project.states("keys") == ["warn"]
    assert all(
        finding.fix
        for each in found.values()
        for finding in each
        if finding.state == "warn" and finding.check != "trust"
    )


def test_keys_are_named_and_never_shown(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.work)
    monkeypatch.setenv("HOME", str(project.home))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    project.write(f"work/{KEY}/.keep", "")
    monkeypatch.setenv("BOBSTAY_HOME", str(project.work / KEY))
    for arguments in ([], ["--json"]):
        assert run(arguments) == 0
        out = capsys.readouterr().out
        assert "ANTHROPIC_API_KEY" in out
        assert KEY not in out
    assert all(finding["state"] in ("ok", "warn") for finding in json.loads(out))


def test_credentials_of_a_cloud_are_named_by_the_variable_that_asks_for_them(project: Project) -> None:
    project.variables |= {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "us-east-1", "AWS_SECRET_ACCESS_KEY": KEY}
    found = project.found()
    assert [(each.state, each.text) for each in found["keys"]] == [
        ("ok", "those of the cloud (CLAUDE_CODE_USE_BEDROCK)")
    ]
    assert found["model"][0].text == "bedrock/us.anthropic.claude-opus-5-5 (not contacted)"
    project.variables["AWS_REGION"] = "nowhere/#"
    assert "AWS_REGION cannot be" in project.found()["model"][0].text


def test_every_broken_file_is_named_with_line_and_column(project: Project) -> None:
    first = project.write("work/.bobstay/settings.json", '{\n  "maxTurns": "many"\n}')
    second = project.write("work/.claude/settings.local.json", '{"permissions": {\n"deny": ["Bash("]}}')
    failing = [finding for finding in project.found()["settings"] if finding.state == "fail"]
    assert len(failing) == 2
    message = " ".join(finding.text for finding in failing)
    assert f"{first}:2:15" in message
    assert f"{second}:2:10" in message


def test_a_failure_is_the_exit_code(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.work)
    monkeypatch.setenv("HOME", str(project.home))
    project.write("work/.bobstay/settings.json", "{")
    assert run([]) == 1
    assert run(["--nonsense"]) == 1
    assert run(["--help"]) == 0


def test_a_home_that_is_a_file_or_open_to_others_is_noticed(project: Project) -> None:
    (project.home / ".bobstay").write_text("")
    assert project.states("home") == ["fail"]
    (project.home / ".bobstay").unlink()
    (project.home / ".bobstay").mkdir()
    assert project.states("home") == ["ok"]
    (project.home / ".bobstay").chmod(0o777)
    assert project.states("home") == ["ok", "warn"]


def test_broad_rules_are_warned_about_with_their_place(project: Project) -> None:
    project.variables["BOBSTAY_HOME"] = str(project.home / "own")
    (project.home / "own").mkdir()
    (project.home / "own/settings.json").write_text(
        '{"permissions": {\n"allow": ["Bash(python:*)", "Bash(git log:*)"]}}'
    )
    (finding,) = project.found()["rules"]
    assert finding.state == "warn"
    assert "own/settings.json:2" in finding.text
    assert "permissions remove 'Bash(python:*)'" in finding.fix


def test_the_folders_trust_is_told(project: Project) -> None:
    assert "not trusted" in project.found()["trust"][0].text
    project.write("work/.bobstay/settings.json", '{"permissions": {"allow": ["Bash(make)"]}}')
    assert project.states("trust") == ["warn"]


def test_sessions_and_those_in_use_are_counted(project: Project) -> None:
    folder = project.home / ".bobstay/sessions"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        (folder / f"{name}.jsonl").write_text("")
    assert "no session is open" in project.found()["locks"][0].text
    with (folder / "a.jsonl").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert "1 sessions are open" in project.found()["locks"][0].text
    (folder / "b.lease").write_text("{}")
    assert "without closing" in project.found()["locks"][0].text
    assert "2 in" in project.found()["sessions"][0].text


def test_kept_output_is_measured(project: Project) -> None:
    folder = project.home / ".bobstay/output/session"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"x" * 2_000_000)
    assert "1 files with 2.0 MB" in project.found()["output"][0].text
    with (folder / "b.txt").open("wb") as file:
        file.truncate(2 << 30)
    assert project.states("output") == ["warn"]


def test_a_missing_program_is_named(project: Project) -> None:
    project.variables["PATH"] = str(project.work)
    found = project.found()
    assert found["shell"][0].state == "fail"
    assert found["git"][0].state == "warn"
    assert found["ripgrep"][0].state == "ok"


def test_the_sandbox_that_works_or_the_package_to_install_is_named(project: Project) -> None:
    (finding,) = project.found()["sandbox"]
    assert finding.state == "ok" or "bubblewrap" in finding.fix


def test_a_model_without_a_key_is_said_without_calling_anybody(project: Project) -> None:
    project.variables["BOBSTAY_MODEL"] = "openai/gpt-5.5"
    (finding,) = project.found()["model"]
    assert finding.state == "warn"
    assert "OPENAI_API_KEY" in finding.text
    project.variables["OPENAI_API_KEY"] = "x"
    assert "not contacted" in project.found()["model"][0].text


def test_the_server_is_ready_on_a_new_machine(project: Project) -> None:
    found = project.found()
    (folder,), (database,) = found["console"], found["database"]
    assert (folder.state, database.state) == ("ok", "ok")
    assert "not there yet" in folder.text
    assert "not there yet" in database.text
    assert not (project.home / ".bobstay").exists()  # it looks and makes nothing
    (page,) = found["page"]
    assert page.state in ("ok", "warn")
    assert "chrom" not in str(found).lower()


def test_who_has_the_port_is_said(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    from bobstay.cli.doctor_command import DoctorOptions

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (finding,) = _checked(project, "port", DoctorOptions(port=port))
        assert finding.state == "warn"
        assert f"process {os.getpid()}" in finding.text
        assert "--port" in finding.fix
    (finding,) = _checked(project, "port", DoctorOptions(port=port))
    assert (finding.state, finding.text) == ("ok", f"{port} is free")


def _checked(project: Project, check: str, options: Any) -> list[Any]:
    environment = Environment.read(project.variables)
    return [finding for finding in run_checks(str(project.work), environment, options) if finding.check == check]


def test_a_console_that_runs_is_named(project: Project) -> None:
    from bobstay.server.state_lock import StateLock

    lock = StateLock.acquire(str(project.home / ".bobstay" / "server"))
    try:
        lock.write_address("http://127.0.0.1:4711/")
        (finding,) = project.found()["port"]
    finally:
        lock.release()
    assert (finding.state, "http://127.0.0.1:4711/" in finding.text) == ("ok", True)
    assert str(os.getpid()) in finding.text


def test_the_schema_of_the_database_is_told(project: Project) -> None:
    import asyncio
    import sqlite3

    from bobstay.server.db.database import Database
    from bobstay.sessions.log_store import LogStore

    state = project.home / ".bobstay" / "server"

    async def make() -> None:
        await (await Database.open("", str(state), LogStore(str(state)))).close()

    state.mkdir(parents=True, mode=0o700)
    asyncio.run(make())
    (finding,) = project.found()["database"]
    assert finding.state == "ok"
    assert "schema 00" in finding.text
    file = state / "index.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    (finding,) = project.found()["database"]
    assert (finding.state, "newer" in finding.text) == ("fail", True)
    file.write_bytes(b"this is no database at all, whatever its name says" * 100)
    (finding,) = project.found()["database"]
    assert finding.state == "fail"
    from bobstay.cli.doctor_command import DoctorOptions

    (finding,) = _checked(project, "database", DoctorOptions(database="postgresql://nobody:secret@127.0.0.1:1/none"))
    assert finding.state == "fail"
    assert "secret" not in finding.text
    (finding,) = _checked(project, "database", DoctorOptions(database="mongodb://x"))
    assert finding.state == "fail"


def test_a_database_is_looked_at_and_left_as_it_is(project: Project) -> None:
    import sqlite3

    from bobstay.cli.doctor_command import DoctorOptions

    folder = project.work / "100% ours?"
    folder.mkdir()
    for name, mode in (("plain.sqlite", "delete"), ("ahead.sqlite", "wal"), ("empty.sqlite", "")):
        file = folder / name
        file.touch(0o644)
        writing = sqlite3.connect(file)
        if mode:
            writing.execute(f"PRAGMA journal_mode={mode}")
            writing.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
            writing.execute("INSERT INTO alembic_version VALUES ('0001')")
            writing.commit()
        before = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
        (finding,) = _checked(project, "database", DoctorOptions(database=f"sqlite:///{quote(str(file))}"))
        assert finding.state == "ok", finding.text
        assert ("schema 0001" if mode else "schema none yet") in finding.text
        assert {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")} == before
        writing.close()
        assert not list(folder.glob("*-*"))


def test_a_console_that_starts_is_not_kept_off_by_who_looks(project: Project) -> None:
    import fcntl
    import threading

    from bobstay.server.state_lock import StateLock

    state = project.home / ".bobstay" / "server"
    StateLock.acquire(str(state)).release()
    with open(state / "server.lock", "rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        soon = threading.Timer(0.02, fcntl.flock, (looking, fcntl.LOCK_UN))
        soon.start()
        StateLock.acquire(str(state)).release()
        soon.join()


def test_a_folder_of_the_server_that_others_see_or_nobody_can_use_is_told(project: Project) -> None:
    state = project.home / ".bobstay" / "server"
    state.mkdir(parents=True, mode=0o755)
    state.chmod(0o755)
    assert project.states("console") == ["warn"]
    state.rmdir()
    state.write_text("a file")
    assert project.states("console") == ["fail"]


def test_the_command_line_of_the_doctor_is_understood_or_explained(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.work)
    for name in ("HOME", "BOBSTAY_HOME"):
        monkeypatch.setenv(name, str(project.home))
    assert run(["--json", "--port=1", "--db", f"sqlite:///{project.home}/x.sqlite"]) in (0, 1)
    checks = {finding["check"]: finding for finding in json.loads(capsys.readouterr().out)}
    assert "x.sqlite" in checks["database"]["text"]
    for wrong in (["--port", "x"], ["--port"], ["--db"], ["--what"], ["--port=99999"], ["--port", "9" * 5_000]):
        assert run(wrong) == 1
        assert "Usage: bobstay doctor" in capsys.readouterr().err
