"""Fixtures: this process as a program that embeds a session, whose model is the scripted one; and sessions of it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.assembly.build_session import open_session
from bobstay.assembly.session import AgentSession
from bobstay.config.options import Options
from bobstay.engine.engine_ports import Approver
from tests.kit.agent_sessions import OpenSession
from tests.modelserver.server import ModelServer


@pytest.fixture
def embedded(model: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variables of this process lead to the scripted model; sessions run in `work`."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("BOBSTAY_HOME", str(tmp_path / "home" / ".bobstay"))
    for provider, address in (("ANTHROPIC", "ANTHROPIC_BASE_URL"), ("GEMINI", "GOOGLE_GEMINI_BASE_URL")):
        monkeypatch.setenv(address, model.url)
        monkeypatch.setenv(f"{provider}_API_KEY", "dummy")
    monkeypatch.delenv("CLAUDE_CODE_ENTRYPOINT", raising=False)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("one\n")


@pytest.fixture
async def opened(tmp_path: Path, embedded: None) -> AsyncIterator[OpenSession]:
    """Opens sessions in the trusted folder `work`, which are closed after the test."""
    sessions: list[AgentSession] = []

    async def open_one(approver: Approver | None = None, **more: Any) -> AgentSession:
        given = {"cwd": str(tmp_path / "work"), "model": "claude-sonnet-4-5", "trust": True, **more}
        sessions.append(await open_session(Options(**given), approver))
        return sessions[-1]

    yield open_one
    for session in sessions:
        await session.close()
