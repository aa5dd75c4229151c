"""Hooks as settings name them: matchers, conditions, and what is left out with a notice (H9-6)."""

from typing import Any

import pytest

from bobstay.hooks.condition import matches_condition
from bobstay.hooks.hook_event import HookCall
from bobstay.hooks.hook_settings import CommandHook, HttpHook, SettingsHook, read_hooks
from bobstay.hooks.matcher import matches
from bobstay.permissions.access import Access


def read(hooks: dict[str, Any]) -> tuple[list[SettingsHook], dict[str, str]]:
    notices: dict[str, str] = {}
    return list(read_hooks(hooks, "file", notices.__setitem__)), notices


@pytest.mark.parametrize(
    ("pattern", "subject", "expected"),
    [
        ("", "Bash", True),
        ("Bash", "Bash", True),
        ("bash", "Bash", False),
        ("Bash", "BashOutput", False),
        ("Edit|Write", "Write", True),
        ("Edit|Write", "NotebookEdit", False),
        ("Bash, Read", "Read", True),
        ("Bash,Read", "Bash", True),
        ("Bash , Read", "Bash", True),
        ("mcp__.*", "mcp__x__y", True),
        ("mcp__x", "mcp__x__y", False),
        ("mcp__my-server__y", "mcp__my-server__y", True),
        ("^Note.*", "NotebookEdit", True),
        ("a.h", "Bash", True),
        ("Bash(echo:*)", "Bash", False),
        ("Task", "Agent", True),
        ("Task|Foo", "Agent", False),
        ("Bash", "", True),
    ],
)
def test_a_matcher_is_names_or_a_pattern(pattern: str, subject: str, expected: bool) -> None:
    assert matches(pattern, subject) is expected


def test_settings_become_hooks() -> None:
    entry = {"type": "command", "command": "x", "timeout": 5, "statusMessage": "checking", "once": True}
    http = {"type": "http", "url": "http://h/", "headers": {"A": "$T"}, "allowedEnvVars": ["T"], "onFailure": "block"}
    whole = {"command": "z", "args": ["a"], "shell": "powershell", "if": "Bash(git *)", "async": True}
    found, notices = read(
        {
            "PreToolUse": [{"matcher": "*", "hooks": [entry, http, whole]}],
            "SessionEnd": [{"hooks": [{"command": "z", "onFailure": "block"}]}],
        }
    )
    assert found == [
        CommandHook("PreToolUse", "", "x", timeout=5.0, once=True, status_message="checking", source="file"),
        HttpHook("PreToolUse", "", "http://h/", {"A": "$T"}, frozenset({"T"}), block=True, source="file"),
        CommandHook(
            *("PreToolUse", "", "z"),
            args=("a",),
            shell="powershell",
            condition="Bash(git *)",
            background=True,
            source="file",
        ),
        CommandHook("SessionEnd", "", "z", timeout=5.0, block=True, source="file"),
    ]
    assert notices == {}


FINE = {"command": "fine"}


@pytest.mark.parametrize(
    ("event", "groups", "path"),
    [
        ("Stop", 1, "$.hooks.Stop"),
        ("Unheard", [1], "$.hooks.Unheard"),
        ("WorktreeCreate", [{"hooks": [FINE]}], "$.hooks.WorktreeCreate"),
        ("Stop", [1], "$.hooks.Stop[0]"),
        ("Stop", [{"hooks": {}}], "$.hooks.Stop[0]"),
        ("Stop", [{"hooks": [1]}], "$.hooks.Stop[0].hooks[0]"),
        ("Stop", [{"hooks": [{"command": " "}]}], "$.hooks.Stop[0].hooks[0]"),
        ("Stop", [{"hooks": [{"command": "a\0b"}]}], "$.hooks.Stop[0].hooks[0]"),
        ("Stop", [{"matcher": "(", "hooks": [FINE]}], "$.hooks.Stop[0].matcher"),
        ("Stop", [{"matcher": 3, "hooks": [FINE]}], "$.hooks.Stop[0].matcher"),
        ("Stop", [{"hooks": [{"command": "x", "timeout": -1}]}], "$.hooks.Stop[0].hooks[0].timeout"),
        ("Stop", [{"hooks": [{"command": "x", "timeout": True}]}], "$.hooks.Stop[0].hooks[0].timeout"),
        ("Stop", [{"hooks": [{"command": "x", "args": "y"}]}], "$.hooks.Stop[0].hooks[0].args"),
        ("Stop", [{"hooks": [{"command": "x", "shell": "fish"}]}], "$.hooks.Stop[0].hooks[0].shell"),
        ("Stop", [{"hooks": [{"command": "x", "onFailure": "maybe"}]}], "$.hooks.Stop[0].hooks[0].onFailure"),
        ("Stop", [{"hooks": [{"command": "x", "if": "Bash"}]}], "$.hooks.Stop[0].hooks[0].if"),
        ("PreToolUse", [{"hooks": [{"command": "x", "if": "Bash("}]}], "$.hooks.PreToolUse[0].hooks[0].if"),
        ("PreToolUse", [{"hooks": [{"command": "x", "if": 7}]}], "$.hooks.PreToolUse[0].hooks[0].if"),
        ("Stop", [{"hooks": [{"type": "prompt"}]}], "$.hooks.Stop[0].hooks[0]"),
        ("Stop", [{"hooks": [{"type": "agent", "prompt": "x", "model": 1}]}], "$.hooks.Stop[0].hooks[0].model"),
        ("Stop", [{"hooks": [{"type": "mcp_tool", "server": "s"}]}], "$.hooks.Stop[0].hooks[0]"),
        (
            "Stop",
            [{"hooks": [{"type": "mcp_tool", "server": "s", "tool": "t", "input": []}]}],
            "$.hooks.Stop[0].hooks[0].input",
        ),
        ("FileChanged", [{"hooks": [FINE]}], "$.hooks.FileChanged[0]"),
        ("FileChanged", [{"matcher": "src/.*", "hooks": [FINE]}], "$.hooks.FileChanged[0]"),
        ("Stop", [{"hooks": [{"type": "nope"}]}], "$.hooks.Stop[0].hooks[0]"),
        ("Stop", [{"hooks": [{"type": "http", "url": "file:///etc/passwd"}]}], "$.hooks.Stop[0].hooks[0]"),
        (
            "Stop",
            [{"hooks": [{"type": "http", "url": "http://x", "headers": [1]}]}],
            "$.hooks.Stop[0].hooks[0].headers",
        ),
    ],
)
def test_what_cannot_be_used_is_left_out_with_a_notice_and_the_rest_works(event: str, groups: Any, path: str) -> None:
    hooks = {event: groups, "PostToolUse": [{"hooks": [FINE]}]}
    if isinstance(groups, list) and event == "Stop":
        hooks["Stop"] = [*groups, {"hooks": [{"command": "beside"}]}]
    found, notices = read(hooks)
    assert [hook.text for hook in found] == (["beside", "fine"] if len(found) == 2 else ["fine"])
    assert list(notices) == [path]


def about(command: str) -> HookCall:
    fields = {"tool_input": {"command": command}, "cwd": "/w"}
    return HookCall("PreToolUse", fields, "Bash", accesses=(Access("exec", command),))


@pytest.mark.parametrize(
    ("rule", "command", "expected"),
    [
        ("Bash(git *)", "git status", True),
        ("Bash(git *)", "cd . && git push", True),
        ("Bash(git *)", "ls", False),
        ("Bash(git:*)", "echo git", False),
        ("Bash", "ls", True),
        ("Read", "ls", False),
        ("Bash(git *)", "$TOOL status", True),
    ],
)
def test_a_condition_is_a_rule_about_the_call(rule: str, command: str, expected: bool) -> None:
    """A command that cannot be analysed may be one the rule covers: the hook is called."""
    assert matches_condition(rule, about(command), home="/home/x") is expected


def test_a_condition_may_be_about_paths() -> None:
    call = HookCall("PreToolUse", {"tool_input": {}, "cwd": "/w"}, "Edit", accesses=(Access("write", "/w/src/a.py"),))
    assert matches_condition("Edit(src/**)", call, home="/home/x")
    assert not matches_condition("Edit(docs/**)", call, home="/home/x")
