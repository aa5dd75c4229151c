"""Plugins: folders, marketplaces, namespaces, hostile content, and trust that is bound to content (H9-5)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bobstay.config.settings_files import load
from bobstay.library.command_text import expand_command, expand_variables
from bobstay.library.definition import AgentDefinition, CommandDefinition, OutputStyle
from bobstay.library.definition_body import read_body
from bobstay.library.discovery import LibrarySources, find_library
from bobstay.library.library import Library
from bobstay.library.plugin import Plugin, ReadPlugin, encode_problems, read_plugin
from bobstay.library.plugin_changes import EnabledPlugin, PluginChangeError, add_folder, disable, enable, remove
from bobstay.library.plugin_selection import FoundPlugins, PluginSources, find_plugins
from bobstay.library.plugin_store import PluginStore
from tests.kit.user_folders import UserFolders

MARKET = {"name": "mymarket", "owner": {"name": "me"}, "plugins": [{"name": "plug", "source": "./plugins/plug"}]}
KNOWN = {"mymarket": {"source": {"source": "directory", "path": "../market"}}}


@pytest.fixture
def folders(tmp_path: Path) -> UserFolders:
    return UserFolders(tmp_path)


def write_plugin(folders: UserFolders, at: str = "plug", manifest: Any = None, **files: Any) -> str:
    """A plugin with a part of each kind; `manifest=False` for none."""
    parts = {
        "commands/doit.md": "---\ndescription: d\n---\nroot=<${CLAUDE_PLUGIN_ROOT}> <$ARGUMENTS>",
        "commands/grp/nest.md": "NESTED",
        "agents/helper.md": "---\nname: helper\ndescription: d\npermissionMode: plan\n---\n<${CLAUDE_PLUGIN_ROOT}>",
        "skills/lore/SKILL.md": "---\ndescription: d\nallowed-tools: Read\n---\n${CLAUDE_SKILL_DIR}",
        "output-styles/loud.md": "---\nname: Loud\n---\nLOUD",
        "hooks/hooks.json": {
            "description": "x",
            "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/run.sh"}]}]},
        },
        ".mcp.json": {"mcpServers": {"srv": {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/srv.py"]}}},
        **files,
    }
    if manifest is not False:
        parts[".claude-plugin/plugin.json"] = {"name": os.path.basename(at), "version": "1.2.3", **(manifest or {})}
    for path, content in parts.items():
        folders.write(f"{at}/{path}", content)
    return os.path.realpath(folders.folder / at)


def sources(folders: UserFolders, *plugin_dirs: str, trust: bool = False, **more: Any) -> PluginSources:
    loaded = load(str(folders.work), folders.paths, trust=trust)
    return PluginSources(
        **{"cwd": str(folders.work), "paths": folders.paths, "loaded": loaded, "plugin_dirs": plugin_dirs, **more}
    )


def plugins(folders: UserFolders, *plugin_dirs: str, **more: Any) -> FoundPlugins:
    return find_plugins(sources(folders, *plugin_dirs, **more))


def read(path: str) -> ReadPlugin:
    return read_plugin(path, "/data")


def the(found: ReadPlugin) -> Plugin:
    assert found.plugin is not None
    return found.plugin


def library_of(folders: UserFolders, found: FoundPlugins) -> Library:
    given = LibrarySources(cwd=str(folders.work), paths=folders.paths, trusted=True)
    return find_library(given, tuple(plugin.definitions for plugin in found.plugins))


def names(plugin: Plugin) -> set[str]:
    found = plugin.definitions
    parts: tuple[CommandDefinition | AgentDefinition | OutputStyle, ...] = (
        *found.commands,
        *found.agents,
        *found.styles,
    )
    return {each.name for each in parts}


def test_the_parts_of_a_plugin_are_named_after_it(folders: UserFolders) -> None:
    path = write_plugin(folders)
    found = plugins(folders, "../plug")
    plugin = found.plugins[0]
    assert (plugin.name, plugin.id, plugin.path, plugin.version) == ("plug", "plug@inline", path, "1.2.3")
    assert names(plugin) == {"plug:doit", "plug:grp:nest", "plug:lore", "plug:helper", "plug:Loud"}
    assert [server.name for server in plugin.servers] == ["plugin:plug:srv"]
    assert plugin.data == f"{folders.home}/.claude/plugins/data/plug-inline"
    library = library_of(folders, found)
    assert library.find_command("plug:doit") is not None
    assert library.find_command("doit") is None
    assert library.find_agent("Plug:Helper") is not None


def test_the_folder_of_a_plugin_is_put_into_its_texts_hooks_and_servers(folders: UserFolders) -> None:
    path = write_plugin(folders, "with space/plug")
    plugin = the(read(path))
    command = next(each for each in plugin.definitions.commands if each.name == "plug:doit")
    assert expand_command(command, read_body(command).text, "x").join() == f"root=<{path}> <x>"
    agent = plugin.definitions.agents[0]
    assert expand_variables(agent, read_body(agent).text) == f"<{path}>"
    assert plugin.servers[0].config == {"command": "python3", "args": [f"{path}/srv.py"]}
    assert plugin.hooks[0].hooks["Stop"][0]["hooks"][0]["command"] == f"'{path}'/run.sh"
    assert plugin.hooks[0].file == f"{path}/hooks/hooks.json"


def test_agents_of_a_plugin_set_no_mode_hooks_or_servers(folders: UserFolders) -> None:
    plugin = the(read(write_plugin(folders)))
    assert plugin.definitions.agents[0].permission_mode == ""
    assert plugin.definitions.agents[0].withheld == ("permissionMode",)
    assert plugin.definitions.commands[0].allowed_tools == ("Read",)


def test_a_plugin_without_a_manifest_is_named_after_its_folder(folders: UserFolders) -> None:
    assert "bare:doit" in names(the(read(write_plugin(folders, "bare", manifest=False))))


def test_paths_of_the_manifest_replace_commands_and_agents_and_add_the_rest(folders: UserFolders) -> None:
    manifest = {
        "commands": ["./extra/one.md", "./more"],
        "agents": "./extra/agents",
        "skills": "./extra/skill",
        "hooks": {"PreToolUse": [{"hooks": []}]},
        "mcpServers": {"second": {"command": "x"}},
    }
    path = write_plugin(
        folders,
        manifest=manifest,
        **{
            "extra/one.md": "1",
            "more/two.md": "2",
            "extra/agents/a.md": "---\nname: a\ndescription: d\n---\n",
            "extra/skill/SKILL.md": "S",
        },
    )
    plugin = the(read(path))
    assert names(plugin) == {"plug:one", "plug:two", "plug:a", "plug:lore", "plug:skill", "plug:Loud"}
    assert [list(hooks.hooks) for hooks in plugin.hooks] == [["Stop"], ["PreToolUse"]]
    assert [server.name for server in plugin.servers] == ["plugin:plug:srv", "plugin:plug:second"]


def test_a_broken_plugin_is_named_and_the_others_are_used(folders: UserFolders) -> None:
    write_plugin(folders, "bad")
    folders.write("bad/.claude-plugin/plugin.json", "{not json")
    write_plugin(folders, "good", manifest={"commands": "./nowhere", "mcpServers": "./absent.json"})
    folders.write("good/hooks/hooks.json", "[1]")
    found = plugins(folders, "../bad", "../good", "../nosuch")
    assert [plugin.name for plugin in found.plugins] == ["good"]
    rows = encode_problems(found.problems)
    assert [(row["plugin"], row["type"]) for row in rows] == [
        ("bad", "generic-error"),
        ("good", "path-not-found"),
        ("good", "generic-error"),
        ("good", "path-not-found"),
        ("nosuch", "path-not-found"),
    ]
    assert all(row["message"] and row["path"] for row in rows)


@pytest.mark.parametrize("name", ["../up", "a b", "a:b", "a@b", "x\x1b[2J", "", 5, ["x"]])
def test_a_name_that_cannot_be_used_is_refused_or_replaced(folders: UserFolders, name: object) -> None:
    found = read(write_plugin(folders, manifest={"name": name}))
    assert found.plugin is None or found.plugin.name in ("plug", "5")
    assert found.plugin is not None or found.problems[0].kind == "generic-error"


def test_nothing_outside_of_a_plugin_is_read(folders: UserFolders) -> None:
    folders.write("secret/SKILL.md", "SECRET")
    folders.write("secret/c.md", "---\nname: s\ndescription: d\n---\nSECRET")
    folders.write("secret/hooks.json", {"hooks": {"Stop": []}})
    manifest = {"commands": "../secret", "agents": str(folders.folder / "secret"), "hooks": "./linked.json"}
    path = write_plugin(folders, manifest=manifest)
    (Path(path) / "skills/out").symlink_to(folders.folder / "secret")
    (Path(path) / "linked.json").symlink_to(folders.folder / "secret/hooks.json")
    (Path(path) / "output-styles/c.md").symlink_to(folders.folder / "secret/c.md")
    found = read(path)
    assert names(the(found)) == {"plug:lore", "plug:Loud"}
    assert len(the(found).hooks) == 1
    assert [problem.kind for problem in found.problems] == ["generic-error"] * 3
    assert sorted(os.path.basename(notice.file) for notice in found.notices) == ["c.md", "out"]


def test_of_two_plugins_with_one_name_the_first_is_used(folders: UserFolders) -> None:
    first = write_plugin(folders, "one/plug")
    second = write_plugin(folders, "two/plug")
    found = plugins(folders, "../one/plug", "../two/plug", "../one/plug")
    assert [plugin.path for plugin in found.plugins] == [first]
    assert [(problem.kind, problem.path) for problem in found.problems] == [("generic-error", second)]
    assert first in found.problems[0].message


# ---------------------------------------------------------------- marketplaces and settings


def write_market(folders: UserFolders) -> str:
    path = write_plugin(folders, "market/plugins/plug")
    folders.write("market/.claude-plugin/marketplace.json", MARKET)
    return path


def enable_in(folders: UserFolders, file: str, *, value: bool = True) -> None:
    folders.write(file, {"extraKnownMarketplaces": KNOWN, "enabledPlugins": {"plug@mymarket": value}})


def ids(found: FoundPlugins) -> list[str]:
    return [plugin.id for plugin in found.plugins]


def test_a_plugin_of_a_local_marketplace_is_used_if_the_users_settings_enable_it(folders: UserFolders) -> None:
    path = write_market(folders)
    enable_in(folders, "home/.claude/settings.json")
    found = plugins(folders)
    assert (ids(found), found.plugins[0].path) == (["plug@mymarket"], path)
    enable_in(folders, "home/.claude/settings.json", value=False)
    assert ids(plugins(folders)) == []


def test_a_projects_settings_enable_plugins_only_in_a_trusted_folder(folders: UserFolders) -> None:
    write_market(folders)
    enable_in(folders, "work/.claude/settings.json")
    assert ids(plugins(folders)) == []
    found = plugins(folders, trust=True)
    assert ids(found) == ["plug@mymarket"]
    assert found.unrecorded == {}


def test_a_project_cannot_redefine_a_marketplace_of_the_user(folders: UserFolders) -> None:
    path = write_market(folders)
    enable_in(folders, "home/.claude/settings.json")
    write_plugin(folders, "work/evil/plugins/plug")
    folders.write("work/evil/.claude-plugin/marketplace.json", MARKET)
    evil = {"mymarket": {"source": {"source": "directory", "path": "evil"}}}
    folders.write("work/.claude/settings.json", {"extraKnownMarketplaces": evil})
    assert [plugin.path for plugin in plugins(folders, trust=True).plugins] == [path]


def test_changed_content_is_not_used_until_it_is_enabled_again(folders: UserFolders) -> None:
    path = write_market(folders)
    enable_in(folders, "home/.claude/settings.json")
    found = plugins(folders)
    PluginStore(folders.paths.bobstay).approve(found.unrecorded)
    assert ids(plugins(folders)) == ["plug@mymarket"]
    folders.write("market/plugins/plug/srv.py", "print('new')")
    found = plugins(folders)
    assert ids(found) == []
    assert [notice.file for notice in found.notices] == [path]
    assert "srv.py (new)" in found.notices[0].text
    assert "bobstay plugin enable plug@mymarket" in found.notices[0].text
    enable("plug@mymarket", sources(folders))
    assert ids(plugins(folders)) == ["plug@mymarket"]


def test_a_folder_behind_a_new_link_is_a_change(folders: UserFolders) -> None:
    """H9-5: what is behind it may be run, and is not digested itself."""
    path = write_market(folders)
    enable_in(folders, "home/.claude/settings.json")
    PluginStore(folders.paths.bobstay).approve(plugins(folders).unrecorded)
    folders.write("elsewhere/run.sh", "true")
    (Path(path) / "tools").symlink_to(folders.folder / "elsewhere")
    found = plugins(folders)
    assert ids(found) == []
    assert "tools" in found.notices[0].text


def test_what_git_and_python_write_while_a_plugin_is_used_does_not_change_it(folders: UserFolders) -> None:
    path = Path(write_plugin(folders))
    add_folder(str(path), sources(folders))
    folders.write("plug/.git/FETCH_HEAD", "x")
    (path / "__pycache__").mkdir()
    (path / "__pycache__/srv.cpython-311.pyc").write_bytes(b"\xa7\r\r\n\0\0\0\0" + b"x" * 20)
    assert ids(plugins(folders)) == ["plug@local"]
    (path / "__pycache__/other.cpython-311.pyc").write_bytes(b"\xa7\r\r\n\1\0\0\0" + b"x" * 20)
    assert ids(plugins(folders)) == []


def test_a_plugin_that_another_program_installed_is_found_by_its_record(folders: UserFolders) -> None:
    path = write_plugin(folders, "home/.claude/plugins/cache/far/plug/1.0.0", manifest={"name": "plug"})
    row = {"scope": "user", "installPath": path, "version": "1.0.0"}
    folders.write("home/.claude/plugins/installed_plugins.json", {"version": 2, "plugins": {"plug@far": [row]}})
    folders.write("home/.claude/settings.json", {"enabledPlugins": {"plug@far": True}})
    assert ids(plugins(folders)) == ["plug@far"]


def test_a_plugin_that_cannot_be_found_is_a_problem_with_a_hint(folders: UserFolders) -> None:
    enabled = {"plug@nowhere": True, "absent@mymarket": True, "web@mymarket": True, "nonsense": True, "x@y": "yes"}
    write_market(folders)
    listed = [*MARKET["plugins"], {"name": "web", "source": {"source": "github", "repo": "a/b"}}]
    folders.write("market/.claude-plugin/marketplace.json", {**MARKET, "plugins": listed})
    folders.write("home/.claude/settings.json", {"extraKnownMarketplaces": KNOWN, "enabledPlugins": enabled})
    found = plugins(folders)
    assert found.plugins == ()
    messages = {problem.plugin: problem.message for problem in found.problems}
    assert sorted(messages) == ["absent@mymarket", "plug@nowhere", "web@mymarket"]
    assert "bobstay plugin add FOLDER" in messages["plug@nowhere"]
    assert "not on this machine" in messages["web@mymarket"]


def test_a_marketplace_cannot_offer_folders_outside_of_it(folders: UserFolders) -> None:
    write_plugin(folders, "elsewhere")
    entry = {"name": "plug", "source": "../elsewhere"}
    folders.write("market/.claude-plugin/marketplace.json", {**MARKET, "plugins": [entry]})
    enable_in(folders, "home/.claude/settings.json")
    found = plugins(folders)
    assert found.plugins == ()
    assert "outside" in found.problems[0].message


def test_broken_records_leave_only_the_plugins_of_the_command_line(folders: UserFolders) -> None:
    write_plugin(folders)
    write_market(folders)
    enable_in(folders, "home/.claude/settings.json")
    folders.write("home/.bobstay/plugins.json", "{")
    os.chmod(folders.home / ".bobstay/plugins.json", 0o600)
    found = plugins(folders, "../plug")
    assert ids(found) == ["plug@inline"]
    assert "broken" in found.notices[0].text
    os.chmod(folders.home / ".bobstay/plugins.json", 0o666)
    assert "somebody else" in plugins(folders).notices[0].text


# ---------------------------------------------------------------- changes


def test_a_folder_is_added_disabled_enabled_and_removed(folders: UserFolders) -> None:
    path = write_plugin(folders)
    added = add_folder(path, sources(folders))
    assert isinstance(added, EnabledPlugin)
    assert added.id == "plug@local"
    assert ids(plugins(folders)) == ["plug@local"]
    assert ids(plugins(folders, user=False)) == []
    assert disable("plug", sources(folders)) == "plug@local"
    assert ids(plugins(folders)) == []
    assert enable("plug", sources(folders)).plugin.path == path
    assert ids(plugins(folders)) == ["plug@local"]
    assert remove("plug", sources(folders)) == "plug@local"
    assert ids(plugins(folders)) == []
    with pytest.raises(PluginChangeError, match="no plugin 'plug'"):
        enable("plug", sources(folders))


async def test_a_session_has_the_plugins_that_anything_names(folders: UserFolders) -> None:
    async def found(*plugin_dirs: str) -> list[str]:
        session = await folders.open(plugin_dirs=plugin_dirs)
        await session.close()
        return [plugin.name for plugin in session.library.plugins]

    path = write_market(folders)
    for file in (".mcp.json", "hooks/hooks.json"):
        os.unlink(f"{path}/{file}")
    assert await found() == []
    assert await found(path) == ["plug"]
    add_folder(path, sources(folders))
    assert await found() == ["plug"]
    (folders.home / ".bobstay/plugins.json").unlink()
    enable_in(folders, "home/.claude/settings.json")
    assert await found() == ["plug"]


def test_disabling_holds_whatever_settings_say(folders: UserFolders) -> None:
    write_market(folders)
    enable_in(folders, "home/.claude/settings.json")
    disable("plug", sources(folders))
    assert ids(plugins(folders)) == []


def test_a_marketplace_is_added_and_its_plugins_are_enabled_by_name(folders: UserFolders) -> None:
    write_market(folders)
    marketplace = add_folder(str(folders.folder / "market"), sources(folders))
    assert not isinstance(marketplace, EnabledPlugin)
    assert list(marketplace.entries) == ["plug"]
    assert ids(plugins(folders)) == []
    enable("plug", sources(folders))
    assert ids(plugins(folders)) == ["plug@mymarket"]
    remove("mymarket", sources(folders))
    assert ids(plugins(folders)) == []


def test_a_name_that_is_taken_is_not_added_again(folders: UserFolders) -> None:
    add_folder(write_plugin(folders, "one/plug"), sources(folders))
    with pytest.raises(PluginChangeError, match="bobstay plugin remove plug@local"):
        add_folder(write_plugin(folders, "two/plug"), sources(folders))
    write_market(folders)
    enable_in(folders, "home/.claude/settings.json")
    with pytest.raises(PluginChangeError, match="several"):
        enable("plug", sources(folders))


def test_the_records_are_readable_by_the_user_only(folders: UserFolders) -> None:
    add_folder(write_plugin(folders), sources(folders))
    file = folders.home / ".bobstay/plugins.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text())["enabled"] == {"plug@local": True}


def test_settings_of_another_shape_are_ignored(folders: UserFolders) -> None:
    folders.write("home/.claude/settings.json", {"extraKnownMarketplaces": [1], "enabledPlugins": ["x"]})
    assert plugins(folders) == FoundPlugins()
