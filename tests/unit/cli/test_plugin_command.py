"""`bobstay plugin` as a person uses it (H9-5)."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.kit.program import BOBSTAY
from tests.kit.user_folders import UserFolders


@pytest.fixture
def folders(tmp_path: Path) -> UserFolders:
    return UserFolders(tmp_path)


def run(folders: UserFolders, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [BOBSTAY, "plugin", *arguments],
        cwd=folders.work,
        env=folders.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def write_plugin(folders: UserFolders, at: str) -> None:
    folders.write(f"{at}/.claude-plugin/plugin.json", {"name": "plug", "description": "d"})
    folders.write(f"{at}/commands/doit.md", "BODY")
    hook = {"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/check.sh"}
    folders.write(f"{at}/hooks/hooks.json", {"hooks": {"Stop": [{"hooks": [hook]}]}})
    folders.write(f"{at}/.mcp.json", {"mcpServers": {"srv": {"command": "python3", "args": ["srv.py"]}}})


def test_a_plugin_is_added_listed_changed_and_enabled_again(folders: UserFolders) -> None:
    assert "No plugin is installed" in run(folders, "list")
    write_plugin(folders, "plug")
    printed = run(folders, "add", "../plug")
    assert "plug@local is enabled" in printed
    assert f"runs on Stop: {folders.folder}/plug/check.sh" in printed
    assert "server plugin:plug:srv: python3 srv.py" in printed
    assert "commands: /plug:doit" in printed
    folders.write("plug/commands/doit.md", "OTHER")
    printed = run(folders, "list")
    assert "plug@local  changed" in printed
    assert "commands/doit.md (changed)" in printed
    run(folders, "enable", "plug")
    assert "plug@local  enabled" in run(folders, "list")
    run(folders, "disable", "plug")
    rows = json.loads(run(folders, "list", "--json"))["plugins"]
    assert [(row["id"], row["status"]) for row in rows] == [("plug@local", "disabled")]
    assert "plug@local is removed" in run(folders, "remove", "plug")
    assert "No plugin is installed" in run(folders, "list")


def test_plugins_of_a_marketplace_are_shown_and_enabled(folders: UserFolders) -> None:
    write_plugin(folders, "market/plug")
    entry = {"name": "plug", "source": "./plug", "description": "Does \x1b[2J things"}
    folders.write("market/.claude-plugin/marketplace.json", {"name": "mymarket", "plugins": [entry]})
    printed = run(folders, "add", "../market")
    assert "plug@mymarket  Does ?[2J things" in printed
    assert "plug@mymarket is enabled" in run(folders, "enable", "plug")
    folders.write("home/.claude/settings.json", {"enabledPlugins": {"plug@mymarket": False}})
    assert "`enabledPlugins`" in run(folders, "enable", "plug")
    assert f"marketplace mymarket: {folders.folder}/market" in run(folders, "list")


def test_what_cannot_be_done_is_said_with_a_hint(folders: UserFolders) -> None:
    assert "is not a folder" in run(folders, "add", "../nosuch", code=1)
    assert "bobstay plugin list" in run(folders, "enable", "nosuch", code=1)
    assert "Usage" in run(folders, "frobnicate", code=2)
    assert "Usage" in run(folders, code=2)
    assert "Usage" in run(folders, "--help")
