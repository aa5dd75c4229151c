"""Whatever is in the files, reading them ends with definitions and notices, never with an exception (H9-3 to H9-5)."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bobstay.config.settings_files import load
from bobstay.library.command_text import expand_command, expand_variables
from bobstay.library.definition import LibraryNotice
from bobstay.library.definition_body import read_body
from bobstay.library.discovery import LibrarySources, find_library
from bobstay.library.listing import command_rows, describe_withheld, list_agents, list_for_model
from bobstay.library.nested_skills import matches_paths
from bobstay.library.output_styles import find_styles
from bobstay.library.plugin import encode_problems
from bobstay.library.plugin_selection import PluginSources, find_plugins
from bobstay.library.shell_substitution import UnsafeInsertError
from tests.kit.user_folders import UserFolders

FIELDS = (
    *("name", "description", "when_to_use", "argument-hint", "arguments", "allowed-tools", "disallowed-tools", "model"),
    *("effort", "disable-model-invocation", "user-invocable", "context", "agent", "paths", "hooks", "shell", "tools"),
    *("disallowedTools", "permissionMode", "skills", "maxTurns", "mcpServers", "isolation", "memory", "background"),
    *("initialPrompt", "color", "prompt", "keep-coding-instructions", "commands", "agents", "outputStyles", "version"),
    *("plugins", "owner", "metadata", "source"),
)
TEXTS = ("./", "..", "./commands", "/etc", "Bash(a b", "*", "[", "${CLAUDE_PLUGIN_ROOT}", "a@b", "\0", "\ud800")
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=20),
        st.sampled_from(TEXTS),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=8)
INSERTS = ("!`echo $0` $1 @x ${CLAUDE_SKILL_DIR}", "```!\n$ARGUMENTS\n```", "---\n")
BODIES = st.text(max_size=60) | st.sampled_from(INSERTS)


def dump(value: Any) -> bytes:
    return json.dumps(value).encode()


def markdown(fields: dict[str, Any], body: str, *, as_json: bool) -> bytes:
    lines = [f"{key}: {json.dumps(value, ensure_ascii=as_json)}" for key, value in fields.items()]
    return "\n".join(["---", *lines, "---", body]).encode(errors="surrogatepass")


@given(fields=OBJECTS, other=OBJECTS, body=BODIES, as_json=st.booleans(), junk=st.binary(max_size=60))
@settings(max_examples=100, deadline=None)
def test_nothing_in_a_file_makes_reading_fail(
    fields: dict[str, Any], other: dict[str, Any], body: str, junk: bytes, *, as_json: bool
) -> None:
    with TemporaryDirectory() as folder:
        folders = UserFolders(Path(folder).resolve())
        text = markdown({**fields, "description": "d"}, body, as_json=as_json)
        listed = [{"name": "p", **fields}]
        contents = {
            "work/.claude/skills/s/SKILL.md": text,
            "work/.claude/commands/c.md": markdown(other, body, as_json=as_json),
            "work/.claude/commands/junk.md": b"---\n" + junk,
            "work/.claude/agents/a.md": text,
            "work/.claude/output-styles/o.md": text,
            "plug/.claude-plugin/plugin.json": dump(fields),
            "plug/hooks/hooks.json": dump({"hooks": other}),
            "plug/.mcp.json": dump({"mcpServers": other}),
            "plug/skills/s/SKILL.md": text,
            "junk/.claude-plugin/plugin.json": junk,
            "market/.claude-plugin/marketplace.json": dump({**other, "name": "m", "plugins": listed}),
            "home/.claude/plugins/installed_plugins.json": dump({"plugins": fields}),
            "home/.claude/plugins/known_marketplaces.json": dump({"m": {"source": fields}, "k": other}),
        }
        for path, content in contents.items():
            (folders.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folders.folder / path).write_bytes(content)
        known = {"m": {"source": {"source": "directory", "path": "../market"}}}
        folders.write("home/.claude/settings.json", {"extraKnownMarketplaces": known, "enabledPlugins": {"p@m": True}})
        read_everything(folders, fields)


def read_everything(folders: UserFolders, fields: dict[str, Any]) -> None:
    cwd, paths = str(folders.work), folders.paths
    directories = ("../plug", "../junk")
    found = find_plugins(
        PluginSources(cwd=cwd, paths=paths, loaded=load(cwd, paths, trust=True), plugin_dirs=directories)
    )
    encode_problems(found.problems)
    sources = LibrarySources(cwd=cwd, paths=paths, trusted=True, flag_agents={"x": fields}, host_agents=fields)
    library = find_library(sources, tuple(plugin.definitions for plugin in found.plugins))
    assert library.find_command("s") is not None
    for command in library.commands:
        matches_paths(command, f"{cwd}/x/y.ts", cwd)
        try:
            expand_command(command, read_body(command).text, "a 'b; c'", {"CLAUDE_PROJECT_DIR": cwd})
        except UnsafeInsertError as error:
            assert str(error)  # noqa: PT017 - refusing is fine
    for agent in library.agents:
        expand_variables(agent, read_body(agent).text).encode()
    notices: list[LibraryNotice] = []
    for style in find_styles(sources, [plugin.definitions for plugin in found.plugins], notices):
        expand_variables(style, read_body(style).text)
        assert style.name.isprintable()
    text = list_for_model(library.commands) + list_agents(library.agents) + describe_withheld(library)
    assert (text + json.dumps(command_rows(library))).encode()
    assert all(str(notice).isprintable() for notice in (*library.notices, *found.notices, *notices))
