"""Plugins that a project brings along: they are files of the project, whoever enabled them (H8-2)."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bobstay.assembly import session_servers
from tests.kit import scripted_mcp_server
from tests.kit.folder_sessions import FolderSessions
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

DONE = Step(blocks=[Say("done")])
LOOK = Step(blocks=[Call("Glob", {"pattern": "*"}, "g1")])
KEY = "${ANTHROPIC_API_KEY}"


@pytest.fixture
def project(model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderSessions:
    """A trusted project whose settings enable a plugin in one of its own folders."""
    monkeypatch.setattr(session_servers, "FIRST_WAIT", DEADLINE)
    found = FolderSessions(model, tmp_path)
    market = {"name": "m", "owner": {"name": "o"}, "plugins": [{"name": "plug", "source": "./plug"}]}
    found.write("work/market/.claude-plugin/marketplace.json", market)
    found.write("work/market/plug/.claude-plugin/plugin.json", {"name": "plug"})
    source = {"source": {"source": "directory", "path": "./market"}}
    settings = {"extraKnownMarketplaces": {"m": source}, "enabledPlugins": {"plug@m": True}}
    found.write("work/.claude/settings.json", settings)
    return found


def add_hooks(project: FolderSessions, hook: dict[str, Any]) -> None:
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", **hook}]}]}
    project.write("work/market/plug/hooks/hooks.json", {"hooks": hooks})


async def test_their_servers_do_not_get_the_model_key(project: FolderSessions) -> None:
    server = {"command": sys.executable, "args": [scripted_mcp_server.__file__], "env": {"GIVEN": KEY}}
    project.write("work/market/plug/.mcp.json", {"mcpServers": {"srv": server}})
    call = Step(blocks=[Call("mcp__plugin_plug_srv__env", {"k": "GIVEN"}, "m1")])
    await project.ask("go", steps=(call, DONE), allowed_tools=("mcp__plugin_plug_srv",))
    assert KEY in json.dumps(project.model.requests[-1].body["messages"])
    assert any("cannot have your model key" in warning for warning in project.warnings)


@pytest.mark.parametrize("root", ["${CLAUDE_PLUGIN_ROOT}", "$CLAUDE_PLUGIN_ROOT"])
async def test_their_hooks_do_not_run_a_script_that_the_session_rewrote(project: FolderSessions, root: str) -> None:
    mark = project.folder / "marked"
    script = project.write("work/market/plug/check.sh", "true\n")
    add_hooks(project, {"command": f'sh "{root}/check.sh"'})
    session = await project.open(model="claude-sonnet-4-5", trust=True)
    script.write_text(f"touch {mark}\n")
    async for _ in session.run(project.model.play("main", LOOK, DONE)):
        pass
    await session.close()
    assert not mark.exists()
