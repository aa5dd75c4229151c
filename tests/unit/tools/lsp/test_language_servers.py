"""Language servers that hang, die, send garbage or too much, and what edits and questions get of them."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import pytest

from bobstay.system.process_tree import marks_of
from bobstay.tools.base import Context, ToolError
from bobstay.tools.builtin.edit import Edit, EditArgs
from bobstay.tools.builtin.lsp import Lsp, LspArgs
from bobstay.tools.builtin.write import Write, WriteArgs
from bobstay.tools.lsp.language_servers import LanguageServers
from bobstay.tools.lsp.server_table import ServerSpec
from tests.kit import scripted_language_server
from tests.kit.tool_context import ledger_of, make_context
from tests.kit.waiting import until, wait_until

SESSION = str(uuid4())
"""Another one in each process: tests that run at the same time would find each other's servers."""
Open: TypeAlias = Callable[..., Context]


@pytest.fixture
async def open_with(tmp_path: Path) -> AsyncGenerator[Open, None]:
    """Makes the context of a session whose server for `.txt` behaves as told."""
    opened: list[LanguageServers] = []

    def make(behaviour: str = "", **options: Any) -> Context:
        command = (sys.executable, scripted_language_server.__file__, behaviour)
        spec = ServerSpec("scripted", command, {".txt": "text"}, ("top.cfg",))
        environment = {"PATH": "/usr/bin:/bin"}
        servers = LanguageServers({".txt": spec}, environment, SESSION, **options)
        opened.append(servers)
        (tmp_path / "a.txt").write_text("fine\nBAD one\n")
        return make_context(tmp_path, languages=servers)

    yield make
    for servers in opened:
        await servers.close()
    assert not session_processes()


def session_processes() -> list[int]:
    """The living processes that the servers of the test started."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in pids if SESSION.encode() in marks_of(pid)]


def servers_of(context: Context) -> LanguageServers:
    assert context.services.languages is not None
    return context.services.languages


async def ask(context: Context, operation: str = "hover", path: str = "a.txt") -> str:
    args = LspArgs(operation, path, 1, "fine")  # type: ignore[arg-type]  # any operation
    await Lsp().check(args, context)
    return str((await Lsp().run(args, context)).content)


async def write(context: Context, text: str, path: str = "a.txt") -> str:
    outcome = await Write().run(WriteArgs(path, text), context)
    ledger_of(context).learn(outcome)
    return str(outcome.content)


async def test_one_server_answers_all_questions_of_a_project(open_with: Open, tmp_path: Path) -> None:
    """H1-4"""
    context = open_with("")
    assert not servers_of(context).running
    first = await ask(context)
    assert first.startswith("process ")
    assert await ask(context) == first
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/top.cfg").touch()
    (tmp_path / "inner/b.txt").write_text("fine\n")
    assert await ask(context, path="inner/b.txt") != first
    assert {server.project for server in servers_of(context).running} == {str(tmp_path), f"{tmp_path}/inner"}


async def test_diagnostics_name_the_place(open_with: Open, tmp_path: Path) -> None:
    """H1-4"""
    context = open_with("")
    assert await ask(context, "diagnostics") == f"{tmp_path}/a.txt:2:1: error: bad: BAD one (scripted)"
    (tmp_path / "a.txt").write_text("fine\n")
    assert await ask(context, "diagnostics") == f"scripted finds no problem in {tmp_path}/a.txt."


async def test_columns_are_counted_in_characters(open_with: Open, tmp_path: Path) -> None:
    """H1-4"""
    context = open_with("")
    (tmp_path / "a.txt").write_text("fine\n\U0001d54f BAD\n")
    assert (await ask(context, "diagnostics")).startswith(f"{tmp_path}/a.txt:2:3: error")


async def test_calls_at_the_same_time_start_one_server(open_with: Open) -> None:
    """H1-4"""
    context = open_with("")
    answers = await asyncio.gather(*(ask(context) for _ in range(5)))
    assert len(set(answers)) == 1


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        ("dies", "it ended with code 3 .out of cheese."),
        ("garbage", "it sent something else than messages"),
        ("huge", "it sent a message of 4,000,000,000 bytes"),
        ("flood", "it sent more than 64 MiB that nobody asked for"),
    ],
)
async def test_a_broken_server_is_named_with_what_is_wrong_and_started_again_a_few_times(
    open_with: Open, behaviour: str, problem: str
) -> None:
    """H1-4"""
    context = open_with(behaviour)
    for _ in range(3):
        with pytest.raises(ToolError, match=f"The language server scripted could not answer: {problem}"):
            await ask(context)
    with pytest.raises(ToolError, match="ended 3 times and is not started again"):
        await ask(context)


async def test_a_server_that_hangs_is_given_up(open_with: Open) -> None:
    """H1-4"""
    context = open_with("hang", start_seconds=0.3)
    with pytest.raises(ToolError, match=r"scripted cannot be used: it did not answer initialize within 0\.3 seconds"):
        await ask(context)
    assert not session_processes()


async def test_a_call_that_is_cancelled_while_its_server_starts_leaves_none(open_with: Open) -> None:
    """H1-4"""
    context = open_with("hang")
    call = asyncio.ensure_future(ask(context))
    await until(session_processes)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not session_processes()


async def test_a_program_that_is_gone_is_named(open_with: Open, tmp_path: Path) -> None:
    """H1-4"""
    spec = ServerSpec("lost", (str(tmp_path / "nothing"),), {".txt": "text"})
    context = make_context(tmp_path, languages=LanguageServers({".txt": spec}, {}, SESSION))
    (tmp_path / "a.txt").write_text("fine\n")
    with pytest.raises(ToolError, match="lost cannot be used: it could not be started: No such file"):
        await ask(context)


@pytest.mark.parametrize("behaviour", ["children", "stays"])
async def test_the_end_of_the_session_leaves_no_process(open_with: Open, behaviour: str) -> None:
    """H1-12"""
    context = open_with(behaviour)
    await ask(context)
    assert len(session_processes()) == 2
    await servers_of(context).close()
    assert not session_processes()


async def test_a_server_that_was_not_asked_about_finds_no_programs_of_the_project(tmp_path: Path) -> None:
    """H1-4"""
    variables = {"PATH": f"{tmp_path}/.venv/bin:/usr/bin:/bin", "VIRTUAL_ENV": f"{tmp_path}/.venv", "LANG": "C.UTF-8"}
    command = (sys.executable, scripted_language_server.__file__)
    for name, asked in (("unasked", False), ("asked", True)):
        spec = ServerSpec(name, command, {".txt": "text"}, runs_project=asked)
        servers = LanguageServers({".txt": spec}, variables, SESSION)
        server = await servers.server_for(str(tmp_path / "a.txt"), (tmp_path,))
        given = Path(f"/proc/{server.pid}/environ").read_text().split("\0")
        assert "LANG=C.UTF-8" in given
        assert any(str(tmp_path) in variable for variable in given) is asked
        await servers.close()


async def test_servers_for_python_are_told_where_the_packages_of_the_project_are(
    open_with: Open, tmp_path: Path
) -> None:
    """H1-4"""
    context = open_with("configured")
    assert await ask(context) == '[{"analysis": {}}, {}, null]'
    packages = tmp_path / ".venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    told = json.dumps({"extraPaths": [str(packages)]})
    assert await ask(context) == f'[{{"analysis": {told}}}, {told}, null]'


async def test_requests_of_a_server_are_answered_or_refused(open_with: Open) -> None:
    """H1-4"""
    assert (await ask(open_with("asks"))).startswith("process ")


async def test_what_a_server_refuses_is_told(open_with: Open) -> None:
    """H1-4"""
    with pytest.raises(ToolError, match="it refused: no textDocument/definition here"):
        await ask(open_with(""), "definition")


async def test_an_edit_tells_the_new_errors_of_a_running_server(open_with: Open, tmp_path: Path) -> None:
    """H1-4"""
    context = open_with("")
    assert "BAD" not in await write(context, "BAD new\n", "unwatched.txt")
    await ask(context, "diagnostics")
    ledger_of(context).hashes.update((await Write().run(WriteArgs("n.txt", "x\n"), context)).files)
    said = await write(context, "BAD a\n", "n.txt")
    assert said.endswith(
        "The language server scripted finds new errors in the file:\n"
        f"{tmp_path}/n.txt:1:1: error: bad: BAD a (scripted)"
    )
    outcome = await Edit().run(EditArgs("n.txt", "BAD a\n", "more\nBAD a\nBAD b\n"), context)
    assert str(outcome.content).endswith(f"in the file:\n{tmp_path}/n.txt:3:1: error: bad: BAD b (scripted)")


async def test_edits_are_not_diagnosed_if_the_settings_say_so(tmp_path: Path, open_with: Open) -> None:
    """H1-4"""
    context = open_with("", diagnose_edits=False)
    await ask(context)
    assert "error" not in await write(context, "BAD a\n", "n.txt")


async def test_an_edit_waits_no_longer_than_it_may(open_with: Open) -> None:
    """H1-4"""
    context = open_with("silent", edit_seconds=0.2)
    await ask(context)
    (server,) = servers_of(context).running
    assert await write(context, "BAD a\n", "n.txt") == f"Created {context.root}/n.txt (1 line)."
    assert server.answered_late


async def test_a_server_that_was_late_is_not_waited_for(open_with: Open) -> None:
    """H1-4"""
    context = open_with("silent", edit_seconds=3600.0)
    await ask(context)
    (server,) = servers_of(context).running
    server.answered_late = True
    await write(context, "BAD b\n", "n.txt")  # ends


async def test_diagnostics_of_an_older_text_do_not_count(open_with: Open, tmp_path: Path) -> None:
    """H1-4"""
    assert await ask(open_with("stale"), "diagnostics") == f"scripted finds no problem in {tmp_path}/a.txt."


async def test_an_edit_is_made_although_the_server_died(open_with: Open, tmp_path: Path) -> None:
    """H1-4"""
    context = open_with("dies")
    await ask(context, "diagnostics")
    with pytest.raises(ToolError):
        await ask(context)
    assert await write(context, "BAD a\n", "n.txt") == f"Created {tmp_path}/n.txt (1 line)."


KILLED = """
import asyncio, os, sys
from pathlib import Path
from bobstay.tools.lsp.language_servers import LanguageServers
from bobstay.tools.lsp.server_table import ServerSpec

async def main() -> None:
    spec = ServerSpec("scripted", (sys.executable, sys.argv[1], "stays"), {".txt": "text"})
    servers = LanguageServers({".txt": spec}, {"PATH": "/usr/bin:/bin"}, sys.argv[2])
    await servers.server_for(f"{os.getcwd()}/a.txt", (Path(os.getcwd()),))
    print("started", flush=True)
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


def test_servers_end_when_the_session_is_killed(tmp_path: Path) -> None:
    """H1-12"""
    command = [sys.executable, "-c", KILLED, scripted_language_server.__file__, SESSION]
    done = subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, check=False)
    assert (done.returncode, done.stdout) == (-9, b"started\n")
    wait_until(lambda: not session_processes())
