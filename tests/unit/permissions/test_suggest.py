"""H5-6: suggestions for "always allow"."""

from typing import Any

import pytest

from bobstay.model.event import PermissionsChanged
from bobstay.permissions.access import Access
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import Rule
from bobstay.permissions.suggest import broad_rule_warning, escape_pattern
from tests.unit.permissions.policy_kit import ALLOW, ASK, ROOT, access_of, decide, policy

ACCEPT = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


def suggested(given: Policy, tool: str, target: str = "") -> tuple[dict[str, Any], ...]:
    accesses = () if tool.startswith("mcp__") else (access_of(tool, target),)
    return given.suggest(tool, accesses, {"x": target})


def rule(tool: str, content: str = "", to: str = "localSettings") -> dict[str, Any]:
    named = {"toolName": tool, "ruleContent": content} if content else {"toolName": tool}
    return {"type": "addRules", "rules": [named], "behavior": "allow", "destination": to}


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("git commit -m 'x y'", "git commit:*"),
        ("npm run test -- --watch", "npm run test:*"),
        ("npm install left-pad", "npm install:*"),
        ("npm run test:unit", "npm run test:unit"),
        ("python -m pytest -x", "python -m pytest:*"),
        ("timeout 5 cargo build", "cargo build:*"),
        ("CI=1 npm test", "npm test:*"),
        ("pytest -q", "pytest:*"),
        ("python x.py", "python x.py"),
        ("./build.sh --fast", "./build.sh --fast"),
        ("git -C x push", "git -C x push"),
        ("git --no-pager push", "git --no-pager push"),
        ("git commit -m x && git push", "git commit -m x && git push"),
        ("find . -exec sh x", "find . -exec sh x"),
        ("find . -name '*.pyc' -delete", "find . -name '*.pyc' -delete"),
        ("FOO=1 npm test", "FOO=1 npm test"),
    ],
)
def test_the_rule_is_a_prefix_by_arity_or_the_exact_text(command: str, content: str) -> None:
    assert suggested(policy(), "Bash", command) == (rule("Bash", content),)


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'x y'",
        "npm run test -- -x",
        "./build.sh",
        "python x.py",
        "tee a",
        "timeout --signal=KILL 5 find . -name '*.pyc' -delete",
    ],
)
def test_what_is_suggested_lets_the_same_call_through(command: str) -> None:
    given = policy()
    assert decide(given, "Bash", command).effect is ASK
    given.apply(PermissionsChanged(suggested(given, "Bash", command)))
    assert decide(given, "Bash", command).effect is ALLOW


def test_a_simple_file_command_offers_its_text_and_the_mode() -> None:
    assert suggested(policy(), "Bash", "touch made.txt") == (rule("Bash", "touch made.txt"), ACCEPT)
    outside = {"type": "addDirectories", "directories": ["/opt"], "destination": "session"}
    assert suggested(policy(), "Bash", "touch /opt/x") == (rule("Bash", "touch /opt/x"), outside, ACCEPT)


def test_a_mode_is_offered_only_where_it_would_help() -> None:
    for command in ("cp -r a b", "rm -r a", "touch a && ./program"):
        assert ACCEPT not in suggested(policy(), "Bash", command), command
    assert ACCEPT in suggested(policy(), "Bash", "touch a && mkdir b && echo x > c")
    assert ACCEPT not in suggested(policy(mode="acceptEdits"), "Edit", "/elsewhere/file")
    for command in ("touch a", "touch /elsewhere/a"):
        given = policy()
        offered = (one for one in suggested(given, "Bash", command) if one["type"] != "addRules")
        given.apply(PermissionsChanged(tuple(offered)))
        assert decide(given, "Bash", command).effect is ALLOW


def test_an_edit_offers_the_mode_and_outside_also_the_directory() -> None:
    assert suggested(policy(), "Write", f"{ROOT}/x") == (ACCEPT,)
    directory = {"type": "addDirectories", "directories": ["/opt/a"], "destination": "session"}
    assert suggested(policy(), "Write", "/opt/a/x") == (directory, ACCEPT)


def test_reading_outside_offers_its_directory() -> None:
    given = policy()
    first, second = suggested(given, "Read", "/opt/a [1]/x")
    assert first == rule("Read", "//opt/a \\[1\\]/**", "session")
    assert second == {"type": "addDirectories", "directories": ["/opt/a [1]"], "destination": "session"}
    given.apply(PermissionsChanged((first,)))
    assert decide(given, "Read", "/opt/a [1]/y").effect is ALLOW
    assert decide(given, "Read", "/opt/a 1/y").effect is ASK


def test_a_fetch_offers_its_host_and_an_mcp_tool_its_name() -> None:
    assert suggested(policy(), "WebFetch", "https://Docs.Example.com/x") == (
        rule("WebFetch", "domain:docs.example.com"),
    )
    assert suggested(policy(), "mcp__calc__pic") == (rule("mcp__calc__pic"),)


def test_nothing_is_offered_that_would_not_help() -> None:
    assert suggested(policy(ask=("Bash(git push:*)",)), "Bash", "git push x") == ()
    assert suggested(policy(), "Write", f"{ROOT}/.git/config") == ()
    assert suggested(policy("plan"), "Write", f"{ROOT}/x") == ()
    assert suggested(policy(), "Bash", "rm -rf /") == ()
    assert suggested(policy(), "Read", f"{ROOT}/x") == ()
    assert suggested(policy(), "WebFetch", "https://a@b/") == ()
    assert suggested(policy(), "Bash", "ls *.zip && x") == ()
    assert suggested(policy(), "Bash", "build '*'") == ()
    assert suggested(policy(), "Bash", "timeout 5 build '*'") == ()
    assert policy().suggest("AskUserQuestion", (Access("person"),), {}) == ()


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("Bash", True),
        ("Bash(*)", True),
        ("Bash(python:*)", True),
        ("Bash(node *)", True),
        ("Bash(/usr/bin/python3 *)", True),
        ("Bash(bash -c *)", True),
        ("Bash(sudo:*)", True),
        ("Bash(python -m pytest:*)", False),
        ("Bash(git commit:*)", False),
        ("Bash(python x.py)", False),
        ("Edit", True),
        ("Edit(//**)", True),
        ("Edit(/src/**)", False),
        ("Read", False),
    ],
)
def test_a_rule_that_lets_anything_run_is_warned_about(text: str, warned: bool) -> None:
    assert bool(broad_rule_warning(Rule.parse(text, ALLOW))) is warned
    assert not broad_rule_warning(Rule.parse(text, ASK))


def test_an_escaped_path_means_itself() -> None:
    assert escape_pattern("a*[b]?\\c") == "a\\*\\[b\\]\\?\\\\c"


def test_a_suggestion_for_a_compound_command_lets_it_through() -> None:
    """H5-6: the exact text, and nothing for what no rule could allow."""
    command = "npm test && npm run lint | tee log"
    (update,) = suggested(policy(), "Bash", command)
    given = policy()
    given.apply(PermissionsChanged((update,)))
    assert decide(given, "Bash", command).effect is ALLOW
    assert decide(given, "Bash", command + " x").effect is ASK
    assert suggested(policy(), "Bash", "f() { npm test; }; f") == ()


def test_a_suggestion_for_a_redirection_covers_the_file_too() -> None:
    given = policy()
    for update in suggested(given, "Bash", "make all > log"):
        given.apply(PermissionsChanged((update,)))
    assert decide(given, "Bash", "make all > log").effect is ALLOW
