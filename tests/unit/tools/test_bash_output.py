"""BashOutput: new output and status of a background command."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bobstay.model.event import InputDropped
from bobstay.tools.base import Context, ToolError
from bobstay.tools.builtin.bash import Bash, BashArgs, require_shells
from bobstay.tools.builtin.bash_output import BashOutput, BashOutputArgs
from bobstay.tools.shell_job import ShellJob
from bobstay.tools.shell_session import ShellLimits, ShellSession
from tests.kit.tool_context import make_context
from tests.kit.waiting import DEADLINE, until


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[Context]:
    (tmp_path / "work").mkdir()
    shells = ShellSession()
    shells.grace = 0.1
    yield make_context(tmp_path / "work", shells=shells)
    await shells.close()


async def start(context: Context, command: str, **more: Any) -> ShellJob:
    outcome = await Bash().run(BashArgs(command, run_in_background=True, **more), context)
    job_id = outcome.display["backgroundTaskId"]
    assert f"running in background with ID: {job_id}." in str(outcome.content)
    job = require_shells(context).jobs[job_id]
    assert isinstance(job, ShellJob)
    assert str(job.output.path) in str(outcome.content)
    return job


async def look(context: Context, job: ShellJob, pattern: str = "", wait: float = 0) -> str:
    outcome = await BashOutput().run(BashOutputArgs(job.id, pattern, wait), context)
    assert isinstance(outcome.content, str)
    return outcome.content


async def printed(job: ShellJob, text: bytes) -> None:
    await until(lambda: text in job.output.path.read_bytes())


async def test_each_look_gives_what_is_new(context: Context) -> None:
    """H1-12."""
    job = await start(context, "echo one; until [ -e stop ]; do sleep 0.01; done; echo two; exit 3")
    await printed(job, b"one\n")
    assert await look(context, job) == "<status>running</status>\n<output>\none\n</output>"
    assert await look(context, job) == "<status>running</status>\n(No new output)"
    (context.root / "stop").touch()
    await job.finished
    expected = "<status>failed</status>\n<exit_code>3</exit_code>\n<output>\ntwo\n</output>"
    assert await look(context, job) == expected
    assert await look(context, job) == "<status>failed</status>\n<exit_code>3</exit_code>\n(No new output)"


async def test_one_that_puts_itself_in_the_background_is_not_called_completed(context: Context) -> None:
    """F13: it runs until every process it started has ended."""
    finished_jobs: list[ShellJob] = []
    require_shells(context).listeners.append(finished_jobs.append)
    job = await start(context, "nohup sh -c 'until [ -e stop ]; do sleep 0.01; done; echo late' & echo started")
    await printed(job, b"started\n")
    await until(lambda: job.code is not None)
    shown = await look(context, job)
    assert shown.startswith("<status>running</status>\n<exit_code>0</exit_code>\n(The shell has ended")
    assert finished_jobs == []
    (context.root / "stop").touch()
    await job.finished
    assert finished_jobs == [job]
    assert "<status>completed</status>" in (shown := await look(context, job))
    assert "late" in shown


async def test_waiting_ends_with_the_command(context: Context) -> None:
    """H1-12."""
    job = await start(context, "until [ -e stop ]; do sleep 0.01; done; echo late")
    waiting = asyncio.create_task(look(context, job, wait=600))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not waiting.done()
    (context.root / "stop").touch()
    async with asyncio.timeout(DEADLINE):
        assert await waiting == "<status>completed</status>\n<exit_code>0</exit_code>\n<output>\nlate\n</output>"


async def test_waiting_is_bounded(context: Context) -> None:
    """H1-12: by the requested time, and by the maximum of a call."""
    job = await start(context, "sleep 300")
    assert await look(context, job, wait=0.01) == "<status>running</status>\n(No new output)"
    require_shells(context).limits = ShellLimits(max_timeout=0.01)
    async with asyncio.timeout(DEADLINE):
        assert "<status>running</status>" in await look(context, job, wait=600)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"bash_id": job.id, "wait": 601}, BashOutputArgs)


async def test_a_look_at_the_end_withdraws_the_notice_of_it(context: Context) -> None:
    job = await start(context, "echo done")
    unread = {job.id}
    context.services.is_unread = unread.__contains__
    await job.finished
    first = await BashOutput().run(BashOutputArgs(job.id), context)
    assert first.events == (InputDropped(job.id),)
    unread.clear()
    assert (await BashOutput().run(BashOutputArgs(job.id), context)).events == ()


async def test_a_filter_gives_only_lines_that_match(context: Context) -> None:
    job = await start(context, "printf 'info a\\nERROR b\\ninfo c\\nERROR d\\n'")
    await job.finished
    assert "<output>\nERROR b\nERROR d\n</output>" in await look(context, job, "^ERR")
    assert "(No new output)" in await look(context, job)


async def test_no_filter_makes_it_slow(context: Context) -> None:
    """A pattern that would take a backtracking engine for ever."""
    job = await start(context, "head -c 50000 /dev/zero | tr '\\0' a")
    await job.finished
    async with asyncio.timeout(DEADLINE):
        assert "(No new output)" in await look(context, job, "(a+)+$b")


async def test_a_bad_filter_is_explained_and_loses_nothing(context: Context) -> None:
    job = await start(context, "echo text")
    await job.finished
    with pytest.raises(ToolError, match="unclosed"):
        await look(context, job, "(")
    assert "text" in await look(context, job)


async def test_much_new_output_is_bounded(context: Context) -> None:
    """F23."""
    job = await start(context, "seq 1000000")
    await job.finished
    shown = await look(context, job)
    assert len(shown) <= 30_000
    assert "\n1\n2\n3\n" in shown
    assert shown.rstrip().endswith("1000000\n</output>")
    assert str(job.output.path) in shown


async def test_an_unknown_id_is_answered_with_the_known_ones(context: Context) -> None:
    with pytest.raises(ToolError, match="None was started"):
        await BashOutput().run(BashOutputArgs("nope"), context)
    job = await start(context, "true")
    with pytest.raises(ToolError, match=job.id):
        await BashOutput().run(BashOutputArgs("nope"), context)


async def test_old_finished_jobs_are_forgotten(context: Context) -> None:
    """F25: memory does not grow with the number of commands."""
    shells = require_shells(context)
    shells.max_jobs = 3
    for _ in range(6):
        await (await start(context, "true")).finished
    assert len(shells.jobs) <= 3


def test_looking_asks_for_nothing(context: Context) -> None:
    tool = BashOutput()
    assert tool.read_only(BashOutputArgs("x"), context)
    assert [access.kind for access in tool.access(BashOutputArgs("x"), context)] == ["none"]
