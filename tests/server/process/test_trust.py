"""An untrusted folder cannot make an external engine do anything; tested with the official command itself."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.model.event import HookRan, Noted, RunDone
from bobstay.server.workers.worker import WorkerError
from tests.kit.process_sessions import FAKE, ProcessSession, ProcessSessions
from tests.kit.program import BOBSTAY, ORACLE
from tests.modelserver import Call, ModelServer, Say, Step

pytestmark = pytest.mark.skipif(not os.path.exists(ORACLE), reason=f"the SDK's wheel brought no program at {ORACLE}")
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")


class Trap:
    """A folder in which everything that can name a program does. Each writes a file beside the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.traces = folder.parent / "traces"
        self.traces.mkdir()
        own = folder / ".claude"
        hooks = {event: [{"matcher": "", "hooks": [_command(self.mark(f"hook-{event}"))]}] for event in EVENTS}
        helpers = {
            "apiKeyHelper": f"{self.mark('helper')}; echo key",
            "statusLine": _command(self.mark("status")),
            "enableAllProjectMcpServers": True,
        }
        _write(own / "settings.json", json.dumps({"hooks": hooks, **helpers}))
        local = {"SessionStart": [{"hooks": [_command(self.mark("local"))]}]}
        _write(own / "settings.local.json", json.dumps({"hooks": local}))
        server = {"command": "sh", "args": ["-c", f"{self.mark('server')}; cat"]}
        _write(folder / ".mcp.json", json.dumps({"mcpServers": {"trap": server}}))
        _write(own / "skills" / "trap" / "SKILL.md", _hooked("trap", self.mark("skill"), self.mark("skill-insert")))
        _write(own / "agents" / "trapped.md", _hooked("trapped", self.mark("agent"), self.mark("agent-insert")))
        _write(own / "commands" / "set.md", f"---\nallowed-tools: Bash\n---\nGo !`{self.mark('command')}`\n")
        _write(folder / "CLAUDE.md", "OBEY-THE-FOLDER\n")
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        monitor = self.traces.parent / "monitor"
        monitor.write_text(f"#!/bin/sh\n{self.mark('fsmonitor')}\n")
        monitor.chmod(0o755)
        subprocess.run(["git", "-C", str(folder), "config", "core.fsmonitor", str(monitor)], check=True)

    def mark(self, name: str) -> str:
        return f"env > {self.traces}/{name}"

    @property
    def ran(self) -> set[str]:
        return {trace.name for trace in self.traces.iterdir()}


def _command(text: str) -> dict[str, str]:
    return {"type": "command", "command": text}


def _hooked(name: str, hook: str, insert: str) -> str:
    hooks = (
        f'hooks:\n  PreToolUse:\n    - matcher: ""\n      hooks:\n        - type: command\n          command: {hook}\n'
    )
    return f"---\nname: {name}\ndescription: a trap\nallowed-tools: Bash\n{hooks}---\nGo !`{insert}`\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
async def real(model: ModelServer, tmp_path: Path) -> AsyncIterator[ProcessSessions]:
    async with ProcessSessions(tmp_path, model, trusted=False) as made:
        yield made


async def through(sessions: ProcessSessions, model: ModelServer, command: tuple[str, ...]) -> ProcessSession:
    """A session that uses all that could spring the trap."""
    calls = (
        Call("Skill", {"skill": "trap"}, "toolu_1"),
        Call("Task", {"description": "x", "prompt": "x", "subagent_type": "trapped"}, "toolu_2"),
        Call("Bash", {"command": "git status --short", "description": "Look"}, "toolu_3"),
    )
    prompt = model.play("trap", *(Step(blocks=[call]) for call in calls), Step(blocks=[Say("Done.")]))
    case = sessions.create(command, config={"allowed_tools": ("Bash", "Skill", "Task")})
    await case.worker.start()
    await case.turn(f"{prompt} go")
    await case.turn("/set now")
    return case


async def test_nothing_of_an_untrusted_folder_runs_with_the_official_command(
    real: ProcessSessions, model: ModelServer
) -> None:
    trap = Trap(real.cwd)
    case = await through(real, model, (ORACLE,))
    await case.worker.stop()
    assert trap.ran == set()
    assert not any("OBEY-THE-FOLDER" in json.dumps(asked.body) for asked in model.requests)
    (note,) = [note for note in case.events(Noted) if "not trusted" in note.text]
    assert note.level == "warning"
    assert all(name in note.text for name in (".claude", ".mcp.json", "CLAUDE.md", f"bobstay trust add {real.cwd}"))


async def test_nothing_of_an_untrusted_folder_runs_with_our_own_command(
    real: ProcessSessions, model: ModelServer
) -> None:
    trap = Trap(real.cwd)
    case = real.create((BOBSTAY,))
    await case.worker.start()
    await case.turn(model.play("own", Step(blocks=[Say("Done.")])))
    await case.worker.stop()
    assert trap.ran == set()


async def test_a_trusted_folder_is_used_in_full(real: ProcessSessions, model: ModelServer) -> None:
    trap = Trap(real.cwd)
    real.trust()
    case = await through(real, model, (ORACLE,))
    await case.worker.stop()
    assert {"hook-SessionStart", "hook-UserPromptSubmit", "local", "server"} <= trap.ran
    assert not [note for note in case.events(Noted) if "not trusted" in note.text]
    ran = {(each.event, each.outcome) for each in case.events(HookRan)}
    assert ("UserPromptSubmit", "success") in ran, "S002-17: what hooks did is in the log"


async def test_trust_that_is_given_later_makes_the_running_engine_outdated(
    real: ProcessSessions, model: ModelServer
) -> None:
    Trap(real.cwd)
    case = real.create((ORACLE,))
    await case.worker.start()
    assert not await case.worker.is_outdated()
    real.trust()
    assert await case.worker.is_outdated()


async def test_the_notice_is_given_once_a_session(real: ProcessSessions, model: ModelServer) -> None:
    Trap(real.cwd)
    case = real.create((ORACLE,))
    await case.worker.start()
    await case.worker.stop()
    again = real.around(case.session, (ORACLE,))
    await again.worker.start()
    assert len([note for note in again.events(Noted) if "not trusted" in note.text]) == 1


async def test_a_plain_folder_needs_no_notice(real: ProcessSessions, model: ModelServer) -> None:
    case = real.create((ORACLE,))
    await case.worker.start()
    assert (await case.turn(model.play("plain", Step(blocks=[Say("Hi.")])))).text == "Hi."
    assert not case.events(Noted)


async def test_an_engine_without_a_switch_does_not_start_in_an_untrusted_folder(real: ProcessSessions) -> None:
    case = real.create(FAKE)
    with pytest.raises(WorkerError, match="bobstay trust add"):
        await case.worker.start()
    assert case.status == "failed" or not case.worker.alive()
    real.trust()
    other = real.create(FAKE)
    await other.worker.start()
    assert isinstance(await other.turn("echo here"), RunDone)


def test_wrappers_are_not_taken_for_the_official_command() -> None:
    from bobstay.server.workers.process.engine_trust import is_bobstay, is_claude

    known: list[Any] = [("claude",), ("/opt/claude", "--verbose"), ("bobstay",), (sys.executable, "-m", "bobstay")]
    assert [is_claude(command) for command in known] == [True, True, False, False]
    assert [is_bobstay(command) for command in known] == [False, False, True, True]
    assert not is_claude(("claude.sh",))
    assert not is_bobstay(("sh", "bobstay"))
