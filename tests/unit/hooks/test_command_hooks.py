"""Command hooks: JSON in, an answer or an exit code out, all of a moment at once, none left alive (H9-6)."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from bobstay.hooks.command_hook import run_command
from bobstay.hooks.hook_event import HookCall, HookMessage, HookName, HookOutcome, HookReport
from bobstay.hooks.hook_execution import HookExecution
from bobstay.hooks.hook_runner import CommandHooks, JoinedHooks
from bobstay.hooks.hook_settings import CommandHook
from tests.kit.waiting import DEADLINE, until

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}


def hooks_of(tmp_path: Path, *commands: str, event: HookName = "PreToolUse", **more: Any) -> CommandHooks:
    listed = [CommandHook(event, "", command, **more) for command in commands]
    return CommandHooks(listed, HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT))


def call(event: HookName = "PreToolUse", **fields: Any) -> HookCall:
    return HookCall(event, fields, "Bash" if "ToolUse" in event else "")


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
        ("PostToolUseFailure", HookOutcome(decision="block", reason="nope")),
        ("PostToolBatch", HookOutcome(decision="block", reason="nope")),
        ("UserPromptSubmit", HookOutcome(decision="block", reason="nope")),
        ("Stop", HookOutcome(decision="block", reason="nope")),
        ("PermissionRequest", HookOutcome(permission={"behavior": "deny", "message": "nope"})),
        ("SessionStart", HookOutcome(messages=(HookMessage("SessionStart hook: nope", "warning"),))),
    ],
)
async def test_exit_code_2_is_a_no_with_stderr_as_its_reason(
    tmp_path: Path, event: HookName, expected: HookOutcome
) -> None:
    hooks = hooks_of(tmp_path, "echo nope >&2; echo ignored; exit 2", event=event)
    assert await hooks.run(call(event)) == expected


@pytest.mark.parametrize("command", ["echo broken >&2; exit 1", "/no/such/program", "echo '{not json'", "kill -9 $$"])
async def test_any_other_failure_is_reported_and_stops_nothing(tmp_path: Path, command: str) -> None:
    outcome = await hooks_of(tmp_path, command).run(call())
    assert outcome.decision == ""
    assert outcome.messages[0].text.startswith("PreToolUse:Bash hook failed: ")
    assert outcome.messages[0].level == "warning"
    strict = await hooks_of(tmp_path, command, block=True).run(call())
    assert strict.decision == "deny"
    assert strict.messages == outcome.messages


@pytest.mark.parametrize(("event", "context"), [("UserPromptSubmit", ("plain words",)), ("PreToolUse", ())])
async def test_plain_text_is_for_the_model_where_a_prompt_begins(
    tmp_path: Path, event: HookName, context: tuple[str, ...]
) -> None:
    assert (await hooks_of(tmp_path, "echo plain words", event=event).run(call(event))).context == context


async def test_all_hooks_of_a_moment_run_at_once_and_the_strictest_counts(tmp_path: Path) -> None:
    """Each waits for the other: one after the other would time out."""
    os.mkfifo(tmp_path / "pipe")
    allow = json.dumps({"hookSpecificOutput": {"permissionDecision": "allow"}})
    hooks = hooks_of(tmp_path, f"echo x > pipe; echo '{allow}'", "read x < pipe; echo no >&2; exit 2", timeout=200)
    outcome = await hooks.run(call())
    assert (outcome.decision, outcome.reason) == ("deny", "no")


async def test_a_hook_that_takes_too_long_is_ended_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    escape = "setsid sh -c 'echo $$ > runaway; exec sleep 1000' & while [ ! -s runaway ]; do :; done; sleep 1000"
    running = asyncio.create_task(hooks_of(tmp_path, escape, timeout=500).run(call()))
    runaway = tmp_path / "runaway"
    await until(lambda: runaway.exists() and runaway.read_text().endswith("\n"))
    assert not running.done()
    loop = asyncio.get_running_loop()
    clock = loop.time
    monkeypatch.setattr(loop, "time", lambda: clock() + 500)
    async with asyncio.timeout(DEADLINE):
        outcome = await running
    assert "no answer within 500 s" in outcome.messages[0].text
    assert outcome.messages[0].tag == "hook_no_verdict"
    assert gone(int((tmp_path / "runaway").read_text()))


async def test_a_hook_that_leaves_something_running_does_not_keep_it(tmp_path: Path) -> None:
    """A double fork out of the session is found again."""
    command = (
        "(setsid sh -c 'echo $$ > runaway; exec sleep 1000' >/dev/null 2>&1 &); while [ ! -s runaway ]; do :; done"
    )
    outcome = await hooks_of(tmp_path, command, timeout=200).run(call())
    assert outcome == HookOutcome()
    assert gone(int((tmp_path / "runaway").read_text()))


async def test_an_interrupted_hook_is_ended(tmp_path: Path) -> None:
    reports: list[HookReport] = []
    os.mkfifo(tmp_path / "pipe")
    hook = CommandHook("PreToolUse", "", "echo $$ > pipe; exec sleep 1000")
    hooks = CommandHooks([hook], HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT), reports.append)
    running = asyncio.ensure_future(hooks.run(call()))
    pid = int(await asyncio.to_thread((tmp_path / "pipe").read_text))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert gone(pid)
    assert [(report.result is None, report.outcome) for report in reports] == [(True, "success"), (False, "cancelled")]


async def test_the_environment_is_what_was_given_and_where_the_project_is(tmp_path: Path) -> None:
    given = {**ENVIRONMENT, "BASH_ENV": str(tmp_path / "evil.sh"), "MINE": "1"}
    (tmp_path / "evil.sh").write_text("touch evil\n")
    hook = CommandHook("PreToolUse", "", 'echo "$MINE $CLAUDE_PROJECT_DIR $BOBSTAY_PROJECT_DIR" > told; env > all')
    await CommandHooks([hook], HookExecution(cwd=str(tmp_path), environment=given)).run(call())
    assert (tmp_path / "told").read_text() == f"1 {tmp_path} {tmp_path}\n"
    assert not (tmp_path / "evil").exists()
    assert "ANTHROPIC" not in (tmp_path / "all").read_text()


async def test_output_without_end_is_bounded(tmp_path: Path) -> None:
    reports: list[HookReport] = []
    hook = CommandHook("PreToolUse", "", "head -c 5000000 /dev/zero | tr '\\0' x")
    hooks = CommandHooks([hook], HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT), reports.append)
    await hooks.run(call())
    assert reports[1].result is not None
    assert len(reports[1].result.stdout) == 1 << 20


async def test_a_script_of_the_folder_that_changes_in_the_session_is_not_run(tmp_path: Path) -> None:
    """H4-3: the model may edit files; it must not thereby edit what watches it."""
    script = tmp_path / "check.sh"
    script.write_text("exit 0\n")
    from bobstay.config.digest import digest_files

    files = digest_files([str(script)])
    hook = CommandHook("PreToolUse", "", "sh ./check.sh", folder=str(tmp_path), files=files)
    hooks = CommandHooks([hook], HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT))
    assert await hooks.run(call()) == HookOutcome()
    script.write_text("touch ran; exit 0\n")
    outcome = await hooks.run(call())
    assert outcome.decision == "deny"
    assert "check.sh changed" in outcome.reason
    assert not (tmp_path / "ran").exists()


async def test_a_script_that_appears_in_the_session_is_not_run(tmp_path: Path) -> None:
    hook = CommandHook("PreToolUse", "", "./later.sh || true", folder=str(tmp_path))
    hooks = CommandHooks([hook], HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT))
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


@pytest.mark.parametrize("first", ["allow", "deny"])
async def test_a_hook_that_refuses_for_the_person_wins_over_one_that_allows(tmp_path: Path, first: str) -> None:
    """H2-3: whichever of them is named first."""
    behaviors = (first, "deny" if first == "allow" else "allow")
    answers = [
        {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": each}}}
        for each in behaviors
    ]
    hooks = hooks_of(tmp_path, *(f"echo '{json.dumps(each)}'" for each in answers), event="PermissionRequest")
    assert (await hooks.run(call("PermissionRequest"))).permission == {"behavior": "deny"}


async def test_messages_for_the_person_name_the_event_and_the_tool(tmp_path: Path) -> None:
    outcome = await hooks_of(tmp_path, """echo '{"systemMessage": "WORDS"}'""").run(call())
    assert outcome == HookOutcome(messages=(HookMessage("PreToolUse:Bash says: WORDS", "notice"),))


async def test_an_answer_for_another_event_has_no_effect_and_is_reported(tmp_path: Path) -> None:
    answer = {"continue": False, "hookSpecificOutput": {"hookEventName": "PostToolUse", "permissionDecision": "deny"}}
    outcome = await hooks_of(tmp_path, f"echo '{json.dumps(answer)}'").run(call())
    assert (outcome.decision, outcome.stop) == ("", False)
    assert "'PostToolUse'" in outcome.messages[0].text


async def test_arguments_are_handed_over_without_a_shell(tmp_path: Path) -> None:
    args = ("$HOME; touch evil", "${CLAUDE_PROJECT_DIR}/x")
    hook = CommandHook("PreToolUse", "", "sh", args=("-c", 'printf "%s|" "$@" > told', "sh", *args))
    await CommandHooks([hook], HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT)).run(call())
    assert (tmp_path / "told").read_text() == f"$HOME; touch evil|{tmp_path}/x|"
    missing = CommandHook("PreToolUse", "", "no-such-program", args=())
    outcome = await CommandHooks([missing], HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT)).run(call())
    assert "no-such-program" in outcome.messages[0].text


async def test_a_command_for_powershell_is_given_to_powershell(tmp_path: Path) -> None:
    """The double takes what pwsh takes: `-Command` and one text (about_Pwsh, Microsoft Learn, read 2026-11)."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "pwsh").write_text('#!/bin/sh\n[ "$3" = -Command ] || exit 64\necho "$4" > told\n')
    (programs / "pwsh").chmod(0o755)
    hook = CommandHook("PreToolUse", "", "Write-Output 1", shell="powershell")
    environment = {**ENVIRONMENT, "PATH": f"{programs}:/usr/bin:/bin"}
    assert (
        await CommandHooks([hook], HookExecution(cwd=str(tmp_path), environment=environment)).run(call())
        == HookOutcome()
    )
    assert (tmp_path / "told").read_text() == "Write-Output 1\n"
    without = await CommandHooks([hook], HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT)).run(call())
    assert "PowerShell is not installed" in without.messages[0].text


async def test_the_same_command_runs_once_and_blocks_if_one_of_them_shall(tmp_path: Path) -> None:
    hooks = [CommandHook("PreToolUse", "", "echo x >> ran; exit 1", block=block) for block in (False, True, False)]
    outcome = await CommandHooks(hooks, HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT)).run(call())
    assert (tmp_path / "ran").read_text() == "x\n"
    assert outcome.decision == "deny"


async def test_a_hook_follows_the_shell_but_one_of_the_project_stays_there(tmp_path: Path) -> None:
    """A relative path in a hook of the project must not lead to another file because the model went elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    hooks = [
        CommandHook("PreToolUse", "", f"pwd > {tmp_path}/own"),
        CommandHook("PreToolUse", "", f"pwd > {tmp_path}/project", folder=str(tmp_path)),
    ]
    await CommandHooks(hooks, HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT)).run(call(cwd=str(elsewhere)))
    assert (tmp_path / "own").read_text() == f"{elsewhere}\n"
    assert (tmp_path / "project").read_text() == f"{tmp_path}\n"


async def test_hooks_get_the_session_and_the_effort(tmp_path: Path) -> None:
    hook = CommandHook("Stop", "", 'echo "$CLAUDECODE $CLAUDE_CODE_SESSION_ID $CLAUDE_EFFORT" > told')
    hooks = CommandHooks([hook], HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT, session_id="abc"))
    await hooks.run(call("Stop", effort={"level": "high"}))
    assert (tmp_path / "told").read_text() == "1 abc high\n"


async def test_the_output_of_a_background_hook_comes_with_a_later_event(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    answer = {"decision": "block", "reason": "x", "hookSpecificOutput": {"additionalContext": "LATE"}}
    slow = CommandHook("PostToolUse", "", f"read x < pipe; echo '{json.dumps(answer)}'", background=True)
    hooks = CommandHooks([slow], HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT))
    assert await hooks.run(call("PostToolUse")) == HookOutcome()
    assert not hooks.wants("UserPromptSubmit")
    await asyncio.to_thread((tmp_path / "pipe").write_text, "go\n")
    await until(lambda: hooks.wants("UserPromptSubmit"))
    assert await hooks.run(call("UserPromptSubmit")) == HookOutcome(context=("LATE",))
    assert not hooks.wants("UserPromptSubmit")


async def test_a_hook_in_the_background_does_not_outlive_the_session(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    hook = CommandHook("PostToolUse", "", "echo $$ > pipe; exec sleep 1000", background=True)
    hooks = CommandHooks([hook], HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT))
    await hooks.run(call("PostToolUse"))
    pid = int(await asyncio.to_thread((tmp_path / "pipe").read_text))
    await hooks.close()
    assert gone(pid)


async def test_a_plain_string_is_not_taken_for_a_command(tmp_path: Path) -> None:
    """The type checkers refuse it. Should they accept it again, mypy reports the ignore below as unused."""
    with pytest.raises(FileNotFoundError):
        await run_command("true", b"", cwd=str(tmp_path), environment=ENVIRONMENT, limit=9)  # type: ignore[arg-type]
