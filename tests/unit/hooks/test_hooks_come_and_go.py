"""Hooks of plugins, skills and agents: added while a session runs, and dropped again (H9-6)."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.hooks.hook_event import HookCall, HookName, HookOutcome, HookReport
from bobstay.hooks.hook_execution import HookExecution
from bobstay.hooks.hook_runner import BackgroundSinks, CommandHooks
from bobstay.hooks.hook_settings import CommandHook, HttpHook, as_agent_hooks
from bobstay.hooks.matcher import BadMatcherError, MatcherIndex, matches, parse_matcher, watched_names
from tests.kit.waiting import until

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}


def hooks_in(folder: Path, *hooks: CommandHook, sinks: BackgroundSinks | None = None) -> CommandHooks:
    return CommandHooks(hooks, HookExecution(cwd=str(folder), environment=ENVIRONMENT), sinks=sinks)


def call(event: HookName = "PreToolUse", **fields: Any) -> HookCall:
    return HookCall(event, fields, "Bash" if "ToolUse" in event else "")


def note(word: str, **more: Any) -> CommandHook:
    return CommandHook("PreToolUse", "Bash", f"echo {word} >> ran", **more)


async def ran(hooks: CommandHooks, folder: Path) -> list[str]:
    """Run the hooks, and return which of them ran."""
    (folder / "ran").write_text("")
    await hooks.run(call())
    return sorted((folder / "ran").read_text().split())


async def test_hooks_can_be_added_and_dropped(tmp_path: Path) -> None:
    hooks = hooks_in(tmp_path, note("settings"))
    assert not hooks.wants("Stop")
    drop_skill = hooks.add([note("skill"), CommandHook("Stop", "", "true")])
    drop_plugin = hooks.add([note("plugin")])
    assert await ran(hooks, tmp_path) == ["plugin", "settings", "skill"]
    assert hooks.wants("Stop")
    drop_skill()
    drop_skill()
    assert await ran(hooks, tmp_path) == ["plugin", "settings"]
    assert not hooks.wants("Stop")
    drop_plugin()
    assert await ran(hooks, tmp_path) == ["settings"]


async def test_a_hook_that_says_once_runs_once(tmp_path: Path) -> None:
    hooks = hooks_in(tmp_path)
    hooks.add([note("once", once=True), note("always")])
    assert await ran(hooks, tmp_path) == ["always", "once"]
    assert await ran(hooks, tmp_path) == ["always"]


async def test_hooks_of_an_agent_count_only_there_and_its_end_is_an_event_of_its_own(tmp_path: Path) -> None:
    session = hooks_in(tmp_path, note("session"))
    own = [note("agent"), CommandHook("Stop", "any", "echo end >> ran")]
    agent = session.derive(as_agent_hooks(own))
    assert await ran(session, tmp_path) == ["session"]
    assert await ran(agent, tmp_path) == ["agent"]
    assert not agent.wants("Stop")
    assert agent.wants("SubagentStop", "whatever")


async def test_what_hooks_of_an_agent_leave_running_ends_with_the_session(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    session = hooks_in(tmp_path)
    agent = session.derive([CommandHook("SubagentStop", "", "echo $$ > pipe; exec sleep 1000", background=True)])
    await agent.run(call("SubagentStop"))
    pid = int(await asyncio.to_thread((tmp_path / "pipe").read_text))
    await session.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_hook_gets_the_variables_of_its_origin(tmp_path: Path) -> None:
    root = {"CLAUDE_PLUGIN_ROOT": "/p/a b"}
    shell = CommandHook("Stop", "", 'echo "$CLAUDE_PLUGIN_ROOT|" > shell', variables=root)
    words = ("-c", 'printf "%s|" "$@" > words', "sh", "${CLAUDE_PLUGIN_ROOT}/x", "${OTHER}")
    program = CommandHook("Stop", "", "sh", args=words, variables=root)
    await hooks_in(tmp_path, shell, program).run(call("Stop"))
    assert (tmp_path / "shell").read_text() == "/p/a b|\n"
    assert (tmp_path / "words").read_text() == "/p/a b/x|${OTHER}|"


async def test_the_same_command_of_two_plugins_runs_for_each(tmp_path: Path) -> None:
    command = 'echo "$CLAUDE_PLUGIN_ROOT" >> ran'
    origins = [CommandHook("PreToolUse", "", command, variables={"CLAUDE_PLUGIN_ROOT": root}) for root in "abb"]
    assert await ran(hooks_in(tmp_path, *origins), tmp_path) == ["a", "b"]


# ---------------------------------------------------------------- in the background


async def test_a_first_line_can_say_that_nobody_shall_wait(tmp_path: Path) -> None:
    """What comes after it arrives with a later event, and decides nothing anymore."""
    os.mkfifo(tmp_path / "pipe")
    late = {"decision": "block", "reason": "x", "hookSpecificOutput": {"additionalContext": "LATE"}}
    command = f"echo '{json.dumps({'async': True})}'; read x < pipe; echo '{json.dumps(late)}'"
    hooks = hooks_in(tmp_path, CommandHook("PostToolUse", "", command))
    assert await hooks.run(call("PostToolUse")) == HookOutcome()
    await asyncio.to_thread((tmp_path / "pipe").write_text, "go\n")
    await until(lambda: hooks.wants("UserPromptSubmit"))
    assert await hooks.run(call("UserPromptSubmit")) == HookOutcome(context=("LATE",))


async def test_a_hook_that_wakes_the_model_does_so_by_exit_code_2_only(tmp_path: Path) -> None:
    woken: list[tuple[str, str]] = []
    told: list[HookOutcome] = []
    awaited: set[asyncio.Future[None]] = set()
    sinks = BackgroundSinks(told.append, lambda event, text: woken.append((event, text)), awaited)
    commands = ("echo BROKEN >&2; exit 2", "echo fine", "echo odd >&2; exit 3")
    listed = [CommandHook("PostToolUse", "", command, background=True, wakes=True) for command in commands]
    hooks = hooks_in(tmp_path, *listed, sinks=sinks)
    assert await hooks.run(call("PostToolUse")) == HookOutcome()
    assert len(awaited) == 3
    await until(lambda: not awaited)
    assert woken == [("PostToolUse:Bash", "BROKEN")]
    assert sorted(outcome.failed for outcome in told) == [False, False, True]
    assert all(outcome.label == "PostToolUse:Bash" for outcome in told)


async def test_the_person_is_told_of_a_failure_in_the_background(tmp_path: Path) -> None:
    told: list[HookOutcome] = []
    hook = CommandHook("Stop", "", "echo broken >&2; exit 1", background=True)
    hooks = hooks_in(tmp_path, hook, sinks=BackgroundSinks(told.append))
    await hooks.run(call("Stop"))
    await until(lambda: bool(told))
    assert "exit code 1: broken" in told[0].messages[0].text


async def test_what_is_shown_while_a_hook_runs_is_reported(tmp_path: Path) -> None:
    reports: list[HookReport] = []
    hook = CommandHook("Stop", "", "true", status_message="checking")
    await CommandHooks([hook], HookExecution(cwd=str(tmp_path), environment=ENVIRONMENT), reports.append).run(
        call("Stop")
    )
    assert [report.status_message for report in reports] == ["checking", "checking"]


# ---------------------------------------------------------------- bad output


@pytest.mark.parametrize(
    "output",
    ['{"decision": "block"', '{"decision": "block"}}', "{", '{"a": 1}\\n{"b": 2}', "[" * 50, "\\377\\376{", '{"async'],
)
async def test_half_an_answer_has_no_effect(tmp_path: Path, output: str) -> None:
    hooks = hooks_in(tmp_path, CommandHook("PreToolUse", "", f"printf '{output}'"))
    outcome = await hooks.run(call())
    assert (outcome.decision, outcome.stop, outcome.context) == ("", False, ())
    assert outcome.failed == output.startswith("{")
    strict = hooks_in(tmp_path, CommandHook("PreToolUse", "", f"printf '{output}'", block=True))
    assert (await strict.run(call())).decision == ("deny" if output.startswith("{") else "")


async def test_a_hook_that_forks_without_end_is_ended_with_all_of_it(tmp_path: Path) -> None:
    spawn = "for i in 1 2 3 4 5 6 7 8; do (setsid sh -c 'echo $$ >> pids; exec sleep 1000' &) ; done; "
    wait = "while [ $(cat pids 2>/dev/null | wc -l) -lt 8 ]; do :; done"
    await hooks_in(tmp_path, CommandHook("PreToolUse", "", spawn + wait)).run(call())
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 8
    for pid in pids:
        state = Path(f"/proc/{pid}/stat")
        assert not state.exists() or state.read_text().split(")")[-1].split()[0] == "Z"


async def test_a_flood_on_one_line_is_cut_and_is_no_answer(tmp_path: Path) -> None:
    flood = CommandHook("UserPromptSubmit", "", "printf '{\"x\": \"'; head -c 3000000 /dev/zero | tr '\\0' x")
    outcome = await hooks_in(tmp_path, flood).run(call("UserPromptSubmit"))
    assert outcome.failed
    assert outcome.context == ()
    assert len(outcome.messages[0].text) < 1_000


# ---------------------------------------------------------------- matchers


def test_a_pair_of_event_and_subject_is_matched_once() -> None:
    """Asking costs a lookup, however many hooks there are for other tools."""
    index = MatcherIndex(("PreToolUse", f"Other{number}|x.y", number) for number in range(10))
    first = index.find("PreToolUse", "Bash")
    assert first == ()
    assert index.find("PreToolUse", "Bash") is first
    assert index.find("Stop", "") == ()
    for number in range(1_100):
        index.find("PreToolUse", f"subject {number}")
    assert index.find("PreToolUse", "Other7") == (7,)


@given(pattern=st.text(max_size=20), subject=st.text(max_size=20), event=st.sampled_from(["PreToolUse", "FileChanged"]))
def test_any_matcher_is_refused_or_works(pattern: str, subject: str, event: str) -> None:
    try:
        parsed = parse_matcher(pattern)
    except BadMatcherError:
        return
    found = MatcherIndex([(event, parsed, "hook")]).find(event, subject)
    expected = subject in watched_names(parsed) if event == "FileChanged" else matches(parsed, subject)
    assert bool(found) is expected


@pytest.mark.parametrize(
    ("matcher", "names"),
    [(".env|.envrc", (".env", ".envrc")), ("a b.txt", ("a b.txt",)), ("", ()), ("*.py", ()), ("../x", ()), ("..", ())],
)
def test_a_matcher_may_name_files_to_watch(matcher: str, names: tuple[str, ...]) -> None:
    assert watched_names(matcher) == names


def test_hooks_of_other_types_are_told_apart() -> None:
    one, other = HttpHook("Stop", "", "http://a/", {"x": "1"}), HttpHook("Stop", "", "http://a/", {"x": "2"})
    assert one.identity != other.identity
