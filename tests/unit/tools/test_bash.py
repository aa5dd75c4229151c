"""Bash: results, working directory, limits, timeouts and processes left behind."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bobstay.model.background_events import BackgroundStarted
from bobstay.permissions.access import Access
from bobstay.system.process_tree import marks_of
from bobstay.tools.base import EVERYTHING, Claim, Context, Outcome, ToolError
from bobstay.tools.builtin.bash import Bash, BashArgs, foreground_seconds
from bobstay.tools.shell_job import ShellJob
from bobstay.tools.shell_session import ShellLimits, ShellSession
from tests.kit.tool_context import Reports, make_context
from tests.kit.waiting import DEADLINE, until

SHAPE = {"stdout", "stderr", "interrupted", "isImage", "noOutputExpected"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
async def shells() -> AsyncIterator[ShellSession]:
    made = ShellSession()
    made.grace = 0.1
    yield made
    await made.close()
    assert living(made) == []


@pytest.fixture
def context(root: Path, shells: ShellSession) -> Context:
    return make_context(root, shells=shells)


async def bash(context: Context, command: str, **more: Any) -> Outcome:
    return await Bash().run(BashArgs(command, **more), context)


def text(outcome: Outcome) -> str:
    assert isinstance(outcome.content, str)
    return outcome.content


def living(shells: ShellSession) -> list[int]:
    """All processes that carry the mark of a call of these shells."""
    part = f":{shells.session_id}:".encode()
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and part in marks_of(int(name))]


async def test_output_is_given_to_the_model_and_apart_for_display(context: Context) -> None:
    """H1-12."""
    outcome = await bash(context, "echo out; echo err >&2")
    assert sorted(text(outcome).splitlines()) == ["err", "out"]
    assert not outcome.is_error
    assert set(outcome.display) == SHAPE
    assert (outcome.display["stdout"], outcome.display["stderr"]) == ("out\n", "err\n")


async def test_silence_is_said(context: Context) -> None:
    assert text(await bash(context, "true")) == "(Bash completed with no output)"


@pytest.mark.parametrize(
    ("command", "phrase"),
    [
        ("echo before; exit 3", "Exit code 3\nbefore"),
        ("no-such-program", "Exit code 127\n"),
        ("kill -9 $$", "Exit code 137 (ended by SIGKILL)"),
        ("echo (", "Exit code 2\nbash: eval: line 1: syntax error"),
    ],
)
async def test_a_failure_is_an_error_with_its_code_and_output(context: Context, command: str, phrase: str) -> None:
    outcome = await bash(context, command)
    assert outcome.is_error
    assert text(outcome).startswith(phrase)
    assert set(outcome.display) == SHAPE


@pytest.mark.parametrize(
    "command",
    [
        "cd sub",
        "cd sub; exit 3",
        "set -e; cd sub; false",
        "trap 'echo bye' EXIT; cd sub",
        "trap 'cd /; exit 9' EXIT; cd sub; exit 2",
        "pushd sub >/dev/null",
        "cd sub && (cd /)",
        "cd sub; exec 3>/dev/null 9>/dev/null",
        "cd sub\necho 'unclosed",
    ],
)
async def test_the_directory_stays_for_the_next_call(context: Context, root: Path, command: str) -> None:
    """H1-12: whichever way the command ends."""
    (root / "sub").mkdir()
    outcome = await bash(context, command)
    expected = "/" if command.startswith("trap 'cd /") else str(root / "sub")
    assert outcome.cwd == expected
    assert text(await bash(context, "pwd")) == expected


async def test_variables_do_not_stay(context: Context) -> None:
    """H1-12."""
    await bash(context, "export ONE=1; two=2; three() { :; }")
    assert text(await bash(context, 'echo "[$ONE][$two][$1]"; type three 2>&1 || true')).startswith("[][][]\n")


async def test_a_directory_that_is_gone_is_said_and_the_root_taken(context: Context, root: Path) -> None:
    (root / "sub").mkdir()
    await bash(context, "cd sub")
    (root / "sub").rmdir()
    outcome = await bash(context, "pwd")
    assert f"{root}/sub is gone" in text(outcome)
    assert text(outcome).endswith(f"\n{root}")
    assert outcome.cwd == str(root)
    assert text(await bash(context, "pwd")) == str(root)


async def test_a_directory_whose_name_is_no_text_is_kept(context: Context, root: Path) -> None:
    outcome = await bash(context, "mkdir $'d\\xff' && cd $'d\\xff' && touch here")
    outcome.cwd.encode()
    assert text(await bash(context, "ls")) == "here"


async def test_nothing_waits_for_a_person(context: Context) -> None:
    outcome = await bash(context, 'cat; read -r x; echo "$TERM $PAGER $GIT_TERMINAL_PROMPT $GIT_EDITOR"')
    assert text(outcome) == "dumb cat 0 true"


async def test_startup_files_are_not_read(context: Context, root: Path) -> None:
    (root / ".bashrc").write_text("echo rc\n")
    (root / ".bash_profile").write_text("echo profile\n")
    (root / "env").write_text("echo env\n")
    context.environment = context.environment | {"BASH_ENV": str(root / "env"), "ENV": str(root / "env")}
    assert text(await bash(context, "echo only")) == "only"


async def test_the_environment_is_the_one_of_the_context(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """H5-9: what was scrubbed does not come back."""
    monkeypatch.setenv("BOBSTAY_TEST_KEY", "sk-secret")
    context.environment = context.environment | {"GIVEN": "yes"}
    assert "sk-secret" not in text(await bash(context, "env"))
    assert text(await bash(context, "echo $GIVEN")) == "yes"


async def test_a_command_too_long_for_an_argument_runs(context: Context) -> None:
    outcome = await bash(context, f"x='{'y' * 300_000}'; echo ${{#x}} $#; cd /")
    assert text(outcome) == "300000 0"
    assert outcome.cwd == "/"


@pytest.mark.parametrize("command", ["", "  \n", "echo a\0b", "echo \ud800"])
async def test_senseless_commands_are_refused(context: Context, command: str) -> None:
    with pytest.raises(ToolError):
        await Bash().check(BashArgs(command), context)


@pytest.mark.parametrize(
    ("command", "size"),
    [
        ("head -c 10000000 /dev/zero | tr '\\0' x", 10_000_000),
        ("yes | head -n 1000000", 2_000_000),
        ("head -c 1000000 /dev/urandom", 1_000_000),
        ("head -c 1000000 /dev/zero", 1_000_000),
        ("printf 'ä%.0s' $(seq 40000)", 80_000),
    ],
)
async def test_long_output_is_cut_in_the_middle_and_kept_in_a_file(context: Context, command: str, size: int) -> None:
    """F23, H1-7: ten megabytes on a line, a million lines, bytes that are no text."""
    outcome = await bash(context, command)
    shown = text(outcome)
    assert 15_000 < len(shown) <= 30_000
    assert "left out here" in shown
    shown.encode()
    (spilled,) = context.spill.iterdir()
    assert str(spilled) in shown
    assert spilled.stat().st_size == size
    assert len(outcome.display["stdout"]) <= 30_000


async def test_colours_are_kept_in_the_file_and_not_for_the_model(context: Context) -> None:
    outcome = await bash(context, "printf '\\033[31mred\\033[0m\\n'; seq 60000")
    assert text(outcome).startswith("red\n1\n2\n")
    (spilled,) = context.spill.iterdir()
    assert spilled.read_bytes().startswith(b"\x1b[31mred\x1b[0m\n1\n")


async def test_output_is_shown_while_the_command_runs(context: Context, root: Path) -> None:
    """H1-12: live, but not for each byte."""
    reports = context.report
    assert isinstance(reports, Reports)
    command = "for i in $(seq 300); do echo line $i; sleep 0.001; done; until [ -e stop ]; do sleep 0.01; done"
    running = asyncio.create_task(bash(context, command))
    await until(lambda: "line 300\n" in "".join(reports.texts))
    (root / "stop").touch()
    await running
    assert len(reports.texts) < 150
    assert all(len(piece) <= 8_192 for piece in reports.texts)


async def test_a_background_child_does_not_hold_the_call(context: Context, shells: ShellSession) -> None:
    """F11, F13: the call does not wait for it, and it is listed as running."""
    async with asyncio.timeout(DEADLINE):
        outcome = await bash(context, "sleep 1000 & echo ok")
    assert text(outcome).startswith("ok\n")
    ((job_id, job),) = shells.jobs.items()
    assert job_id in text(outcome)
    assert job.status == "running"


async def test_what_is_about_to_end_is_not_called_left_behind(context: Context, shells: ShellSession) -> None:
    shells.linger = 30.0
    outcome = await bash(context, "echo hi > >(cat); true")
    assert text(outcome) == "hi"
    assert shells.jobs == {}


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [(0, 120.0), (1, 0.001), (90_000, 90.0), (300_000, 300.0), (600_000, 600.0), (600_001, 600.0), (10**9, 600.0)],
)
async def test_a_call_waits_two_minutes_or_as_long_as_asked_but_never_more_than_ten(asked: int, seconds: float) -> None:
    """H1-12."""
    assert foreground_seconds(BashArgs("make", timeout=asked), ShellSession()) == seconds


async def test_settings_can_move_commands_to_the_background_earlier_but_not_later(shells: ShellSession) -> None:
    shells.limits = ShellLimits(background_after=60.0)
    assert foreground_seconds(BashArgs("make"), shells) == 60.0
    assert foreground_seconds(BashArgs("make", timeout=1_000), shells) == 1.0


@pytest.mark.parametrize("given", [{"timeout": 50}, {"timeout": 50, "run_in_background": True}])
async def test_the_timeout_never_ends_a_command(context: Context, shells: ShellSession, root: Path, given: Any) -> None:
    """H1-12: after the timeout it continues in the background until it ends."""
    outcome = await bash(context, "until [ -e stop ]; do sleep 0.01; done; echo done", **given)
    ((job_id, job),) = shells.jobs.items()
    assert job_id in text(outcome)
    assert not outcome.is_error
    await until(lambda: job.seconds > 0.2)
    assert job.status == "running"
    (root / "stop").touch()
    await job.finished
    assert (job.status, job.output.path.read_bytes()) == ("completed", b"done\n")


async def test_a_person_sends_a_command_to_the_background(context: Context, shells: ShellSession, root: Path) -> None:
    """H1-12."""
    running = asyncio.create_task(bash(context, "echo early; until [ -e stop ]; do sleep 0.01; done"))
    reports = context.report
    assert isinstance(reports, Reports)
    await until(lambda: reports.texts)
    assert shells.detach("another call") == ()
    (job_id,) = shells.detach(context.call_id)
    outcome = await running
    assert "The user moved the command to the background" in text(outcome)
    assert "timedOutAfterMs" not in outcome.display
    assert text(outcome).startswith("early\n")
    (started,) = outcome.events
    assert isinstance(started, BackgroundStarted)
    assert (started.id, started.call_id, started.awaited) == (job_id, context.call_id, True)
    assert shells.detach() == ()
    (root / "stop").touch()
    await shells.jobs[job_id].finished


async def test_a_cancelled_call_leaves_nobody(context: Context, shells: ShellSession) -> None:
    """F12: interrupt."""
    running = asyncio.create_task(bash(context, "setsid sleep 300 & (setsid sleep 300 &); sleep 300"))
    await until(lambda: len(living(shells)) >= 4)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert living(shells) == []


async def test_a_call_cancelled_twice_leaves_nobody_either(context: Context, shells: ShellSession) -> None:
    """F12: the second interrupt does not wait for the grace."""
    shells.grace = 30.0
    running = asyncio.create_task(bash(context, "trap '' TERM; echo; while :; do sleep 0.1; done"))
    reports = context.report
    assert isinstance(reports, Reports)
    await until(lambda: reports.texts)
    running.cancel()
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: not living(shells))


@pytest.mark.parametrize("escape", ["setsid sleep 300 &", "(setsid sh -c 'sleep 300 &' &)", "nohup sleep 300 &"])
async def test_the_end_of_the_session_leaves_nobody(context: Context, shells: ShellSession, escape: str) -> None:
    """F12: processes left behind by a command that succeeded."""
    await bash(context, f"{escape}\n echo done")
    await until(lambda: living(shells))
    await shells.close()
    assert living(shells) == []


async def test_a_long_command_moves_to_the_background(context: Context, shells: ShellSession, root: Path) -> None:
    """H1-12."""
    finished_jobs: list[ShellJob] = []
    shells.listeners.append(finished_jobs.append)
    shells.limits = ShellLimits(default_timeout=0.1)
    outcome = await bash(context, "echo first; until [ -e stop ]; do sleep 0.01; done; echo last; cd /; exit 3")
    ((job_id, job),) = shells.jobs.items()
    assert text(outcome).startswith("first\n")
    assert "Not done after 0.1s: moved to the background" in text(outcome)
    assert (outcome.display["backgroundTaskId"], outcome.display["timedOutAfterMs"]) == (job_id, 100)
    assert (shells.in_background, finished_jobs) == ([job], [])
    (root / "stop").touch()
    await job.finished
    assert (shells.in_background, finished_jobs) == ([], [job])
    ended = job.ended_event()
    assert (ended.status, ended.code, ended.tell, ended.call_id) == ("failed", 3, "wake", context.call_id)
    assert job.output.path.read_bytes() == b"first\nlast\n"
    assert text(await bash(context, "pwd")) == str(root)


async def test_what_a_command_left_running_is_not_awaited(context: Context, shells: ShellSession) -> None:
    outcome = await bash(context, "sleep 300 & exit 3")
    assert outcome.is_error
    (started,) = outcome.events
    assert isinstance(started, BackgroundStarted)
    assert not started.awaited
    ((_, job),) = shells.jobs.items()
    assert job.tell == "no"


async def test_too_many_background_commands_are_refused(context: Context, shells: ShellSession) -> None:
    shells.max_jobs = 2
    for _ in range(2):
        await bash(context, "sleep 300", run_in_background=True)
    with pytest.raises(ToolError, match="KillShell"):
        await bash(context, "sleep 300", run_in_background=True)


async def test_a_missing_shell_or_session_part_is_an_error(context: Context, root: Path) -> None:
    with pytest.raises(ToolError, match="no shell"):
        await bash(make_context(root), "true")
    context.cwd = context.root = Path("/no/such/place")
    with pytest.raises(ToolError, match="is gone"):
        await bash(context, "true")


def test_what_a_call_states(context: Context) -> None:
    tool = Bash()
    assert tool.access(BashArgs("rm -rf x"), context) == (Access("exec", "rm -rf x"),)
    assert tool.claims(BashArgs("make"), context) == (EVERYTHING,)
    assert tool.claims(BashArgs("cd sub"), context) == (EVERYTHING,)
    assert tool.claims(BashArgs("ls"), context) == (Claim("*", shared=True),)
    assert tool.read_only(BashArgs("pwd"), context)
    assert tool.read_only(BashArgs("ls ."), context)
    assert not tool.read_only(BashArgs("pwd; rm x"), context)
    assert tool.destructive(BashArgs("sudo rm x"), context)
    assert not tool.destructive(BashArgs("ls"), context)


def test_the_description_names_the_shell() -> None:
    """F38: the model must know whose syntax to write."""
    assert "bash" in Bash.description


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("seq 100000 105000", 5_001),
        ("seq 1 400000", 400_000),
        ("seq 100000 105000 | head -c -1", 5_001),
        ("seq 9", None),
    ],
)
async def test_the_lines_of_an_output_that_is_cut_are_told(context: Context, command: str, lines: int | None) -> None:
    """Of a text without its middle they cannot be counted."""
    outcome = await bash(context, command)
    assert isinstance(outcome.display, dict)
    assert outcome.display.get("outputLines") == lines
