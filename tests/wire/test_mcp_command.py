"""`bobstay mcp add`, `list`, `get`, `remove`, `login` and `logout` as people run them (H8-5)."""

import asyncio
import json
import os
import re
import stat
import subprocess
import sys
from typing import Any

import pytest

from tests.kit import scripted_mcp_server
from tests.kit.installed_command import Ended, InstalledCommand
from tests.kit.oauth_server import protected_server
from tests.kit.program import BOBSTAY
from tests.kit.waiting import DEADLINE

SECRET = "tok-very-secret-0123456789"


class McpCommand:
    def __init__(self, command: InstalledCommand) -> None:
        self.command = command
        self.own = command.home / ".bobstay" / "mcp.json"
        self.project = command.work / ".mcp.json"

    def __call__(self, *arguments: str) -> Ended:
        return self.command.run("mcp", *arguments)

    def ok(self, *arguments: str) -> str:
        ended = self(*arguments)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def local(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.own.read_text())["projects"][str(self.command.work)]["mcpServers"]
        return found


@pytest.fixture
def mcp(command: InstalledCommand) -> McpCommand:
    return McpCommand(command)


def test_a_command_is_added_for_oneself_in_this_folder(mcp: McpCommand) -> None:
    mcp.ok("add", "-e", "A=1", "B=x=y", "tools", "--", "npx", "-y", "server", "--flag")
    args = ["-y", "server", "--flag"]
    assert mcp.local() == {"tools": {"type": "stdio", "command": "npx", "args": args, "env": {"A": "1", "B": "x=y"}}}
    assert stat.S_IMODE(mcp.own.stat().st_mode) == 0o600


def test_an_address_is_added_for_the_project(mcp: McpCommand) -> None:
    mcp.ok("add", "--transport", "http", "web", "https://mcp.example/mcp", "--header", "X-Key: abc", "-s", "project")
    entry = {"type": "http", "url": "https://mcp.example/mcp", "headers": {"X-Key": "abc"}}
    assert json.loads(mcp.project.read_text()) == {"mcpServers": {"web": entry}}


def test_json_is_added_for_the_user(mcp: McpCommand) -> None:
    mcp.ok("add-json", "--scope=user", "web", '{"type": "sse", "url": "https://mcp.example/sse"}')
    assert json.loads(mcp.own.read_text())["mcpServers"]["web"]["type"] == "sse"


def test_the_rest_of_a_file_stays(mcp: McpCommand) -> None:
    mcp.project.write_text('{"$schema": "x", "mcpServers": {"old": {"command": "a"}}}')
    os.chmod(mcp.project, 0o640)
    mcp.ok("add", "--scope", "project", "new", "b")
    found = json.loads(mcp.project.read_text())
    assert (found["$schema"], list(found["mcpServers"])) == ("x", ["old", "new"])
    assert stat.S_IMODE(mcp.project.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["add", "bad name", "x"], "cannot be the name"),
        (["add", "a__b", "x"], "cannot be the name"),
        (["add", "x"], "Name the command"),
        (["add", "x", "https://mcp.example"], "--transport http"),
        (["add", "x", "cmd", "--verbose"], "Put -- before"),
        (["add", "-t", "http", "x", "ftp://mcp.example"], "begins with http"),
        (["add", "-t", "carrier", "x", "y"], "--transport is one of"),
        (["add", "-e", "novalue", "x", "y"], "NAME=VALUE"),
        (["add", "-H", "no header", "-t", "http", "x", "https://m.example"], "NAME: VALUE"),
        (["add", "--scope", "world", "x", "y"], "local, project or user"),
        (["add-json", "x", "{"], "not a JSON object"),
        (["add-json", "x", '{"type": "stdio"}'], "needs a command"),
        (["add", "x", os.fsdecode(b"\xff")], "not valid UTF-8"),
        (["get"], "takes 1 argument"),
        (["frobnicate"], "Usage"),
        ([], "Usage"),
    ],
)
def test_what_is_wrong_with_a_command_line_is_said(mcp: McpCommand, arguments: list[str], why: str) -> None:
    ended = mcp(*arguments)
    assert ended.returncode in (1, 2)
    assert why in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not mcp.own.exists()


def test_a_name_that_is_taken_is_refused(mcp: McpCommand) -> None:
    mcp.project.write_text('{"mcpServers": {"my.tools": {"command": "a"}}}')
    mcp.ok("add", "--scope", "project", "tools", "a")
    ended = mcp("add", "--scope", "project", "tools", "b")
    assert ended.returncode == 1
    assert "bobstay mcp remove tools --scope project" in ended.stderr
    assert "my.tools" in mcp("add", "--scope", "project", "my_tools", "b").stderr, "their tools would have one name"
    assert json.loads(mcp.project.read_text())["mcpServers"]["tools"]["command"] == "a"


def test_a_name_of_another_scope_is_noted_and_the_nearer_one_is_used(mcp: McpCommand) -> None:
    mcp.ok("add", "--scope", "user", "tools", "of-the-user")
    assert "The new one is used here" in mcp("add", "tools", "of-this-folder").stderr
    listed = json.loads(mcp.ok("list", "--json"))
    assert [(row["scope"], row["used"]) for row in listed] == [("local", True), ("user", False)]


@pytest.mark.parametrize("content", ["{", "[]", '{"mcpServers": []}', "\x00", "[" * 5000])
def test_a_broken_file_is_left_as_it_is(mcp: McpCommand, content: str) -> None:
    mcp.project.write_text(content)
    ended = mcp("add", "--scope", "project", "x", "y")
    assert ended.returncode == 1
    assert str(mcp.project) in ended.stderr
    assert mcp.project.read_text() == content
    mcp.ok("add", "x", "y")
    assert "x: y" in mcp.ok("list"), "what is in other files is still listed"


def test_a_link_in_the_repository_is_not_written_through(mcp: McpCommand) -> None:
    target = mcp.command.folder / "elsewhere.json"
    mcp.project.symlink_to(target)
    ended = mcp("add", "--scope", "project", "x", "y")
    assert ended.returncode == 1
    assert "is a link" in ended.stderr
    assert not target.exists()


def test_secrets_are_not_shown(mcp: McpCommand) -> None:
    mcp.ok("add", "-e", f"TOKEN={SECRET}", "OTHER=${HOME}", "tools", "--", "run")
    url = f"https://user:{SECRET}@mcp.example/x?key={SECRET}"
    mcp.ok("add", "-t", "http", "-H", f"Authorization: Bearer {SECRET}", "-H", "X: ${X_KEY}", "web", url)
    shown = mcp.ok("list") + mcp.ok("list", "--json") + mcp.ok("get", "tools") + mcp.ok("get", "web")
    shown += mcp.ok("get", "--json", "web")
    assert SECRET not in shown
    assert "mcp.example" in shown
    assert "${HOME}" in shown
    assert "${X_KEY}" in shown


def test_text_of_a_file_cannot_control_the_terminal(mcp: McpCommand) -> None:
    mcp.project.write_text(json.dumps({"mcpServers": {"a\x1b[2J": {"command": "x\x1b]0;owned\x07", "args": ["\r"]}}}))
    shown = mcp.ok("list")
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", shown)
    assert "not trusted" in shown


def test_servers_of_the_other_program_are_listed_and_never_changed(mcp: McpCommand) -> None:
    theirs = mcp.command.home / ".claude.json"
    entry = {"mcpServers": {"here": {"command": "b"}}}
    theirs.write_text(json.dumps({"mcpServers": {"all": {"command": "a"}}, "projects": {str(mcp.command.work): entry}}))
    before = theirs.read_bytes()
    listed = {row["name"]: row["scope"] for row in json.loads(mcp.ok("list", "--json"))}
    assert listed == {"all": "user", "here": "local"}
    assert "does not change" in mcp("remove", "all").stderr
    assert theirs.read_bytes() == before


def test_a_server_is_removed_from_the_scope_that_has_it(mcp: McpCommand) -> None:
    mcp.ok("add", "--scope", "user", "tools", "a")
    mcp.ok("add", "--scope", "project", "tools", "b")
    assert "Choose one with --scope" in mcp("remove", "tools").stderr
    mcp.ok("remove", "tools", "--scope", "project")
    mcp.ok("remove", "tools")
    assert mcp("remove", "tools").returncode == 1
    assert "No MCP servers" in mcp.ok("list")


def test_adding_to_the_project_keeps_the_folder_trusted(mcp: McpCommand) -> None:
    assert mcp.command.run("trust", "add").returncode == 0
    mcp.ok("add", "--scope", "project", "tools", "npx")
    assert "not trusted" not in mcp.ok("get", "tools")


def test_several_at_once_lose_nothing(mcp: McpCommand) -> None:
    started = [mcp.command.start("mcp", "add", f"server{number}", "x") for number in range(6)]
    for each in started:
        with each:
            each.communicate(timeout=DEADLINE)
    assert sorted(mcp.local()) == [f"server{number}" for number in range(6)]


async def test_a_person_signs_in_and_out(mcp: McpCommand) -> None:
    async with protected_server() as server:
        added = await asyncio.to_thread(mcp.ok, "add", "-t", "http", "tracker", server.url)
        assert "tracker" in added
        running = await asyncio.create_subprocess_exec(
            *(BOBSTAY, "mcp", "login", "--no-browser", "tracker"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=mcp.command.work,
            env=mcp.command.variables,
        )
        assert running.stdout
        shown = ""
        while not (address := re.search(r"^http\S+", shown, re.MULTILINE)):
            shown += (await asyncio.wait_for(running.stdout.readline(), DEADLINE)).decode()
        await server.sign_in(address[0])
        rest = (await running.stdout.read()).decode()
        assert await running.wait() == 0, rest
        assert "Signed in to tracker." in rest
        (token,) = server.accounts.access
        assert token not in shown + rest
    kept = mcp.command.home / ".bobstay" / "mcp-tokens.json"
    assert token in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "Signed out" in await asyncio.to_thread(mcp.ok, "logout", "tracker")
    assert token not in kept.read_text()


def test_a_project_that_is_not_trusted_is_not_contacted(mcp: McpCommand) -> None:
    mcp.project.write_text('{"mcpServers": {"web": {"type": "http", "url": "http://127.0.0.1:9/mcp"}}}')
    ended = mcp("login", "web")
    assert ended.returncode == 1
    assert "bobstay trust add" in ended.stderr


@pytest.mark.parametrize("name", ["nobody", "tools"])
def test_there_must_be_something_to_sign_in_to(mcp: McpCommand, name: str) -> None:
    mcp.ok("add", "tools", "x")
    ended = mcp("login", name)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr


def test_a_check_tells_what_came_of_each_server_and_starts_none_that_is_not_approved(mcp: McpCommand) -> None:
    """H8-5"""
    started = mcp.command.home / "started"
    program = [sys.executable, scripted_mcp_server.__file__]
    mcp.ok("add", "good", "--", *program)
    mcp.ok("add", "dead", "--", "/no/such/program")
    mcp.ok("add", "leaving", "-e", "MCP_MODE=exit", "--", *program)
    mcp.ok("add", "--scope", "user", "good", "--", "/never/used")
    mcp.ok("add", "--scope", "project", "-e", f"MCP_PID={started}", "theirs", "--", *program)
    servers = json.loads(mcp.ok("list", "--json"))
    assert {server["state"] for server in servers} == {None}, "without --check nothing is connected"
    shown = {
        (server["name"], server["scope"]): server["state"] for server in json.loads(mcp.ok("list", "--check", "--json"))
    }
    assert shown.pop(("good", "local")).startswith("connected, ")
    assert shown.pop(("good", "user")) is None, "only what would be used is connected"
    assert "/no/such/program" in shown.pop(("dead", "local"))
    assert "no token was given" in shown.pop(("leaving", "local"))
    assert shown.pop(("theirs", "project")).startswith("not started: ")
    assert shown == {}
    assert not started.exists()
    assert "  state    connected, " in mcp.ok("get", "--check", "good")


def test_a_server_that_hangs_ends_a_check_of_others_only_by_its_deadline(mcp: McpCommand) -> None:
    """H8-5"""
    mcp.command.variables["MCP_TIMEOUT"] = "1"
    mcp.ok("add", "silent", "-e", "MCP_MODE=silent", "--", sys.executable, scripted_mcp_server.__file__)
    (server,) = json.loads(mcp.ok("list", "--check", "--json"))
    assert server["state"].startswith("failed: ")
