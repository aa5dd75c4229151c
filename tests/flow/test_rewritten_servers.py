"""A project's server whose files the session rewrote is started again by people only (H8-2)."""

import sys
from pathlib import Path

import pytest

from bobstay.assembly import session_servers
from bobstay.assembly.session import AgentSession
from bobstay.model.event import ToolDone
from tests.kit import scripted_mcp_server
from tests.kit.folder_sessions import FolderSessions
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

DONE = Step(blocks=[Say("done")])


@pytest.fixture
def project(model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderSessions:
    monkeypatch.setattr(session_servers, "FIRST_WAIT", DEADLINE)
    found = FolderSessions(model, tmp_path)
    found.write("work/.mcp.json", {"mcpServers": {"own": {"command": sys.executable, "args": ["server.py"]}}})
    found.write("work/server.py", Path(scripted_mcp_server.__file__).read_text())
    found.write("home/.bobstay/settings.json", {"enableAllProjectMcpServers": True})
    return found


async def call(project: FolderSessions, session: AgentSession, tool: str, number: int) -> str:
    """Let the model call a tool of the server; returns what it is told."""
    step = Step(blocks=[Call(f"mcp__own__{tool}", {"s": "hey"}, f"m{number}")])
    events = [event async for event in session.run(project.model.play(f"turn{number}", step, DONE))]
    return next(event.reply.text for event in events if isinstance(event, ToolDone))


async def test_a_call_does_not_start_what_the_session_rewrote_but_a_person_can(project: FolderSessions) -> None:
    mark, script = project.folder / "marked", project.work / "server.py"
    session = await project.open(model="claude-sonnet-4-5", trust=True, allowed_tools=("mcp__own",))
    assert "HEY!" in await call(project, session, "shout", 1)
    await call(project, session, "die", 2)
    assert "HEY!" in await call(project, session, "shout", 3), "one that ended is started again"
    await call(project, session, "die", 4)
    script.write_text(f"open({str(mark)!r}, 'w').close()\n{script.read_text()}")
    refused = await call(project, session, "shout", 5)
    assert "server.py was changed since this session began" in refused
    assert not mark.exists()
    assert session.servers is not None
    await session.servers.reconnect("own")
    assert "HEY!" in await call(project, session, "shout", 6)
    assert mark.exists()
    await session.close()
