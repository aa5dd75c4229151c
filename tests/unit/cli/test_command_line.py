"""The command line: every flag a host may pass, and clear errors for the rest."""

import contextlib
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.cli.flag_parser import UsageError, parse_arguments, split_rules
from bobstay.cli.flags import FLAGS
from bobstay.cli.help_text import build_usage
from bobstay.cli.main import COMMANDS
from bobstay.cli.option_rules import read_options
from bobstay.config.options import Options

UUID = "00000000-0000-4000-8000-000000000001"
SDK = ["--output-format", "stream-json", "--verbose", "--system-prompt", ""]
"""Start of every command line of the official SDK; it ends with the two arguments below."""
SDK_END = ["--input-format", "stream-json"]


def options(*arguments: str, terminal: bool = False, **environment: str) -> Options:
    return read_options(list(arguments), environment, terminal=terminal)


def test_the_command_line_of_the_sdk_is_print_mode_without_a_system_prompt() -> None:
    read = options(*SDK, *SDK_END, terminal=True)
    assert (read.print, read.output_format, read.input_format) == (True, "stream-json", "stream-json")
    assert read.system_prompt == ""
    assert options("-p", "x").system_prompt is None


@pytest.mark.parametrize(
    ("arguments", "variable", "wait", "limit"),
    [
        ((), "", 600.0, 600.0),
        ((), "50", 0.05, 0.05),
        ((), "soon", 600.0, 600.0),
        (("--max-seconds", "30"), "", 600.0, 30.0),
        (("--max-seconds", "900"), "", 600.0, 600.0),
    ],
)
def test_background_commands_are_waited_for_ten_minutes_unless_told_otherwise(
    arguments: tuple[str, ...], variable: str, wait: float, limit: float
) -> None:
    """H1-12"""
    read = options("-p", "x", *arguments, CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS=variable)
    assert (read.background_wait, read.background_limit) == (wait, limit)


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (["--system-prompt-file", "P"], "system_prompt_file", "P"),
        (["--append-system-prompt", "- be brief"], "append_system_prompt", "- be brief"),
        (["--tools", "Read,Bash"], "tools", ("Read", "Bash")),
        (["--tools", ""], "tools", ()),
        (["--tools", "default"], "tools", None),
        (
            ["--allowedTools", "Bash(git log:*),Read,mcp__s__t"],
            "allowed_tools",
            ("Bash(git log:*)", "Read", "mcp__s__t"),
        ),
        (["--disallowedTools", "Bash,WebFetch"], "disallowed_tools", ("Bash", "WebFetch")),
        (["--max-turns", "5"], "max_turns", 5),
        (["--max-budget-usd", "0.5"], "max_budget_usd", 0.5),
        (["--task-budget", "7"], "task_budget", 7),
        (["--model", "m"], "model", "m"),
        (["--fallback-model", "a,b"], "fallback_models", ("a", "b")),
        (["--betas", "x-1,y-2"], "betas", ("x-1", "y-2")),
        (["--effort", "xhigh"], "effort", "xhigh"),
        (["--thinking", "disabled"], "thinking", "disabled"),
        (["--max-thinking-tokens", "0"], "max_thinking_tokens", 0),
        (["--thinking-display", "full"], "thinking_display", "full"),
        (["--permission-prompt-tool", "stdio"], "permission_prompt_tool", "stdio"),
        (["--permission-mode", "dontAsk"], "permission_mode", "dontAsk"),
        (["--permission-mode", "manual"], "permission_mode", "default"),
        (["--continue"], "continue_", True),
        ([f"--resume={UUID}"], "resume", UUID),
        ([f"--session-id={UUID}"], "session_id", UUID),
        (["--settings", '{"a":1}'], "settings", '{"a":1}'),
        (["--add-dir", "/a", "--add-dir", "/b"], "add_dirs", ("/a", "/b")),
        (["--mcp-config", '{"mcpServers":{}}'], "mcp_config", ('{"mcpServers":{}}',)),
        (["--strict-mcp-config"], "strict_mcp_config", True),
        (["--include-partial-messages"], "include_partial_messages", True),
        (["--include-hook-events"], "include_hook_events", True),
        (["--session-mirror"], "session_mirror", True),
        (["--replay-user-messages"], "replay_user_messages", True),
        (["--setting-sources=user,project"], "setting_sources", ("user", "project")),
        (["--setting-sources="], "setting_sources", ()),
        (["--plugin-dir", "p", "--plugin-dir", "q"], "plugin_dirs", ("p", "q")),
        (["--json-schema", '{"type":"object"}'], "json_schema", {"type": "object"}),
        (["--debug"], "debug", ""),
        (["--debug", "api,hooks"], "debug", "api,hooks"),
    ],
)
def test_every_flag_of_the_sdk_is_understood(arguments: list[str], field: str, value: Any) -> None:
    assert getattr(options(*SDK, *arguments, *SDK_END), field) == value


@pytest.mark.parametrize(
    "arguments",
    [
        ["--fork-session", "--continue"],
        [f"--resume={UUID}", f"--resume-session-at={UUID}", f"--resume-drops-turn={UUID}"],
        ["-n", "name"],
        ["--no-session-persistence"],
        ["--forward-subagent-text"],
        ["--system-prompt-snapshot", "on"],
        ["--exclude-dynamic-system-prompt-sections"],
        ["--permission-prompts", "none"],
        ["--agents", "{}"],
        ["--disable-slash-commands"],
        ["--bare"],
        ["--debug-file", "f"],
        ["--ide"],
        ["--brief"],
    ],
)
def test_other_known_flags_are_accepted(arguments: list[str]) -> None:
    assert options("-p", *arguments, "--", "x").prompt == "x"


@pytest.mark.parametrize("name", ["--teleport", "--cloud", "--remote-control", "--bg", "--chrome", "--restricted"])
def test_a_flag_that_would_promise_too_much_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"'{name}' cannot be used"):
        options("-p", name)


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (["-p", "--output-format", "stream-json", "x"], "requires --verbose"),
        (["-p", "--no-such-flag", "x"], "unknown option '--no-such-flag'"),
        (["-p", "--permission-mode", "bogus", "x"], "Allowed choices are acceptEdits, auto"),
        (["-p", "--output-format", "json", "--include-partial-messages", "x"], "requires --print and --output-format"),
        (["-p", "--max-turns"], "argument missing"),
        (["-p", "--max-turns", "-1"], "whole number, 1 or more"),
        (["-p", "--max-budget-usd", "nan"], "number above 0"),
        (["-p", "--json-schema", "[1"], "not a JSON object"),
        (["-p", "--verbose=yes"], "takes no value"),
        (["-p", "one", "two"], "more than one prompt"),
        (["-p", "--session-id", "7"], "Must be a valid UUID"),
        (["-p", "--session-id", UUID, "--continue"], "requires --fork-session"),
        (["-p", "--fork-session"], "requires --resume or --continue"),
        (["-p", "--resume"], "bobstay sessions"),
        (["-p", "-c", "-r", UUID], "cannot be used together"),
        (["-p", "--resume-session-at", UUID], "requires --resume"),
        (["-p", "--input-format", "stream-json"], "requires --output-format"),
        ([*SDK, *SDK_END, "prompt"], "takes prompts from stdin"),
        (["-p", "--replay-user-messages"], "requires --input-format"),
        (["-p", "--permission-prompt-tool", "ask_me"], "mcp__SERVER__TOOL"),
        (["-p", "--permission-prompt-tool", "stdio"], "requires --input-format"),
        (["-p", "--system-prompt", "a", "--system-prompt-file", "b"], "not both"),
        (["-p", "--output-forma", "json"], "did you mean --output-format"),
    ],
)
def test_what_makes_no_sense_is_refused_with_one_clear_sentence(arguments: list[str], phrase: str) -> None:
    with pytest.raises(UsageError) as refused:
        options(*arguments)
    assert phrase in str(refused.value)
    assert "\n" not in str(refused.value)


def test_rules_may_be_several_words_and_leave_the_prompt_alone() -> None:
    read = options("-p", "--allowedTools", "Read", "Bash(git log:*)", "Edit,Write", "fix the bug")
    assert read.allowed_tools == ("Read", "Bash(git log:*)", "Edit", "Write")
    assert read.prompt == "fix the bug"


def test_a_prompt_of_one_word_is_no_rule() -> None:
    assert options("-p", "--allowedTools", "Read", "hello").prompt == "hello"


def test_bytes_that_are_no_text_are_replaced_in_a_prompt() -> None:
    assert options("-p", os.fsdecode(b"a\xffb")).prompt == "a\ufffdb"


def test_directories_may_be_several_and_leave_the_prompt_alone(tmp_path: os.PathLike[str]) -> None:
    assert options("-p", "--add-dir", "/gone", str(tmp_path), "go").add_dirs == ("/gone", str(tmp_path))


def test_short_flags_may_stand_together_and_carry_their_value() -> None:
    assert options("-pc", "x").continue_
    assert options("-p", f"-r{UUID}", "x").resume == UUID


def test_a_prompt_that_looks_like_a_flag_follows_two_dashes() -> None:
    assert options("-p", "--", "--help me").prompt == "--help me"


def test_print_mode_is_implied_where_no_terminal_is() -> None:
    assert options("x").print
    assert not options("x", terminal=True).print


def test_the_host_may_ask_for_states_in_the_environment() -> None:
    assert options("x").session_state_frames == ""
    assert options("x", CLAUDE_CODE_SDK_READS_SESSION_STATE="1").session_state_frames == "host_only"
    assert options("x", CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS="1").session_state_frames == "all"
    assert options("x", CLAUDE_CODE_ENTRYPOINT="sdk-py").entrypoint == "sdk-py"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is refused")
@pytest.mark.parametrize("flag", ["--dangerously-skip-permissions", "--permission-mode=bypassPermissions"])
def test_root_bypasses_permissions_only_in_a_sandbox(flag: str) -> None:
    with pytest.raises(UsageError, match="IS_SANDBOX=1"):
        options("-p", flag, "x")
    assert options("-p", flag, "x", IS_SANDBOX="1").permission_mode == "bypassPermissions"


@given(st.lists(st.from_regex(r"[A-Za-z_]{1,8}(\([a-z:*, ]{0,9}\))?", fullmatch=True), max_size=5))
def test_rules_joined_by_commas_come_apart_again(rules: list[str]) -> None:
    assert split_rules(",".join(rules)) == rules


@given(st.lists(st.one_of(st.sampled_from([name for flag in FLAGS for name in flag.names]), st.text(max_size=6))))
def test_any_command_line_is_understood_or_refused(arguments: list[str]) -> None:
    with contextlib.suppress(UsageError):
        assert isinstance(parse_arguments(arguments).get("prompt", ""), str)


def test_every_flag_fills_a_field_there_is() -> None:
    fields = {*Options.__struct_fields__, "", "version", "help"}
    assert {flag.field for flag in FLAGS} <= fields
    names = [name for flag in FLAGS for name in flag.names]
    assert len(names) == len(set(names))


def test_the_help_fits_a_terminal_and_names_each_command() -> None:
    text = build_usage(COMMANDS)
    assert max(len(line) for line in text.splitlines()) <= 110
    assert all(f"  {command}" in text for command in COMMANDS)


# ---------------------------------------------------------------- the real program


def bobstay(*arguments: str, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bobstay", *arguments],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, **environment},
        check=False,
    )


def test_the_version_costs_no_more_than_a_bare_python() -> None:
    """F27, H4-1: the fastest path imports next to nothing."""
    script = "import sys; from bobstay.cli.main import run; run(['--version']); print(*sys.modules)"
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=200
    ).stdout
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    version, modules = output.splitlines()
    assert version == "0.1.0 (bobstay)"
    extra = set(modules.split()) - set(bare.stdout.split())
    assert extra == {"bobstay", "bobstay.cli", "bobstay.cli.main", "bobstay.version"}


@pytest.mark.parametrize(
    "arguments",
    [["-p"], ["-p", "--nope", "x"], ["-p", "--output-format", "stream-json", "x"], ["-p", "--teleport", "x"]],
)
def test_a_refusal_is_one_line_on_stderr_and_nothing_on_stdout(arguments: list[str]) -> None:
    ended = bobstay(*arguments)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.count("\n") == 1
    assert "Traceback" not in ended.stderr


def test_the_help_is_shown() -> None:
    for argument in ("--help", "-h", "help"):
        ended = bobstay(argument)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert ended.stdout.startswith("Usage: bobstay")


def test_sessions_of_an_empty_home_are_none(tmp_path: os.PathLike[str]) -> None:
    ended = bobstay("sessions", "--all", BOBSTAY_HOME=str(tmp_path))
    assert (ended.returncode, ended.stdout) == (0, "No sessions yet.\n")
