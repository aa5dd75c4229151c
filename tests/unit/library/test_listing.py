"""What models and hosts are told of commands, skills and agents (H7-2, H9-4)."""

from typing import Any

from bobstay.library.definition import (
    AgentDefinition,
    CommandDefinition,
    DefinitionOrigin,
    DefinitionSource,
)
from bobstay.library.library import Library
from bobstay.library.listing import (
    LONGEST_LINE,
    LONGEST_LIST,
    agent_rows,
    command_rows,
    describe_agent,
    describe_command,
    describe_withheld,
    list_agents,
    list_for_model,
    skill_names,
    slash_names,
)


def skill(name: str, source: DefinitionSource = "project", **more: Any) -> CommandDefinition:
    given = {"kind": "skill", "description": f"Does {name}", "described": True, **more}
    origin = DefinitionOrigin(source, f"/{name}/SKILL.md", "plug" if source == "plugin" else "")
    return CommandDefinition(name=name, origin=origin, **given)


def agent(**more: Any) -> AgentDefinition:
    given = {"name": "rev", "description": "Reviews\ncode", **more}
    return AgentDefinition(origin=DefinitionOrigin("project", "/rev.md"), **given)


def test_a_skill_is_told_in_a_line() -> None:
    assert describe_command(skill("greet", when_to_use="when one arrives")) == "- greet: Does greet - when one arrives"
    assert describe_command(skill("x", description="")) == "- x"
    assert describe_command(skill("x", scope="apps/web")) == "- x: Does x (for files below apps/web/)"
    named = skill("apps/web:x", scope="apps/web", description="D")
    assert describe_command(named) == "- apps/web:x: D (for files below apps/web/, instead of x)"
    assert describe_command(skill("shown", aliases=("folder",))) == "- folder (shown): Does shown"


def test_a_long_description_is_cut() -> None:
    line = describe_command(skill("x", description="long " * 1_000))
    assert len(line) <= LONGEST_LINE
    assert line.endswith("…")


def test_an_agent_is_told_with_its_tools() -> None:
    assert describe_agent(agent(tools=("Read", "Bash"))) == "- rev: Reviews code (Tools: Read, Bash)"
    assert describe_agent(agent()) == "- rev: Reviews code (Tools: All tools)"
    assert describe_agent(agent(tools=())) == "- rev: Reviews code (Tools: None)"
    assert describe_agent(agent(disallowed_tools=("Bash",))).endswith("(Tools: All tools except Bash)")
    assert list_agents([agent(), agent(name="b")]).count("\n") == 1


def test_the_model_is_told_only_what_it_may_call() -> None:
    found = [
        skill("a"),
        skill("b", model_invocable=False),
        skill("c", user_invocable=False),
        skill("d", aliases=("e",)),
    ]
    assert list_for_model(found) == "- a: Does a\n- c: Does c\n- e (d): Does d"
    assert list_for_model(found, only=["d", "b"]) == "- e (d): Does d"


def test_a_flood_of_skills_is_told_by_name() -> None:
    text = list_for_model([skill(f"s{number}", description="x" * 1_400) for number in range(2_000)])
    assert len(text) < LONGEST_LIST + 20_000
    assert "- s999" in text


def test_hosts_get_the_names_that_people_may_call() -> None:
    library = Library(
        (
            skill("a", "user", argument_hint="[x]"),
            skill("b", user_invocable=False),
            skill("shown", aliases=("folder",)),
            skill("plain", described=False),
            skill("plug:cmd", "plugin", kind="command"),
            skill("init", "bundled", kind="command"),
        ),
        (agent(model="haiku"),),
    )
    assert slash_names(library) == ["a", "folder", "plain", "plug:cmd", "init"]
    assert skill_names(library) == ["a", "folder"]
    rows = {row["name"]: row for row in command_rows(library)}
    assert rows["a"] == {"name": "a", "description": "Does a (user)", "argumentHint": "[x]"}
    assert rows["plug:cmd"]["description"] == "(plug) Does plug:cmd"
    assert rows["shown"]["aliases"] == ["folder"]
    assert rows["init"]["builtin"] is True
    assert agent_rows(library) == [{"name": "rev", "description": "Reviews\ncode", "model": "haiku"}]


def test_a_skill_with_paths_is_listed_once_a_matching_file_was_read() -> None:
    library = Library((skill("a"), skill("b", paths=("*.ts",))))
    assert list_for_model(library.commands) == "- a: Does a"
    assert (slash_names(library), skill_names(library)) == (["a"], ["a"])
    assert list_for_model(library.commands, active={"b"}) == "- a: Does a\n- b: Does b"
    assert (slash_names(library, {"b"}), skill_names(library, {"b"})) == (["a", "b"], ["a", "b"])
    assert [row["name"] for row in command_rows(library, {"b"})] == ["a", "b"]


def test_fields_that_are_ignored_are_named_once() -> None:
    assert describe_withheld(Library((skill("a"),))) == ""
    text = describe_withheld(Library((skill("a", withheld=("hooks",)),), (agent(withheld=("permissionMode",)),)))
    assert "/a/SKILL.md (hooks), /rev.md (permissionMode)" in text
    assert "bobstay trust add" in text
