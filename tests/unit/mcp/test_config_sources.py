"""Where the servers of a session come from, which come first, and which must not be started (H8-2)."""

import json
from pathlib import Path
from typing import Any

import pytest

from bobstay.config.environment import Environment
from bobstay.config.settings_files import BrokenSettings, load
from bobstay.mcp.approval_store import ApprovalStore, ApprovalStoreError
from bobstay.mcp.config_sources import (
    BadMcpConfigError,
    McpConfiguration,
    McpSources,
    PluginServers,
    collect_servers,
    parse_host_servers,
)
from tests.kit.user_folders import UserFolders

ALL = {"enableAllProjectMcpServers": True}


def entry(command: str = "x", **more: Any) -> dict[str, Any]:
    return {"command": command, **more}


def servers(**entries: Any) -> dict[str, Any]:
    return {"mcpServers": entries}


class Project:
    """A user's folders, and what a session in `work` would use."""

    def __init__(self, folder: Path) -> None:
        self.folders = UserFolders(folder)
        self.write = self.folders.write
        self.cwd = str(self.folders.work)

    def collect(self, *, trusted: bool = True, cwd: str = "", **more: Any) -> McpConfiguration:
        cwd = cwd or self.cwd
        sources = more.get("setting_sources")
        loaded = load(cwd, self.folders.paths, trust=trusted, setting_sources=sources)
        return collect_servers(McpSources(cwd, self.folders.paths, trusted, loaded.layers, **more))

    def commands(self, **more: Any) -> dict[str, str]:
        """What would be started, by name."""
        return {
            server.name: server.command
            for server in self.collect(**more).servers
            if not server.blocked and not server.disabled
        }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_local_comes_before_project_and_project_before_user(project: Project) -> None:
    """H8-2"""
    local = servers(a=entry("local"))
    project.write(
        "home/.claude.json",
        {**servers(a=entry("user"), b=entry("user"), c=entry("user")), "projects": {project.cwd: local}},
    )
    project.write("work/.mcp.json", servers(a=entry("project"), b=entry("project")))
    project.write("home/.bobstay/settings.json", ALL)
    assert project.commands() == {"a": "local", "b": "project", "c": "user"}


def test_settings_may_define_servers_each_as_a_whole(project: Project) -> None:
    """H8-2"""
    project.write("home/.bobstay/settings.json", {**servers(a=entry("mine")), **ALL})
    project.write("work/.bobstay/settings.json", servers(a=entry("theirs", env={"A": "1"}), b=entry("b")))
    found = {server.name: server for server in project.collect().servers}
    assert (found["a"].command, found["a"].env, found["a"].scope) == ("theirs", {"A": "1"}, "project")
    assert found["b"].command == "b"


def test_the_command_line_comes_first_and_strict_leaves_nothing_else(project: Project) -> None:
    """H8-2"""
    project.write("home/.claude.json", servers(a=entry("user"), b=entry("user")))
    file = project.write("work/flag.json", servers(b=entry("file")))
    given = (json.dumps(servers(a=entry("flag"), s={"type": "sdk", "name": "s"})), file.name)
    assert project.commands(mcp_config=given) == {"a": "flag", "s": "", "b": "file"}
    configuration = project.collect(mcp_config=(file.name,), strict=True)
    assert [(server.name, server.scope) for server in configuration.servers] == [("b", "dynamic")]
    assert configuration.has_dynamic
    assert not project.collect().has_dynamic


@pytest.mark.parametrize("text", ["nosuch.json", "{]", "{}", '{"mcpServers": []}'])
def test_a_command_line_that_cannot_be_used_is_an_error(project: Project, text: str) -> None:
    """H8-2"""
    with pytest.raises(BadMcpConfigError, match="mcp-config"):
        project.collect(mcp_config=(text,))


def test_a_project_file_is_also_found_above_the_folder(project: Project) -> None:
    """H8-2"""
    project.write("work/.mcp.json", servers(a=entry("upper"), b=entry("upper")))
    project.write("work/sub/.mcp.json", servers(a=entry("near")))
    project.write("home/.bobstay/settings.json", ALL)
    inner = str(project.folders.work / "sub")
    assert project.commands(cwd=inner, is_trusted_folder=lambda _: True) == {"a": "near", "b": "upper"}
    assert project.commands(cwd=inner) == {"a": "near"}, "the folder above is not trusted itself"
    assert project.commands(cwd=inner, setting_sources=("user", "local")) == {}


def test_nothing_of_an_untrusted_folder_is_started(project: Project) -> None:
    """H8-2: not even with an approval, or because its own settings say so."""
    project.write("work/.mcp.json", servers(a=entry(), b=entry()))
    project.write("work/.claude/settings.json", {**servers(c=entry()), **ALL})
    project.write("home/.bobstay/settings.json", ALL)
    for server in project.collect().servers:
        ApprovalStore(project.folders.paths.bobstay).approve(project.cwd, server)
    configuration = project.collect(trusted=False)
    assert all("not trusted" in server.blocked for server in configuration.servers)
    assert {server.name for server in configuration.servers} == {"a", "b"}
    assert len([notice for notice in configuration.notices if ".mcp.json" in notice]) == 1


def test_an_untrusted_folder_does_not_take_the_place_of_the_persons_own_servers(project: Project) -> None:
    project.write("home/.claude.json", servers(mine=entry("mine"), **{"my own": entry("own")}))
    project.write("work/.mcp.json", servers(mine=entry("theirs"), **{"my:own": entry("theirs")}, other=entry("o")))
    assert project.commands(trusted=False) == {"mine": "mine", "my own": "own"}
    assert any("not started: mine" in notice for notice in project.collect(trusted=False).notices)


def test_a_trusted_folder_needs_a_setting_or_an_approval_too(project: Project) -> None:
    """H8-2"""
    project.write("work/.mcp.json", servers(a=entry(), b=entry(), c=entry()))
    assert project.commands() == {}
    project.write("home/.claude/settings.json", {"enabledMcpjsonServers": ["a"]})
    assert project.commands() == {"a": "x"}
    project.write("home/.bobstay/settings.json", {**ALL, "disabledMcpjsonServers": ["b"]})
    assert project.commands() == {"a": "x", "c": "x"}


def test_a_restriction_counts_even_from_an_untrusted_folder(project: Project) -> None:
    """H8-2"""
    project.write("work/.claude/settings.local.json", {"disabledMcpjsonServers": ["a"]})
    project.write("work/.mcp.json", servers(a=entry()))
    assert [server.disabled for server in project.collect(trusted=False).servers] == [True]


@pytest.mark.parametrize("trusted", [False, True])
def test_a_server_that_is_switched_off_still_needs_what_the_others_need(project: Project, trusted: bool) -> None:
    """A folder could switch its own server off, so that somebody switches it on."""
    project.write("work/.mcp.json", servers(a=entry()))
    project.write("work/.claude/settings.json", {"disabledMcpjsonServers": ["a"]})
    found = project.collect(trusted=trusted)
    (server,) = found.servers
    assert server.disabled
    assert server.blocked
    assert not any("not started" in notice for notice in found.notices), "nobody wanted it to be"


def test_more_servers_than_are_used_are_one_notice(project: Project) -> None:
    """Also if all of a file are too many, and none of them may be started."""
    project.write("work/sub/.mcp.json", servers(**{f"s{number}": entry() for number in range(201)}))
    project.write("work/.mcp.json", servers(above=entry()))
    project.write("home/.claude.json", servers(mine=entry()))
    found = project.collect(trusted=False, cwd=f"{project.cwd}/sub")
    assert len(found.servers) == 201
    assert found.servers[-1].name == "mine"
    assert sum("Only the first 200" in notice for notice in found.notices) == 1


def test_an_approval_ends_when_the_entry_changes(project: Project) -> None:
    """H8-2"""
    store = ApprovalStore(project.folders.paths.bobstay)
    project.write("work/.mcp.json", servers(a=entry()))
    store.approve(project.cwd, project.collect().servers[0])
    assert project.commands() == {"a": "x"}
    project.write("work/.mcp.json", servers(a=entry(args=["--evil"])))
    assert project.commands() == {}
    project.write("work/.mcp.json", servers(a=entry()))
    assert project.commands() == {"a": "x"}
    store.revoke(project.cwd, "a")
    assert project.commands() == {}


def test_a_list_of_approvals_inside_the_folder_counts_for_nothing(project: Project) -> None:
    """H8-2: with BOBSTAY_HOME in it, a repository could bring its own approvals."""
    project.folders.variables["BOBSTAY_HOME"] = f"{project.cwd}/.bobstay-home"
    assert project.folders.paths.bobstay.startswith(project.cwd)
    project.write("work/.mcp.json", servers(a=entry()))
    ApprovalStore(project.folders.paths.bobstay).approve(project.cwd, project.collect().servers[0])
    assert project.commands() == {}


def test_a_list_of_approvals_that_others_could_have_written_counts_for_nothing(project: Project) -> None:
    """H8-2"""
    store = ApprovalStore(project.folders.paths.bobstay)
    project.write("work/.mcp.json", servers(a=entry()))
    store.approve(project.cwd, project.collect().servers[0])
    Path(store.path).chmod(0o666)
    assert project.commands() == {}
    with pytest.raises(ApprovalStoreError, match="somebody else"):
        store.read()
    Path(store.path).chmod(0o600)
    Path(store.path).write_text("{]")
    assert project.commands() == {}


def test_each_bad_entry_is_one_notice_and_the_rest_goes_on(project: Project) -> None:
    """H8-2"""
    project.write("home/.claude.json", servers(good=entry(), odd={"type": "zzz"}, a__b=entry(), none=None))
    configuration = project.collect()
    assert [server.name for server in configuration.servers] == ["good"]
    assert len(configuration.notices) == 3
    assert all(".claude.json" in notice for notice in configuration.notices)


@pytest.mark.parametrize(
    "text", ["{]", "[]", '{"mcpServers": 5}', "[" * 100_000, '{"a":' * 300 + "1" + "}" * 300, "\0"]
)
def test_a_broken_file_is_one_notice(project: Project, text: str) -> None:
    """H8-2"""
    project.write("work/.mcp.json", text)
    project.write("home/.claude.json", servers(a=entry()))
    configuration = project.collect()
    assert [server.name for server in configuration.servers] == ["a"]
    assert [notice for notice in configuration.notices if "work/.mcp.json" in notice] == list(configuration.notices)
    assert len(configuration.notices) == 1


def test_two_servers_whose_tools_would_share_names_are_told_apart(project: Project) -> None:
    """H8-4"""
    project.write("home/.claude.json", {"mcpServers": {"my server": entry("one"), "my.server": entry("two")}})
    configuration = project.collect()
    assert [server.name for server in configuration.servers] == ["my server"]
    assert "another name" in configuration.notices[0]


def test_servers_of_plugins_have_names_of_their_own_and_are_connected_once(project: Project) -> None:
    """H8-2"""
    project.write("home/.claude.json", servers(mine=entry("same", args=["x"])))
    plugin = PluginServers(
        "plug", {"a": entry("a"), "again": entry("a"), "known": entry("same", args=["x"]), "bad": 5}, "plug/.mcp.json"
    )
    configuration = project.collect(plugins=(plugin,))
    assert [(server.name, server.called, server.scope) for server in configuration.servers] == [
        ("mine", "mine", "user"),
        ("plugin:plug:a", "plugin_plug_a", "plugin"),
    ]
    assert len(configuration.notices) == 1


def test_a_project_cannot_have_a_model_key(project: Project) -> None:
    """H8-2"""
    project.write("work/.mcp.json", servers(a={"type": "http", "url": "http://x/${OPENAI_API_KEY}/${OTHER}"}))
    project.write("home/.claude.json", servers(b=entry(args=["${OPENAI_API_KEY}"])))
    project.write("home/.bobstay/settings.json", ALL)
    variables = {"OPENAI_API_KEY": "sk-1", "OTHER": "o"}
    configuration = project.collect(variables=variables, is_model_key=lambda name: name == "OPENAI_API_KEY")
    found = {server.name: server for server in configuration.servers}
    assert found["a"].url == "http://x/${OPENAI_API_KEY}/o"
    assert found["b"].args == ("sk-1",), "what the user writes is the user's word"
    assert "model key" in configuration.notices[0]


def test_a_project_cannot_pretend_to_be_the_program_that_runs_the_session(project: Project) -> None:
    """H8-2"""
    project.write("work/.mcp.json", servers(a={"type": "sdk", "name": "a"}))
    project.write("home/.bobstay/settings.json", ALL)
    assert project.collect().servers == ()


def test_the_setting_sources_limit_what_is_read(project: Project) -> None:
    """H8-2"""
    everywhere = {**servers(u=entry()), "projects": {project.cwd: servers(l=entry())}}
    project.write("home/.claude.json", everywhere)
    project.write("work/.mcp.json", servers(p=entry()))
    for source, name in (("user", "u"), ("local", "l"), ("project", "p")):
        assert [server.name for server in project.collect(setting_sources=(source,)).servers] == [name]
    assert project.collect(setting_sources=()).servers == ()


def test_a_host_that_sets_servers_hears_which_are_wrong() -> None:
    """H8-2"""
    found, errors = parse_host_servers({"a": entry("${V}"), "b": {"type": "zzz"}}, {"V": "prog"})
    assert [server.command for server in found] == ["prog"]
    assert "zzz" in errors["b"]


def test_the_limits_of_servers_are_read_from_the_environment() -> None:
    """H8-3, H1-6"""
    environment = Environment.read(
        {
            "HOME": "/home/x",
            "MCP_TIMEOUT": "5000",
            "MCP_TOOL_TIMEOUT": "x",
            "MAX_MCP_OUTPUT_TOKENS": "100",
            "ENABLE_TOOL_SEARCH": " Auto:5 ",
        }
    )
    assert (environment.mcp_timeout_ms, environment.mcp_tool_timeout_ms) == (5000, None)
    assert (environment.mcp_output_tokens, environment.tool_search) == (100, "auto:5")


def test_a_restriction_that_cannot_be_read_is_not_ignored(project: Project) -> None:
    """H8-2"""
    project.write("home/.claude/settings.json", {"disabledMcpjsonServers": "a"})
    with pytest.raises(BrokenSettings, match="disabledMcpjsonServers"):
        project.collect()
