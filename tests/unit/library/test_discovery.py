"""Which definitions apply: sources, precedence, trust, links and bounds (H7-2, H9-3, H9-4)."""

import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from bobstay.config.trust_parts import executable_parts
from bobstay.config.trust_store import TrustStore
from bobstay.library.bundled_definitions import BUNDLED_AGENTS, BUNDLED_COMMANDS, BUNDLED_STYLES, DEFAULT_STYLE
from bobstay.library.definition import CommandDefinition
from bobstay.library.definition_body import BodyUnreadableError, read_body
from bobstay.library.definition_folder import LARGEST, MOST_FILES
from bobstay.library.discovery import LibrarySources, add_host_agents, find_library
from bobstay.library.library import Library
from bobstay.library.nested_skills import NestedSkills, matches_paths, skills_below
from tests.kit.user_folders import UserFolders


@pytest.fixture
def folders(tmp_path: Path) -> UserFolders:
    folders = UserFolders(tmp_path)
    subprocess.run(["git", "init", "-q", str(folders.work)], check=True)
    return folders


def sources(folders: UserFolders, **more: Any) -> LibrarySources:
    return LibrarySources(**{"cwd": str(folders.work), "paths": folders.paths, "trusted": True, **more})


def library(folders: UserFolders, **more: Any) -> Library:
    return find_library(sources(folders, **more))


def command(found: Library, name: str) -> CommandDefinition:
    each = found.find_command(name)
    assert each is not None
    return each


def body(found: Library, name: str) -> str:
    return read_body(command(found, name)).text


def own_names(found: Library) -> list[str]:
    return [each.name for each in found.commands if each.origin.source != "bundled"]


def test_a_command_is_named_after_its_path(folders: UserFolders) -> None:
    folders.write("work/.claude/commands/front/comp.md", "---\nname: ignored\nargument-hint: [a] [b]\n---\nBODY $0\n")
    found = command(library(folders), "front:comp")
    assert (found.name, found.kind, found.argument_hint) == ("front:comp", "command", "[a] [b]")
    assert (found.description, found.described) == ("BODY $0", False)
    assert read_body(found).text == "BODY $0\n"
    assert found.origin.file == str(folders.work / ".claude/commands/front/comp.md")


def test_a_skill_can_be_called_by_its_folder_and_by_its_name(folders: UserFolders) -> None:
    folders.write("work/.claude/skills/lore/SKILL.md", "---\nname: old-lore\ndescription: d\n---\nB")
    found = library(folders)
    assert own_names(found) == ["old-lore"]
    assert found.find_command("lore") == found.find_command("old-lore") == found.find_command("/lore")
    assert command(found, "lore").aliases == ("lore",)
    assert command(found, "lore").folder == str(folders.work / ".claude/skills/lore")


def test_only_one_level_of_skills_counts_and_only_that_file_name(folders: UserFolders) -> None:
    for path in ("loose.md", "SKILL.md", "a/skill.md", "a/b/SKILL.md", "c/README.md"):
        folders.write(f"work/.claude/skills/{path}", "x")
    assert own_names(library(folders)) == []


def test_for_commands_and_skills_the_user_comes_before_the_project_and_a_skill_before_a_command(
    folders: UserFolders,
) -> None:
    for name in ("a", "b"):
        folders.write(f"home/.claude/commands/{name}.md", "OF-USER")
        folders.write(f"work/.claude/commands/{name}.md", "OF-PROJECT")
    folders.write("work/.claude/skills/b/SKILL.md", "SKILL-OF-PROJECT")
    folders.write("home/.claude/skills/c/SKILL.md", "SKILL-OF-USER")
    folders.write("work/.claude/skills/c/SKILL.md", "SKILL-OF-PROJECT")
    found = library(folders)
    assert [body(found, name) for name in "abc"] == ["OF-USER", "SKILL-OF-PROJECT", "SKILL-OF-USER"]


def test_our_folders_come_before_those_of_others(folders: UserFolders) -> None:
    for level in ("home", "work"):
        for folder in (".bobstay", ".claude"):
            folders.write(f"{level}/{folder}/commands/{level}.md", f"{level} {folder}")
    found = library(folders)
    assert [body(found, name) for name in ("home", "work")] == ["home .bobstay", "work .bobstay"]


def test_what_the_machines_owner_provides_comes_first(folders: UserFolders) -> None:
    folders.write("skills/x/SKILL.md", "MANAGED")
    folders.write("agents/x.md", "---\nname: x\ndescription: MANAGED\n---\n")
    folders.write("home/.claude/skills/x/SKILL.md", "USER")
    found = library(folders, host_agents={"x": {"description": "HOST", "prompt": "p"}})
    assert body(found, "x") == "MANAGED"
    assert found.find_agent("x") is not None
    assert [agent.description for agent in found.agents if agent.name == "x"] == ["MANAGED"]


def test_agents_of_the_host_come_before_flag_project_user_and_built_in_ones(folders: UserFolders) -> None:
    text = "---\nname: {name}\ndescription: {where}\n---\nP"
    for name in ("a", "b", "c", "d", "explore"):
        folders.write(f"home/.claude/agents/{name}.md", text.format(name=name, where="user"))
    for name in ("a", "b", "c"):
        folders.write(f"work/.claude/agents/deep/{name}.md", text.format(name=name, where="project"))
    given = {"description": "flag", "prompt": "p"}
    found = library(
        folders, flag_agents={"a": given, "b": given}, host_agents={"a": {"description": "host", "prompt": "p"}}
    )
    listed = {agent.name: agent.description for agent in found.agents if agent.origin.source != "bundled"}
    assert listed == {"a": "host", "b": "flag", "c": "project", "d": "user", "explore": "user"}
    assert found.find_agent("General-Purpose") is not None


def test_agents_of_a_host_can_be_added_later(folders: UserFolders) -> None:
    given = {"x": {"description": "host", "prompt": "p"}}
    found = add_host_agents(library(folders, flag_agents={"x": {"description": "flag", "prompt": "p"}}), given)
    assert [agent.description for agent in found.agents if agent.name == "x"] == ["host"]
    assert add_host_agents(found, "nonsense").notices[-1].file == "initialize.agents"


def test_what_bobstay_brings_is_found_with_and_without_other_definitions(folders: UserFolders) -> None:
    alone = library(folders)
    assert library(folders, flag_agents={}) == alone
    folders.write("home/.claude/commands/mine.md", "MINE")
    folders.write("work/.claude/agents/a.md", "---\nname: a\ndescription: d\n---\nBODY")
    found = library(folders)
    assert [each for each in found.commands if each.name != "mine"] == list(alone.commands)
    assert [each for each in found.agents if each.name != "a"] == list(alone.agents)
    assert library(folders, commands=False).commands == ()


def test_what_bobstay_brings_has_a_text_each_and_no_text_is_left_over() -> None:
    brought = (*BUNDLED_COMMANDS, *BUNDLED_AGENTS, *BUNDLED_STYLES)
    for each in brought:
        body = read_body(each)
        assert not body.changed
        assert bool(body.text.strip()) is (each != DEFAULT_STYLE)
        assert not body.text.startswith("---")
    files = {each.origin.file for each in brought if each.origin.file}
    (folder,) = {os.path.dirname(os.path.dirname(file)) for file in files}
    assert files == {str(path) for path in Path(folder).rglob("*.md")}


def test_the_bundled_commands_are_for_people_and_can_be_replaced(folders: UserFolders) -> None:
    found = library(folders)
    assert [each.name for each in found.commands] == ["commit", "init", "review", "security-review"]
    assert not any(each.model_invocable for each in found.commands)
    assert command(found, "review").fork
    folders.write("work/.claude/commands/init.md", "OURS")
    assert body(library(folders), "init") == "OURS"


def test_the_built_in_agents_are_there_and_two_of_them_only_read(folders: UserFolders) -> None:
    found = library(folders)
    assert [agent.name for agent in found.agents] == ["Explore", "Plan", "general-purpose"]
    assert found.find_agent("general-purpose").tools is None  # type: ignore[union-attr] # it is listed above
    for name in ("explore", "PLAN"):
        agent = found.find_agent(name)
        assert agent is not None
        assert agent.tools is not None
        assert not {"Write", "Edit", "NotebookEdit", "Agent"} & set(agent.tools)
        assert "only read" in read_body(agent).text


def test_folders_above_are_searched_up_to_the_top_of_the_repository(folders: UserFolders) -> None:
    folders.write("work/.claude/commands/up.md", "UP")
    folders.write("work/sub/.claude/commands/both.md", "NEAR")
    folders.write("work/.claude/commands/both.md", "FAR")
    folders.write(".claude/commands/outside.md", "OUTSIDE")
    inner = folders.work / "sub/inner"
    inner.mkdir(parents=True)
    found = library(folders, cwd=str(inner))
    assert own_names(found) == ["both", "up"]
    assert body(found, "both") == "NEAR"


def test_without_a_repository_all_folders_above_are_searched(tmp_path: Path) -> None:
    folders = UserFolders(tmp_path)
    folders.write(".claude/commands/outside.md", "OUTSIDE")
    assert own_names(library(folders)) == ["outside"]


def test_in_the_home_directory_the_projects_folder_is_the_users(tmp_path: Path) -> None:
    folders = UserFolders(tmp_path)
    folders.write("home/.claude/commands/mine.md", "M")
    inside = folders.home / "notes"
    inside.mkdir()
    assert command(library(folders, cwd=str(inside)), "mine").origin.source == "user"
    assert own_names(library(folders, cwd=str(inside), setting_sources=("project",))) == []


def test_added_directories_bring_their_definitions(folders: UserFolders) -> None:
    folders.write("more/.claude/skills/ads/SKILL.md", "B")
    folders.write("more/.claude/agents/ada.md", "---\nname: ada\ndescription: d\n---\n")
    found = library(folders, add_dirs=("../more", "../none"))
    assert command(found, "ads").origin.source == "added"
    assert found.find_agent("ada") is not None


def test_setting_sources_limit_everything_that_lies_in_folders(folders: UserFolders) -> None:
    folders.write("home/.claude/commands/user.md", "U")
    folders.write("work/.claude/commands/project.md", "P")
    given = {"x": {"description": "d", "prompt": "p"}}
    names = {
        wanted: own_names(library(folders, setting_sources=wanted))
        for wanted in (None, ("user",), ("project",), ("local",), ())
    }
    assert names == {
        None: ["project", "user"],
        ("user",): ["user"],
        ("project",): ["project"],
        ("local",): [],
        (): [],
    }
    assert library(folders, setting_sources=(), flag_agents=given).find_agent("x") is not None


def test_a_session_without_commands_still_has_agents(folders: UserFolders) -> None:
    folders.write("work/.claude/skills/s/SKILL.md", "B")
    found = library(folders, commands=False)
    assert found.commands == ()
    assert found.find_agent("Plan") is not None


def test_fields_are_read_in_the_ways_people_write_them(folders: UserFolders) -> None:
    folders.write(
        "work/.claude/skills/s/SKILL.md",
        "---\ndescription: D\nwhen_to_use: W\nallowed-tools: Bash(git log:*), Read Edit\ndisallowed-tools:\n  - Write\n"
        "arguments: [who, what]\ndisable-model-invocation: true\nuser-invocable: no\ncontext: fork\nagent: Explore\n"
        "paths: src/**/*.{ts,tsx}, *.md\nmodel: inherit\neffort: high\nlicense: MIT\nhooks:\n  Stop: []\n---\nB",
    )
    found = command(library(folders), "s")
    assert found.allowed_tools == ("Bash(git log:*)", "Read", "Edit")
    assert (found.disallowed_tools, found.arguments) == (("Write",), ("who", "what"))
    assert (found.model_invocable, found.user_invocable, found.fork, found.agent) == (False, False, True, "Explore")
    assert (found.paths, found.model, found.effort) == (("src/**/*.{ts,tsx}", "*.md"), "", "high")
    assert found.hooks == {"Stop": []}
    assert found.has_powers


def test_tools_of_an_agent_are_all_if_absent_and_none_if_empty(folders: UserFolders) -> None:
    for name, line in {
        "all": "",
        "star": "tools: '*'",
        "none": "tools:",
        "empty": "tools: []",
        "some": "tools: [Read, X]",
    }.items():
        folders.write(f"work/.claude/agents/{name}.md", f"---\nname: {name}\ndescription: d\n{line}\n---\nB")
    tools = {agent.name: agent.tools for agent in library(folders).agents if agent.origin.source == "project"}
    assert tools == {"all": None, "star": None, "none": (), "empty": (), "some": ("Read", "X")}


def test_agents_from_json_have_the_same_fields(folders: UserFolders) -> None:
    given = {
        "x": {"description": "d", "prompt": "P", "tools": ["Read"], "maxTurns": 3, "mcpServers": ["a", {"b": {}}]},
        "no-description": {"prompt": "p"},
        "not-an-object": 5,
    }
    found = library(folders, flag_agents=given)
    agent = found.find_agent("x")
    assert agent is not None
    assert (agent.tools, agent.max_turns, agent.mcp_servers) == (("Read",), 3, ("a", {"b": {}}))
    assert read_body(agent).text == "P"
    assert [notice.file for notice in found.notices] == ["--agents", "--agents"]


def test_a_broken_definition_is_named_and_the_others_are_used(folders: UserFolders) -> None:
    folders.write("work/.claude/agents/README.md", "# These are our agents")
    folders.write("work/.claude/agents/nameless.md", "---\ndescription: d\n---\nB")
    folders.write("work/.claude/agents/bad name.md", "---\nname: a b\ndescription: d\n---\nB")
    folders.write("work/.claude/commands/odd name.md", "B")
    folders.write("work/.claude/commands/good.md", "---\ndescription: [unclosed\nnonsense\n---\nB")
    os.mkfifo(folders.work / ".claude/commands/pipe.md")
    (folders.work / ".claude/commands/big.md").write_bytes(b"x" * (LARGEST + 1))
    found = library(folders)
    assert own_names(found) == ["good"]
    assert command(found, "good").description == "[unclosed"
    named = {(os.path.basename(notice.file), notice.line) for notice in found.notices}
    assert named == {
        *{("nameless.md", 0), ("bad name.md", 0), ("odd name.md", 0), ("pipe.md", 0), ("big.md", 0)},
        ("good.md", 3),
    }


def test_a_folder_that_is_not_trusted_gives_text_and_grants_nothing(folders: UserFolders) -> None:
    front = "allowed-tools: Bash\ndisallowed-tools: Write\nmodel: opus\nhooks: {Stop: []}"
    folders.write("work/.claude/commands/c.md", f"---\ndescription: d\n{front}\n---\nTEXT")
    folders.write(
        "work/.claude/agents/a.md",
        "---\nname: a\ndescription: d\npermissionMode: plan\nmcpServers: [x]\nhooks: {Stop: [{}]}\n---\nTEXT",
    )
    found = library(folders, trusted=False)
    each, agent = command(found, "c"), found.find_agent("a")
    assert not each.origin.trusted
    assert (each.allowed_tools, each.disallowed_tools, each.model, each.hooks) == ((), ("Write",), "", {})
    assert each.withheld == ("allowed-tools", "hooks", "model")
    assert read_body(each).text == "TEXT"
    assert agent is not None
    assert (agent.permission_mode, agent.mcp_servers, agent.hooks) == ("", (), {})


def test_what_holds_anyway_is_no_grant_that_is_ignored(folders: UserFolders) -> None:
    folders.write("work/.claude/agents/a.md", "---\nname: a\ndescription: d\nmodel: inherit\neffort: inherit\n---\nT")
    found = library(folders, trusted=False)
    agent = found.find_agent("a")
    assert agent is not None
    assert (agent.model, agent.effort, agent.withheld) == ("", "", ())
    assert library(folders).notices == ()


@pytest.mark.parametrize(
    ("field", "named"),
    [
        ("maxTurns: many", "maxTurns 'many' is ignored; expected a whole number"),
        ("maxTurns: 0", "maxTurns '0' is ignored"),
        ("memory: proj", "memory 'proj' is ignored; expected one of user, project, local"),
        ("isolation: tree", "isolation 'tree' is ignored; expected worktree"),
        ("permissionMode: acceptEdit", "permissionMode 'acceptEdit' is ignored"),
        ("effort: hi", "effort 'hi' is ignored"),
    ],
)
def test_a_field_of_an_agent_with_a_value_that_cannot_be_is_named(folders: UserFolders, field: str, named: str) -> None:
    folders.write("work/.claude/agents/a.md", f"---\nname: a\ndescription: d\n{field}\n---\nT")
    found = library(folders)
    assert found.find_agent("a") is not None
    (notice,) = found.notices
    assert named in str(notice)


def test_trust_in_a_directory_gives_no_grants_to_the_folders_above_it(folders: UserFolders) -> None:
    folders.write("work/.claude/commands/up.md", "---\nallowed-tools: Bash\n---\nB")
    inner = folders.work / "inner"
    inner.mkdir()
    found = command(library(folders, cwd=str(inner)), "up")
    assert found.origin.trusted
    assert found.withheld == ("allowed-tools",)
    assert command(library(folders, cwd=str(inner), trusted_for_run=True), "up").allowed_tools == ("Bash",)
    TrustStore(folders.paths.bobstay).put(str(folders.work), executable_parts(str(folders.work)))
    assert command(library(folders, cwd=str(inner)), "up").allowed_tools == ("Bash",)


def test_links_of_a_project_must_stay_in_it_while_the_user_may_link_anywhere(folders: UserFolders) -> None:
    folders.write("elsewhere/SKILL.md", "SECRET")
    folders.write("elsewhere/c.md", "SECRET")
    folders.write("work/shared/s/SKILL.md", "SHARED")
    for level in ("work", "home"):
        (folders.folder / level / ".claude/skills").mkdir(parents=True)
        (folders.folder / level / ".claude/commands").mkdir(parents=True)
        (folders.folder / level / ".claude/skills/out").symlink_to(folders.folder / "elsewhere")
        (folders.folder / level / ".claude/commands/c.md").symlink_to(folders.folder / "elsewhere/c.md")
    (folders.work / ".claude/skills/in").symlink_to(folders.work / "shared/s")
    (folders.work / ".claude/agents").symlink_to(folders.folder / "elsewhere")
    (folders.work / ".claude/commands/loop.md").symlink_to("loop.md")
    found = library(folders, setting_sources=("project",))
    assert own_names(found) == ["in"]
    assert body(found, "in") == "SHARED"
    linked = sorted(os.path.basename(notice.file) for notice in found.notices if "links out" in notice.text)
    assert linked == ["agents", "c.md", "out"]
    assert own_names(library(folders, setting_sources=("user",))) == ["c", "out"]


def test_the_number_of_files_is_bounded(folders: UserFolders) -> None:
    for number in range(MOST_FILES + 5):
        folders.write(f"work/.claude/commands/c{number}.md", "B")
    folders.write("work/.claude/commands/" + "d/" * 20 + "deep.md", "B")
    found = library(folders)
    assert len(own_names(found)) == MOST_FILES
    assert any(str(MOST_FILES) in notice.text for notice in found.notices)


def test_a_body_that_changed_since_the_start_is_marked(folders: UserFolders) -> None:
    file = folders.write("work/.claude/commands/c.md", "OLD")
    found = command(library(folders), "c")
    assert not read_body(found).changed
    file.write_text("NEWER")
    assert (read_body(found).text, read_body(found).changed) == ("NEWER", True)
    file.unlink()
    with pytest.raises(BodyUnreadableError, match=r"c\.md"):
        read_body(found)


def test_skills_of_a_subfolder_are_found_when_a_file_below_it_is_read(folders: UserFolders) -> None:
    folders.write("work/.claude/skills/deploy/SKILL.md", "TOP")
    folders.write("work/apps/web/.claude/skills/deploy/SKILL.md", "WEB")
    folders.write("work/apps/web/.claude/skills/style/SKILL.md", "---\nallowed-tools: Bash\n---\nSTYLE")
    nested, path = NestedSkills(sources(folders)), str(folders.work / "apps/web/src/main.ts")
    found = library(folders).add_skills(nested.enter(path))
    assert own_names(found) == ["apps/web:deploy", "deploy", "style"]
    assert (body(found, "deploy"), body(found, "apps/web:deploy")) == ("TOP", "WEB")
    assert command(found, "style").scope == "apps/web"
    assert command(found, "style").allowed_tools == ()
    assert nested.enter(path) == []
    assert nested.enter(str(folders.home / "x")) == []
    assert [skill.name for skill in skills_below(path, sources(folders), [])] == ["deploy", "style"]


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("src/**/*.ts", "src/a/b.ts", True),
        ("src/**/*.ts", "src/b.ts", True),
        ("src/**/*.ts", "lib/b.ts", False),
        ("*.{ts,tsx}", "deep/in/x.tsx", True),
        ("*.{ts,tsx}", "x.js", False),
        ("docs", "docs/a.md", True),
        ("./docs/", "docs/a.md", True),
        ("[", "[", False),
        ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "x", False),
    ],
)
def test_paths_are_matched_as_globs(folders: UserFolders, pattern: str, path: str, *, matches: bool) -> None:
    folders.write("work/.claude/skills/s/SKILL.md", f"---\npaths: ['{pattern}']\n---\nB")
    found = command(library(folders), "s")
    assert matches_paths(found, str(folders.work / path), str(folders.work)) is matches


def test_a_folder_that_is_not_trusted_replaces_nothing(folders: UserFolders) -> None:
    for level in ("home", "work"):
        folders.write(f"{level}/.claude/agents/a.md", f"---\nname: a\ndescription: {level}\n---\nBODY")
    folders.write("work/.claude/agents/plan.md", "---\nname: plan\ndescription: work\n---\nBODY")
    folders.write("work/.claude/commands/init.md", "BODY")
    folders.write("home/.claude/commands/mine.md", "MINE")
    folders.write("work/.claude/skills/mine/SKILL.md", "OTHER")
    chosen = {}
    for trusted in (True, False):
        found = library(folders, trusted=trusted)
        definitions = (
            found.find_agent("a"),
            found.find_agent("plan"),
            found.find_command("init"),
        )
        chosen[trusted] = [each.origin.source for each in definitions if each is not None]
    assert chosen == {True: ["project"] * 3, False: ["user", "bundled", "bundled"]}
    assert body(library(folders, trusted=True), "mine") == "OTHER"
    assert body(library(folders, trusted=False), "mine") == "MINE"


def test_twenty_skills_ten_commands_and_five_agents_are_read_in_a_thread_in_a_moment(folders: UserFolders) -> None:
    text = "x" * 5_000
    for number in range(20):
        folders.write(f"work/.claude/skills/s{number}/SKILL.md", f"---\ndescription: D {number}\n---\n{text}")
    for number in range(10):
        folders.write(f"home/.claude/commands/c{number}.md", f"---\ndescription: D\n---\n{text}")
    for number in range(5):
        folders.write(f"work/.claude/agents/a{number}.md", f"---\nname: a{number}\ndescription: D\n---\n{text}")
    used: list[float] = []

    def measure() -> None:
        began = time.thread_time()
        found = library(folders)
        used.append(time.thread_time() - began)
        assert len(own_names(found)) == 30

    for _ in range(5):
        thread = threading.Thread(target=measure)
        thread.start()
        thread.join()
    assert len(used) == 5
    assert min(used) < 0.1, f"{min(used) * 1000:.1f} ms"
