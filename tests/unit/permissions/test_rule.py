"""H5-2: the syntax and semantics of rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.permissions.access import Effect
from bobstay.permissions.rule import LONGEST, BadRule, Rule, check
from tests.unit.permissions.policy_kit import ALLOW, ASK, DENY, effect


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("(x)", "name of a tool"),
        ("Bash(", "closing bracket"),
        ("Bash(git log", "closing bracket"),
        ("Bash()", "nothing in its brackets"),
        ("Bash(git) x", "closing bracket"),
        ("Read(~other/x)", "~ must be followed by /"),
        ("Read(!x)", "negated"),
        ("Read([a)", "expected ]"),
        ("Read(../x)", r"\.\."),
        ("WebFetch(example.com)", r"domain:example\.com"),
        ("WebFetch(domain:)", "not a host"),
        ("WebFetch(domain:a b)", "not a host"),
        ("mcp__s__t(x)", "no brackets"),
        ("*", r"only after mcp__server__"),
        ("mcp__*", r"only after mcp__server__"),
        ("B*", r"only after mcp__server__"),
        ("Ba sh", "name of a tool"),
        ("mcp__git\u200bhub", "name of a tool"),
        ("Bash(" + "x" * 10_000 + ")", "longer than"),
    ],
)
def test_a_malformed_allow_rule_says_what_was_expected(text: str, expected: str) -> None:
    with pytest.raises(BadRule, match=expected):
        Rule.parse(text, ALLOW)


def test_a_rule_may_be_as_long_as_is_said() -> None:
    longest = "Bash(" + "x" * (LONGEST - 6) + ")"
    assert Rule.parse(longest, ALLOW).text == longest


def test_brackets_that_another_program_escaped_mean_themselves() -> None:
    assert effect("Bash", "npm run (a)", deny=(r"Bash(npm run \(a\))",)) is DENY
    assert effect("Bash", "npm run 'a)'", deny=(r"Bash(npm run 'a\)')",)) is DENY


@given(st.text(max_size=60), st.sampled_from(list(Effect)))
def test_any_text_is_a_rule_or_a_bad_rule(text: str, effect: Effect) -> None:
    try:
        rule = Rule.parse(text, effect)
    except BadRule:
        return
    assert Rule.parse(rule.text, effect).text == rule.text


def test_the_check_for_settings_knows_the_lists_by_name() -> None:
    check("mcp__*", "deny")
    with pytest.raises(BadRule):
        check("mcp__*", "allow")


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("git status", "git status", ALLOW),
        ("npm run build", "npm run build --watch", ASK),
        ("npm run test:*", "npm run test -- --watch=false", ALLOW),
        ("npm run test:*", "npm run test:unit", ASK),
        ("npm run test *", "npm run tester", ASK),
        ("make *", "make", ALLOW),
        ("make *", "makepkg -i", ASK),
        ("make*", "makepkg -i", ALLOW),
        ("git:* push", "git push", ASK),
        ("*", "cargo build", ALLOW),
        ("command:npm test", "npm test", ASK),
        ("npm run test:*", "npm   run  test", ALLOW),
        ("git commit *", "git commit -m 'a | b > c'", ALLOW),
        ("git commit *", 'git commit -m "it\'s; done && over"', ALLOW),
        ("node -e \\(1\\)", "node -e (1)", ASK),
    ],
)
def test_a_bash_rule_covers_the_text_of_one_command(pattern: str, command: str, expected: Effect) -> None:
    assert effect("Bash", command, allow=(f"Bash({pattern})",)) is expected


@pytest.mark.parametrize(
    ("rule", "path", "expected"),
    [
        ("Edit(/src/**)", "/srv/proj/src/deep/a.py", ALLOW),
        ("Edit(/src/**)", "/srv/proj/vendor/src/a.py", ASK),
        ("Edit(src/**)", "/srv/proj/vendor/src/a.py", ASK),
        ("Edit(**/src/**)", "/srv/proj/vendor/src/a.py", ALLOW),
        ("Edit(docs/*)", "/srv/proj/docs/a/b.md", ASK),
        ("Edit(docs)", "/srv/proj/docs/a/b.md", ALLOW),
        ("Edit(README.md)", "/srv/proj/docs/README.md", ALLOW),
        ("Edit(./README.md)", "/srv/proj/docs/README.md", ASK),
        ("Edit(//tmp/x.txt)", "/tmp/x.txt", ALLOW),
        ("Edit(//tmp/x)", "/tmp/x-evil/y", ASK),
        ("Edit(~/notes/**)", "/home/dev/notes/a", ALLOW),
        ("Edit(/notes \\[1\\].md)", "/srv/proj/notes [1].md", ALLOW),
        ("Edit", "/anywhere/x", ALLOW),
        ("Edit(*)", "/anywhere/x", ALLOW),
        ("Edit(**)", "/anywhere/x", ASK),
        ("Write(src/**)", "/srv/proj/src/x", ASK),
    ],
)
def test_path_rules_are_anchored(rule: str, path: str, expected: Effect) -> None:
    assert effect("Edit", path, allow=(rule,)) is expected


@pytest.mark.parametrize("tool", ["Edit", "Write", "NotebookEdit"])
def test_edit_rules_cover_all_tools_that_edit(tool: str) -> None:
    assert effect(tool, "/srv/proj/src/x", allow=("Edit(src/**)",)) is ALLOW
    assert effect(tool, "/srv/proj/src/x", allow=("Edit",), deny=("Edit(src/**)",)) is DENY


@pytest.mark.parametrize("tool", ["Read", "Glob", "Grep"])
def test_read_rules_cover_all_tools_that_read(tool: str) -> None:
    assert effect(tool, "/opt/x", allow=("Read(//opt/**)",)) is ALLOW
    assert effect(tool, "/srv/proj/.env", deny=("Read(.env)",)) is DENY


def test_a_rule_for_one_tool_of_a_family_covers_that_tool_only() -> None:
    assert effect("Write", "/srv/proj/src/x", allow=("Write(src/**)",)) is ALLOW
    assert effect("Edit", "/srv/proj/src/x", allow=("Write(src/**)",)) is ASK


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("Read(./secrets/**)", "secrets/key.pem"),
        ("Read(./secrets/**)", "/srv/proj/secrets//key.pem"),
        ("Read(./secrets/**)", "src/../secrets/key.pem"),
        ("Read(./secrets/**)", "/srv/proj/secrets"),
        ("Read(secrets/**)", "/srv/proj/a/b/secrets/x"),
        ("Read(.env)", "/srv/proj/a/b/.env"),
        ("Read(~/.ssh/**)", "/home/dev/.ssh/id_rsa"),
        ("Read(//etc)", "/etc/passwd"),
        ("Read(./s\u00e9crets/**)", "se\u0301crets/x"),
        ("Read(docs/*)", "/srv/proj/docs/a/b"),
        ("Re*", "/srv/proj/x"),
        ("*", "/srv/proj/x"),
    ],
)
def test_a_deny_rule_is_read_generously(rule: str, path: str) -> None:
    assert effect("Read", path, deny=(rule,)) is DENY


def test_a_bare_name_is_denied_in_every_working_directory() -> None:
    assert effect("Read", "/opt/lib/.env", deny=("Read(.env)",), directories=("/opt/lib",)) is DENY


def test_a_read_deny_blocks_editing_too() -> None:
    assert effect("Edit", "/srv/proj/secrets/x", allow=("Edit(**)",), deny=("Read(./secrets/**)",)) is DENY


@pytest.mark.parametrize(
    ("tool", "allow", "expected"),
    [
        ("mcp__github__get_issue", "mcp__github__get_issue", ALLOW),
        ("mcp__github__delete", "mcp__github", ALLOW),
        ("mcp__github__x", "mcp__github__*", ALLOW),
        ("mcp__github__get_issue", "mcp__github__get_*", ALLOW),
        ("mcp__github__set", "mcp__github__get_*", ASK),
        ("mcp__github2__x", "mcp__github", ASK),
        ("mcp__github_evil__x", "mcp__github", ASK),
        ("mcp__github__evil__x", "mcp__github", ALLOW),
        ("mcp__Github__x", "mcp__github", ASK),
        ("mcp__git\u200bhub__x", "mcp__github", ASK),
    ],
)
def test_mcp_rules_name_a_server_and_its_tools(tool: str, allow: str, expected: Effect) -> None:
    assert effect(tool, allow=(allow,)) is expected


@pytest.mark.parametrize("deny", ["mcp__*", "*", "mcp__a", "mcp__a__*", "*__x", "mcp__a__x"])
def test_an_mcp_deny_may_use_globs_anywhere(deny: str) -> None:
    assert effect("mcp__a__x", allow=("mcp__a",), deny=(deny,)) is DENY
