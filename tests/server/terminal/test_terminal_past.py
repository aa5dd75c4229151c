"""What the transcript of an engine's own terminal brings into a session, and what it does not."""

import json
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bobstay.kit.secrets import Mask
from bobstay.model.around import WorkerExited, WorkerStarted
from bobstay.model.event import TurnStarted
from bobstay.server.workers.terminal_past import bring_back
from bobstay.sessions.claude_paths import project_directory
from tests.server.process.world import Case, World

TALK = "11111111-2222-4333-8444-555555555555"


class Terminal:
    """A session with a terminal on the talk of its engine, and the transcript that the terminal writes."""

    def __init__(self, world: World, case: Case) -> None:
        self.world = world
        self.session = case.session
        self.case = case
        self.lines: list[dict[str, Any]] = []
        folder = project_directory(world.environment.paths.claude, str(world.cwd))
        self.path = Path(folder, f"{TALK}.jsonl")
        self.path.parent.mkdir(parents=True)

    def opened(self, id: str = "terminal-1") -> None:
        self.session.record(WorkerStarted(id, "terminal", engine_session=TALK))

    def ended(self, id: str = "terminal-1") -> None:
        self.session.record(WorkerExited(id, "terminal"))

    def said(self, words: str, at: float = 0.0, **more: Any) -> None:
        self._line("user", at, {"role": "user", "content": words}, **more)

    def answered(self, words: str, at: float = 0.0) -> None:
        name = f"msg_{len(self.lines)}"
        content = [{"type": "text", "text": words}]
        self._line("assistant", at, {"id": name, "model": "fake-1", "content": content, "stop_reason": "end_turn"})

    def _line(self, kind: str, at: float, message: dict[str, Any], **more: Any) -> None:
        moment = datetime.fromtimestamp(at or time.time(), UTC).isoformat()
        parent = self.lines[-1]["uuid"] if self.lines else None
        uuid = f"00000000-0000-4000-8000-{len(self.lines):012x}"
        common = {"uuid": uuid, "parentUuid": parent, "timestamp": moment, "cwd": str(self.world.cwd)}
        self.lines.append({"type": kind, "message": message, **common, **more})
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self.lines))

    async def brought(self) -> int:
        return await bring_back(self.session, self.world.environment.paths, Mask({}))


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    world = World(tmp_path)
    yield Terminal(world, world.case())
    await world.close()


async def test_what_was_allowed_in_the_terminal_is_not_allowed_in_the_session(terminal: Terminal) -> None:
    terminal.opened()
    terminal.said("do it", permissionMode="acceptEdits")
    terminal.answered("done")
    terminal.ended()
    assert await terminal.brought() > 0
    assert [event.mode for event in terminal.case.events(TurnStarted)] == ["default"]
    assert terminal.session.view.permission_mode == "default"
