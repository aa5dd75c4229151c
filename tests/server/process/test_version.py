"""The version of an external engine is detected and shown, with a warning if it is untested."""

import os
import shlex
from pathlib import Path

import pytest

from bobstay.config.environment import Environment
from bobstay.model.event import Noted
from bobstay.server.workers.process import engine_version
from bobstay.server.workers.process.engine_version import EngineVersions, version_warning
from bobstay.version import PROTOCOL_LEVEL
from tests.kit.consoles import RunningConsole
from tests.kit.process_sessions import FAKE, ProcessSessions
from tests.kit.processes import marked_processes
from tests.kit.program import ORACLE
from tests.modelserver.server import ModelServer


def claude(folder: Path, version: str) -> tuple[str, ...]:
    """A program of this name that tells a version, and is the small engine of these tests otherwise."""
    program = folder / "claude"
    engine = shlex.join(FAKE)
    program.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then {version}; else exec {engine} "$@"; fi\n')
    program.chmod(0o755)
    return (str(program),)


@pytest.mark.parametrize(
    ("command", "version", "output"),
    [
        ("claude", PROTOCOL_LEVEL, ""),
        ("claude", "2.1.0", ""),
        ("claude", "2.1.99999 (Claude Code)", ""),
        ("claude", "1.0.128", "older"),
        ("claude", "2.0.400", "older"),
        ("claude", "2.2.0", "newer"),
        ("/opt/bin/claude", "3.0.0", "newer"),
        ("claude", "nightly", "'nightly'"),
        ("claude", "", ""),
        ("other", "9.9.9", ""),
    ],
)
def test_a_version_of_another_series_is_warned_of(command: str, version: str, output: str) -> None:
    """S003-39, S002-19"""
    warning = version_warning((command,), version)
    assert output in warning
    assert bool(warning) == bool(output)


@pytest.mark.skipif(not os.path.exists(ORACLE), reason=f"the SDK's wheel brought no program at {ORACLE}")
async def test_the_tests_run_against_the_version_the_code_names(sessions: ProcessSessions) -> None:
    """S004-38: another one is a change of the code, which is then held against it."""
    versions = EngineVersions(sessions.environment, str(sessions.cwd))
    assert await versions.of((ORACLE,)) == PROTOCOL_LEVEL
    await versions.close()


async def test_a_page_is_told_the_version_what_to_expect_of_it_and_what_it_takes(
    model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S002-19, S004-37"""
    monkeypatch.setattr(engine_version, "WAIT", 20.0)  # on a busy machine too
    engines = {"claude": claude(tmp_path, "echo '9.0.1 (Claude Code)'"), "fake": FAKE}
    async with RunningConsole(model, tmp_path, engines=engines) as server:
        options = {each["name"]: each for each in (await server.get("/api/v1/config")).json["engine_options"]}
    assert (options["claude"]["version"], options["fake"]["version"]) == ("9.0.1", "")
    assert "newer than what this server is tested with" in options["claude"]["warning"]
    assert "version 9.0.1" in options["claude"]["about"]
    assert "a process of its own and takes 120 to 200 MB of memory" in options["claude"]["about"]
    assert "a process of its own" in options["fake"]["about"]
    assert "0.1 to 2 MB" in options["native"]["about"], "of one line, and after many reads"
    assert options["fake"]["warning"] == options["native"]["warning"] == ""


async def test_a_session_is_told_once_that_its_engine_was_not_tested(tmp_path: Path) -> None:
    """S003-39"""
    sessions = ProcessSessions(tmp_path, FAKE_VERSION="3.0.0")
    case = sessions.create(claude(tmp_path, "false"))
    await case.worker.start()
    await case.turn("echo one")
    await case.turn("echo two")
    await sessions.close()
    assert ["claude 3.0.0 is newer" in note.text for note in case.events(Noted)] == [True]


async def test_a_program_that_does_not_tell_its_version_holds_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_version, "WAIT", 0.01)
    mark = f"asked{os.getpid()}"
    environment = Environment.read({"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "ASKED": mark})
    versions = EngineVersions(environment, str(tmp_path))
    command = claude(tmp_path, "exec sleep 987")
    assert await versions.of(command) == ""
    assert await versions.of(command) == ""
    await versions.close()
    assert marked_processes(mark) == []


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("echo '2.1.9 (Claude Code)'", "2.1.9"),
        ("echo 3.0.0-beta.1", "3.0.0-beta.1"),
        ("echo 'Warning: your node is old'; echo '2.1.9 (Claude Code)'", "2.1.9"),
        ("printf '\\033[1m2.1.9\\033[0m'", "2.1.9"),
        ("echo nightly", "nightly"),
        ("echo 'Error: cannot find module'; exit 1", ""),
        ("head -c 100000 /dev/zero", ""),
        ("true", ""),
    ],
)
async def test_a_version_is_found_in_what_a_program_says_and_an_error_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, version: str
) -> None:
    monkeypatch.setattr(engine_version, "WAIT", 20.0)  # on a busy machine too
    environment = Environment.read({"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    versions = EngineVersions(environment, str(tmp_path))
    assert await versions.of(claude(tmp_path, output)) == version
    await versions.close()
