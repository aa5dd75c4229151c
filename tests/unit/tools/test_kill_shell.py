"""KillShell: ends a background command with every process it started."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from bobstay.system.process_tree import marks_of
from bobstay.tools.base import Context, ToolError
from bobstay.tools.builtin.bash import Bash, BashArgs, require_shells
from bobstay.tools.builtin.kill_shell import KillShell, KillShellArgs
from bobstay.tools.shell_job import ShellJob
from bobstay.tools.shell_session import ShellSession
from tests.kit.tool_context import make_context
from tests.kit.waiting import until


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[Context]:
    (tmp_path / "work").mkdir()
    shells = ShellSession()
    shells.grace = 0.1
    yield make_context(tmp_path / "work", shells=shells)
    await shells.close()


def living(context: Context) -> int:
    part = f":{require_shells(context).session_id}:".encode()
    return sum(part in marks_of(int(name)) for name in os.listdir("/proc") if name.isdigit())


@pytest.mark.parametrize("field", ["shell_id", "task_id"])
async def test_it_ends_everything_and_the_model_is_not_told_again(context: Context, field: str) -> None:
    """F12; the older and the newer name of the field both do."""
    finished_jobs: list[ShellJob] = []
    require_shells(context).listeners.append(finished_jobs.append)
    outcome = await Bash().run(BashArgs("setsid sleep 300 & sleep 300", run_in_background=True), context)
    job_id = outcome.display["backgroundTaskId"]
    await until(lambda: living(context) >= 3)

    answer = await KillShell().run(msgspec.convert({field: job_id}, KillShellArgs), context)

    assert "Successfully killed" in str(answer.content)
    assert living(context) == 0
    assert require_shells(context).jobs[job_id].status == "killed"
    assert [job.ended_event().tell for job in finished_jobs] == ["no"]


async def test_what_had_ended_is_said_to_have_ended(context: Context) -> None:
    outcome = await Bash().run(BashArgs("true", run_in_background=True), context)
    job_id = outcome.display["backgroundTaskId"]
    await require_shells(context).jobs[job_id].finished
    answer = await KillShell().run(KillShellArgs(job_id), context)
    assert "had ended before (completed)" in str(answer.content)


async def test_no_id_and_a_wrong_id_are_refused(context: Context) -> None:
    with pytest.raises(ToolError, match="shell_id"):
        await KillShell().check(KillShellArgs(), context)
    with pytest.raises(ToolError, match="No background shell"):
        await KillShell().run(KillShellArgs("b1"), context)
