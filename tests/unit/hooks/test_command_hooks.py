"""Command hooks: JSON in, an answer or an exit code out, all of a moment at once, none left alive (H9-6)."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from bobstay.hooks.event import HookCall, HookName, HookOutcome, HookReport
from bobstay.hooks.matcher import BadHookError, CommandHook, command_hooks, matches
from bobstay.hooks.run import CommandHooks, JoinedHooks

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}


def hooks_of(tmp_path: Path, *commands: str, event: HookName = "PreToolUse", **more: Any) -> CommandHooks:
    listed = [CommandHook(event, "", command, **more) for command in commands]
    return CommandHooks(listed, cwd=str(tmp_path), environment=ENVIRONMENT)


def call(event: HookName = "PreToolUse", **fields: Any) -> HookCall:
    return HookCall(event, fields, "Bash" if "Tool" in event else "")


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] == "Z"


async def test_the_hook_reads_the_call_and_its_answer_counts(tmp_path: Path) -> None:
    answer = {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "who knows"}}
    hooks = hooks_of(tmp_path, f"cat > given; echo '{json.dumps(answer)}'")
    outcome = await hooks.run(call(tool_name="Bash", tool_input={"command": "x" * 300_000}))
    assert (outcome.decision, outcome.reason) == ("ask", "who knows")
    given = json.loads((tmp_path / "given").read_text())
    assert given["hook_event_name"] == "PreToolUse"
    assert len(given["tool_input"]["command"]) == 300_000


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("PreToolUse", HookOutcome(decision="deny", reason="nope")),
        ("PostToolUse", HookOutcome(decision="block", reason="nope")),
        ("UserPromptSubmit", HookOutcome(decision="block", reason="nope")),
        ("Stop", HookOutcome(decision="block", reason="nope")),
        ("PermissionRequest", HookOutcome(permission={"behavior": "deny", "message": "nope"})),
        ("SessionStart", HookOutcome(messages=("SessionStart hook: nope",))),
    ],
)
async def test_exit_code_2_is_a_no_with_stderr_as_its_reason(
    tmp_path: Path, event: HookName, expected: HookOutcome
) -> None:
    hooks = hooks_of(tmp_path, "echo nope >&2; echo ignored; exit 2", event=event)
    assert await hooks.run(call(event)) == expected


@pytest.mark.parametrize("command", ["echo broken >&2; exit 1", "/no/such/program", "echo '{not json'", "kill -9 $$"])
async def test_any_other_failure_is_told_and_stops_nothing(tmp_path: Path, command: str) -> None:
    outcome = await hooks_of(tmp_path, command).run(call())
    assert outcome.decision == ""
    assert outcome.messages[0].startswith("PreToolUse hook failed: ")
    strict = await hooks_of(tmp_path, command, block=True).run(call())
    assert strict.decision == "deny"


@pytest.mark.parametrize(("event", "context"), [("UserPromptSubmit", ("plain words",)), ("PreToolUse", ())])
async def test_plain_words_are_for_the_model_where_a_prompt_begins(
    tmp_path: Path, event: HookName, context: tuple[str, ...]
) -> None:
    assert (await hooks_of(tmp_path, "echo plain words", event=event).run(call(event))).context == context


async def test_all_hooks_of_a_moment_run_at_once_and_the_strictest_counts(tmp_path: Path) -> None:
    """Each waits for the other: one after the other would time out."""
    os.mkfifo(tmp_path / "pipe")
    allow = json.dumps({"hookSpecificOutput": {"permissionDecision": "allow"}})
    hooks = hooks_of(tmp_path, f"echo x > pipe; echo '{allow}'", "read x < pipe; echo no >&2; exit 2", timeout=20.0)
    outcome = await hooks.run(call())
    assert (outcome.decision, outcome.reason) == ("deny", "no")


async def test_a_hook_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    escape = "setsid sh -c 'echo $$ > runaway; exec sleep 1000' & while [ ! -s runaway ]; do :; done; sleep 1000"
    began = time.monotonic()
    outcome = await hooks_of(tmp_path, escape, timeout=1.0).run(call())
    assert "no answer within 1 s" in outcome.messages[0]
    assert time.monotonic() - began < 15
    assert gone(int((tmp_path / "runaway").read_text()))


async def test_a_hook_that_leaves_something_running_does_not_keep_it(tmp_path: Path) -> None:
    """A double fork out of the session is found again."""
    command = (
        "(setsid sh -c 'echo $$ > runaway; exec sleep 1000' >/dev/null 2>&1 &); while [ ! -s runaway ]; do :; done"
    )
    outcome = await hooks_of(tmp_path, command, timeout=20.0).run(call())
    assert outcome == HookOutcome()
    assert gone(int((tmp_path / "runaway").read_text()))


async def test_an_interrupted_hook_is_ended(tmp_path: Path) -> None:
    reports: list[HookReport] = []
    os.mkfifo(tmp_path / "pipe")
    hook = CommandHook("PreToolUse", "", "echo $$ > pipe; exec sleep 1000")
    hooks = CommandHooks([hook], cwd=str(tmp_path), environment=ENVIRONMENT, report=reports.append)
    running = asyncio.ensure_future(hooks.run(call()))
    pid = int(await asyncio.to_thread((tmp_path / "pipe").read_text))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert gone(pid)
    assert [(report.ran is None, report.outcome) for report in reports] == [(True, "success"), (False, "cancelled")]


async def test_the_environment_is_what_was_given_and_where_the_project_is(tmp_path: Path) -> None:
    given = {**ENVIRONMENT, "BASH_ENV": str(tmp_path / "evil.sh"), "MINE": "1"}
    (tmp_path / "evil.sh").write_text("touch evil\n")
    hook = CommandHook("PreToolUse", "", 'echo "$MINE $CLAUDE_PROJECT_DIR $BOBSTAY_PROJECT_DIR" > told; env > all')
    await CommandHooks([hook], cwd=str(tmp_path), environment=given).run(call())
    assert (tmp_path / "told").read_text() == f"1 {tmp_path} {tmp_path}\n"
    assert not (tmp_path / "evil").exists()
    assert "ANTHROPIC" not in (tmp_path / "all").read_text()


async def test_output_without_end_is_bounded(tmp_path: Path) -> None:
    reports: list[HookReport] = []
    hook = CommandHook("PreToolUse", "", "head -c 5000000 /dev/zero | tr '\\0' x")
    hooks = CommandHooks([hook], cwd=str(tmp_path), environment=ENVIRONMENT, report=reports.append)
    await hooks.run(call())
    assert reports[1].ran is not None
    assert len(reports[1].ran.stdout) == 1 << 20


async def test_a_script_of_the_folder_that_changes_in_the_session_is_not_run(tmp_path: Path) -> None:
    """H4-3: the model may edit files; it must not thereby edit what watches it."""
    script = tmp_path / "check.sh"
    script.write_text("exit 0\n")
    from bobstay.config.digest import digests_of

    files = digests_of([str(script)])
    hook = CommandHook("PreToolUse", "", "sh ./check.sh", folder=str(tmp_path), files=files)
    hooks = CommandHooks([hook], cwd=str(tmp_path), environment=ENVIRONMENT)
    assert await hooks.run(call()) == HookOutcome()
    script.write_text("touch ran; exit 0\n")
    outcome = await hooks.run(call())
    assert outcome.decision == "deny"
    assert "check.sh changed" in outcome.reason
    assert not (tmp_path / "ran").exists()


async def test_a_script_that_appears_in_the_session_is_not_run(tmp_path: Path) -> None:
    hook = CommandHook("PreToolUse", "", "./later.sh || true", folder=str(tmp_path))
    hooks = CommandHooks([hook], cwd=str(tmp_path), environment=ENVIRONMENT)
    assert await hooks.run(call()) == HookOutcome()
    (tmp_path / "later.sh").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "later.sh").chmod(0o755)
    assert (await hooks.run(call())).decision == "deny"
    assert not (tmp_path / "ran").exists()


async def test_several_kinds_of_hooks_are_one_and_the_strictest_answer_counts(tmp_path: Path) -> None:
    class Host:
        def wants(self, name: HookName, subject: str = "") -> bool:
            return name == "PreToolUse"

        async def run(self, call: HookCall) -> HookOutcome:
            return HookOutcome(decision="allow", context=("from the host",))

    joined = JoinedHooks(hooks_of(tmp_path, "echo no >&2; exit 2"), Host())
    outcome = await joined.run(call())
    assert (outcome.decision, outcome.context) == ("deny", ("from the host",))
    assert not joined.wants("UserPromptSubmit")
    joined.open_with(("said at the start",))
    assert joined.wants("UserPromptSubmit")
    assert (await joined.run(call("UserPromptSubmit"))).context == ("said at the start",)
    assert not joined.wants("UserPromptSubmit")


# ---------------------------------------------------------------- matchers and settings


@pytest.mark.parametrize(
    ("pattern", "subject", "expected"),
    [
        ("", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Edit|Write", "Write", True),
        ("Edit|Write", "NotebookEdit", False),
        ("mcp__.*", "mcp__x__y", True),
        ("^Note.*", "NotebookEdit", True),
        ("Bash", "", True),
    ],
)
def test_a_matcher_is_names_or_a_pattern(pattern: str, subject: str, expected: bool) -> None:
    assert matches(pattern, subject) is expected


def test_settings_become_hooks() -> None:
    warnings: list[str] = []
    entry = {"type": "command", "command": "x", "timeout": 5}
    settings = {
        "PreToolUse": [{"matcher": "*", "hooks": [entry, {"type": "http", "url": "y"}]}],
        "SessionEnd": [{"hooks": [{"command": "z", "onFailure": "block"}]}],
        "Unheard": [1],
    }
    found = list(command_hooks(settings, "file", warnings))
    assert found == [
        CommandHook("PreToolUse", "", "x", 5.0, False, "file"),
        CommandHook("SessionEnd", "", "z", 5.0, True, "file"),
    ]
    assert len(warnings) == 2


@pytest.mark.parametrize(
    ("hooks", "path"),
    [
        ({"Stop": 1}, "$.hooks.Stop"),
        ({"Stop": [1]}, "$.hooks.Stop[0]"),
        ({"Stop": [{"hooks": {}}]}, "$.hooks.Stop[0]"),
        ({"Stop": [{"hooks": [1]}]}, "$.hooks.Stop[0].hooks[0]"),
        ({"Stop": [{"hooks": [{"command": " "}]}]}, "$.hooks.Stop[0].hooks[0]"),
        ({"Stop": [{"matcher": "(", "hooks": []}]}, "$.hooks.Stop[0].matcher"),
        ({"Stop": [{"matcher": 3, "hooks": []}]}, "$.hooks.Stop[0].matcher"),
        ({"Stop": [{"hooks": [{"command": "x", "timeout": -1}]}]}, "$.hooks.Stop[0].hooks[0].timeout"),
        ({"Stop": [{"hooks": [{"command": "x", "timeout": True}]}]}, "$.hooks.Stop[0].hooks[0].timeout"),
    ],
)
def test_an_entry_that_means_nothing_is_an_error_with_its_place(hooks: dict[str, Any], path: str) -> None:
    with pytest.raises(BadHookError) as caught:
        list(command_hooks(hooks, "file", []))
    assert caught.value.path == path
