"""Import of turns from an engine's transcript after a session was resumed in a terminal."""

import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bobstay.model.event import BlockDone, Noted, Prompted, RunDone, TurnStarted
from bobstay.model.message import Text
from bobstay.model.session_events import WorkerExited, WorkerStarted
from bobstay.redaction.redactor import Redactor
from bobstay.server.sessions.session_registry import fold_log
from bobstay.server.workers.terminal_transcript import import_terminal_turns
from bobstay.sessions.claude_paths import project_directory
from tests.kit.process_sessions import ProcessSession, ProcessSessions

TALK = "11111111-2222-4333-8444-555555555555"


class Terminal:
    """A session with a terminal on the talk of its engine, and the transcript that the terminal writes."""

    def __init__(self, sessions: ProcessSessions, case: ProcessSession) -> None:
        self.host = sessions
        self.session = case.session
        self.case = case
        self.lines: list[dict[str, Any]] = []
        folder = project_directory(sessions.environment.paths.claude, str(sessions.cwd))
        self.path = Path(folder, f"{TALK}.jsonl")
        self.path.parent.mkdir(parents=True)

    def opened(self, id: str = "terminal-1") -> None:
        self.session.record(WorkerStarted(id, "terminal", engine_session=TALK))

    def ended(self, id: str = "terminal-1") -> None:
        self.session.record(WorkerExited(id, "terminal"))

    def write_entry(self, content: Any, at: float = 0.0, **more: Any) -> None:
        self._line("user", at, {"role": "user", "content": content}, **more)

    def answered(self, text: str, at: float = 0.0) -> None:
        name = f"msg_{len(self.lines)}"
        content = [{"type": "text", "text": text}]
        self._line("assistant", at, {"id": name, "model": "fake-1", "content": content, "stop_reason": "end_turn"})

    def _line(self, kind: str, at: float, message: dict[str, Any], **more: Any) -> None:
        moment = datetime.fromtimestamp(at or time.time(), UTC).isoformat()
        parent = self.lines[-1]["uuid"] if self.lines else None
        uuid = f"00000000-0000-4000-8000-{len(self.lines):012x}"
        common = {"uuid": uuid, "parentUuid": parent, "timestamp": moment, "cwd": str(self.host.cwd)}
        self.lines.append({"type": kind, "message": message, **common, **more})
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))

    def messages(self) -> list[str]:
        """The texts of all messages in the session, of both sides."""
        found: list[str] = []
        for envelope in self.session.read():
            event = envelope.event
            blocks = event.blocks[:1] if isinstance(event, Prompted) else ()
            blocks = (event.block,) if isinstance(event, BlockDone) else blocks
            found += [block.text for block in blocks if isinstance(block, Text)]
        return found

    def cut(self, lines: list[bytes]) -> None:
        """A crash left only these lines of the log, and another server opens it."""
        registry, id = self.host.registry, self.session.id
        registry.release(id)
        Path(self.host.store.path(id)).write_bytes(b"".join(lines))
        registry.forget(id)
        registry.update_view(fold_log(registry.logs, id))
        self.session = registry.open(id)
        self.case = self.host.around(self.session)

    def an_hour_passes(self) -> None:
        """All that is written down so far happened an hour earlier."""
        entries = [json.loads(line) for line in Path(self.session.path).read_bytes().splitlines()]
        self.cut([json.dumps({**entry, "at": entry["at"] - 3600}).encode() + b"\n" for entry in entries])
        for line in self.lines:
            line["timestamp"] = (datetime.fromisoformat(line["timestamp"]) - timedelta(hours=1)).isoformat()

    async def brought(self) -> int:
        return await import_terminal_turns(self.session, self.host.environment.paths, Redactor({}))


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    sessions = ProcessSessions(tmp_path)
    yield Terminal(sessions, sessions.create())
    await sessions.close()


async def test_what_was_allowed_in_the_terminal_is_not_allowed_in_the_session(terminal: Terminal) -> None:
    terminal.opened()
    terminal.write_entry("do it", permissionMode="acceptEdits")
    terminal.answered("done")
    terminal.ended()
    assert await terminal.brought() > 0
    assert [event.mode for event in terminal.case.events(TurnStarted)] == ["default"]
    assert terminal.session.view.permission_mode == "default"


async def test_terminals_whose_end_nobody_saw_are_brought_with_the_next_one(terminal: Terminal) -> None:
    """The server was killed before it could read what was said in the first."""
    terminal.opened("terminal-1")
    terminal.write_entry("first")
    terminal.answered("one")
    terminal.ended("terminal-1")
    terminal.an_hour_passes()
    terminal.opened("terminal-2")
    terminal.write_entry("second")
    terminal.answered("two")
    terminal.ended("terminal-2")
    assert await terminal.brought() > 0
    assert terminal.messages() == ["first", "one", "second", "two"]
    assert await terminal.brought() == 0


async def test_what_a_crash_cut_off_while_it_was_brought_comes_the_next_time(terminal: Terminal) -> None:
    terminal.opened()
    terminal.write_entry("first")
    terminal.answered("one")
    terminal.write_entry("second")
    terminal.answered("two")
    terminal.ended()
    await terminal.brought()
    whole = terminal.messages()
    lines = Path(terminal.session.path).read_bytes().splitlines(keepends=True)
    for kept in range(len(lines) - 1, len(lines) - 8, -1):
        terminal.cut(lines[:kept])
        await terminal.brought()
        assert terminal.messages() == whole, kept
        assert len(terminal.case.events(RunDone)) == 2, kept
        assert await terminal.brought() == 0


async def test_a_turn_that_is_under_way_in_an_open_terminal_comes_when_it_is_over(terminal: Terminal) -> None:
    terminal.opened()
    terminal.write_entry("first")
    terminal.answered("one")
    terminal.write_entry("second")
    await terminal.brought()
    assert terminal.messages() == ["first", "one"]
    terminal.answered("two")
    terminal.ended()
    await terminal.brought()
    assert terminal.messages() == ["first", "one", "second", "two"]
    assert [done.ending for done in terminal.case.events(RunDone)] == ["completed", "completed"]


async def test_what_was_said_in_the_console_is_not_brought_as_if_a_terminal_had_heard_it(terminal: Terminal) -> None:
    """An engine that tells no ids is not known again by them."""
    terminal.opened()
    terminal.write_entry("in the terminal")
    terminal.answered("one")
    terminal.ended()
    await terminal.brought()
    terminal.write_entry("in the console", at=time.time() + 100)
    terminal.answered("two", at=time.time() + 101)
    assert await terminal.brought() == 0


async def test_data_that_cannot_be_kept_does_not_keep_the_rest_away(terminal: Terminal) -> None:
    """Else no process of the engine could be started in this session again."""
    deep: Any = 1
    for _ in range(600):
        deep = {"in": deep}
    result = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]
    terminal.opened()
    terminal.write_entry("first")
    terminal.write_entry(result, toolUseResult=deep)
    terminal.answered("one")
    terminal.ended()
    await terminal.brought()
    assert terminal.messages() == ["first", "one"]
    assert ["nested too deeply" in note.text for note in terminal.case.events(Noted)] == [True]
    assert await terminal.brought() == 0
