"""Unexpected files in the state directory, and settings that changed meanwhile."""

import asyncio
import fcntl
import os
import stat
import tempfile
import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from bobstay.model.event import SessionStarted
from bobstay.server.errors import ApiError
from bobstay.server.sessions.session_trash import move_log
from bobstay.sessions.log import LogError
from bobstay.sessions.log_store import LogStore
from tests.kit.consoles import StartConsole
from tests.kit.waiting import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


async def test_files_that_are_no_sessions_do_not_stop_the_start(
    model: ModelServer, start_console: StartConsole
) -> None:
    first = await start_console()
    view = await first.launch(model.play("hello", Step(blocks=[Say("Hello.")])))
    await first.until_status(view.id, "completed")
    await first.close()
    folder = first.store.directory
    (Path(folder) / "no name!.jsonl").write_text("{}\n")
    (Path(folder) / "folder.jsonl").mkdir()
    second = await start_console()
    assert set(second.registry.views) >= {view.id}
    await second.say(view.id, model.play("again", Step(blocks=[Say("Again.")])))
    await second.until(view.id, lambda view: view.turns == 2 and view.status == "completed")


async def test_a_pipe_among_the_sessions_holds_up_nobody(model: ModelServer, start_console: StartConsole) -> None:
    """Who opens it to read waits until somebody writes: for ever."""
    first = await start_console()
    view = await first.launch("")
    await first.close()
    folder = Path(first.store.directory)
    os.mkfifo(folder / "pipe.jsonl")
    async with asyncio.timeout(DEADLINE):
        second = await start_console()
        assert set(second.registry.views) == {view.id}
        os.mkfifo(folder / "later.jsonl")
        with pytest.raises(OSError, match="not a file"):
            await second.external.refresh("later")
        assert not second.store.has_writer("later")
    assert "later" not in second.registry.views


async def test_who_looks_whether_a_log_is_written_keeps_nobody_from_writing_it(start_console: StartConsole) -> None:
    """FM-32: the look is a lock, for a moment; who opens the log waits for that moment, and no longer."""
    console = await start_console()
    view = await console.launch("")
    path = console.store.path(view.id)
    fd = os.open(path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    looking = threading.Timer(0.02, os.close, (fd,))
    looking.start()
    assert (await console.registry.acquire(view.id)).view.id == view.id
    looking.join()
    assert console.store.has_writer(view.id)
    console.registry.release(view.id)
    assert not console.store.has_writer(view.id)


def test_a_log_is_moved_to_another_file_system_too(tmp_path: Path) -> None:
    """The trash may be on another disk than the sessions: it is copied whole, then it goes."""
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"x" * 3_000_000)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        if os.stat(other).st_dev == os.stat(tmp_path).st_dev:
            pytest.skip("there is only one file system here")
        target = Path(other) / "trash" / "log.jsonl"
        move_log(str(log), str(target))
        assert target.read_bytes() == b"x" * 3_000_000
        assert (log.exists(), stat.S_IMODE(target.stat().st_mode)) == (False, 0o600)
        assert [path.name for path in target.parent.iterdir()] == ["log.jsonl"]
        with pytest.raises(LogError, match="cannot move"):
            move_log(str(log), str(target))
        assert target.exists()


async def test_a_file_that_is_no_session_does_not_end_the_watching(start_console: StartConsole) -> None:
    console = await start_console()
    folder = console.store.directory
    for name in ("first", "second", "third"):
        (Path(folder) / f"{name}!.jsonl").write_text("{}\n")
        LogStore(folder).create(name, SessionStarted(str(console.work), "1", "")).close()
        async with asyncio.timeout(DEADLINE):
            while name not in console.registry.views:
                await asyncio.sleep(0.01)
                (Path(folder) / f"{name}.jsonl").touch()  # the watching may not have begun before


async def test_a_workflow_chosen_while_the_agent_is_up_holds_for_the_next_turn(
    model: ModelServer, start_console: StartConsole
) -> None:
    """S000-43: the policy of a mode is enforced from the moment it is shown."""
    console = await start_console()
    view = await console.launch(model.play("hello", Step(blocks=[Say("Hello.")])), allowed_tools=("Write",))
    done = await console.until_status(view.id, "completed")
    await console.commands.configure(view.id, replace(done.config, workflow="research"))
    path = str(console.work / "made")
    steps = (Step(blocks=[Call("Write", {"file_path": path, "content": "x"}, "c")]), Step(blocks=[Say("ok")]))
    await console.say(view.id, model.play("write", *steps))
    await console.until(view.id, lambda view: view.turns == 2 and view.status in ("completed", "waiting_input"))
    assert not (console.work / "made").exists()


async def test_a_mode_that_does_not_exist_is_not_stored(model: ModelServer, start_console: StartConsole) -> None:
    console = await start_console()
    view = await console.launch(model.play("hello", Step(blocks=[Say("Hello.")])))
    done = await console.until_status(view.id, "completed")
    for _ in range(2):
        with pytest.raises(ApiError) as caught:
            await console.commands.configure(view.id, replace(done.config, permission_mode="anything"))
        assert caught.value.problem.code == "invalid"
        assert console.registry.view(view.id).config.permission_mode == ""
        await console.runner.stop_agent(view.id)


async def test_bypassing_that_is_over_can_be_asked_for_again(model: ModelServer, start_console: StartConsole) -> None:
    """FM-39, the other way round: a new time counts for an agent that is up."""
    console = await start_console()
    prompt = model.play("hello", Step(blocks=[Say("Hello.")]))
    view = await console.launch(prompt, permission_mode="bypassPermissions", bypass_until=time.time() + 0.5)
    await console.until(view.id, lambda view: view.permission_mode == "default" and view.status == "completed")
    config = replace(console.registry.view(view.id).config, bypass_until=time.time() + 600)
    await console.commands.configure(view.id, config)
    assert console.registry.view(view.id).permission_mode == "bypassPermissions"
