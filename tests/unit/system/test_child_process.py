"""Processes, their output and their end."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from bobstay.system.child_process import Child, find_program
from tests.kit.waiting import DEADLINE, until

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


class Received:
    def __init__(self) -> None:
        self.streams = {1: bytearray(), 2: bytearray()}

    def __call__(self, number: int, data: bytes) -> None:
        self.streams[number] += data


def start(script: str, tmp_path: Path, received: Received) -> Child:
    return Child(["/bin/sh", "-c", script], cwd=str(tmp_path), environment=ENVIRONMENT, receive=received)


async def test_output_and_exit_code_come_apart(tmp_path: Path) -> None:
    received = Received()
    child = start("echo out; echo err >&2; exit 7", tmp_path, received)
    assert await child.ended == 7
    child.close()
    assert received.streams == {1: b"out\n", 2: b"err\n"}


async def test_a_signal_is_a_negative_code(tmp_path: Path) -> None:
    child = start("kill -9 $$", tmp_path, Received())
    assert await child.ended == -9
    child.close()


async def test_all_that_was_written_before_the_end_is_received(tmp_path: Path) -> None:
    received = Received()
    child = start("head -c 3000000 /dev/zero", tmp_path, received)
    await child.ended
    child.close()
    assert len(received.streams[1]) == 3_000_000


async def test_the_end_of_the_process_is_the_end_though_its_pipe_is_held(tmp_path: Path) -> None:
    """F11: a background child that holds the pipe does not hold us."""
    received = Received()
    child = start("sleep 1000 & echo ok", tmp_path, received)
    await asyncio.wait_for(child.ended, DEADLINE)
    assert received.streams[1] == b"ok\n"
    assert child.tree.members(), "it still holds the pipe"
    await child.end()
    child.close()


async def test_a_background_child_that_never_stops_writing_does_not_hold_us(tmp_path: Path) -> None:
    """F11: what is drained at the end is what was there, not what keeps coming."""
    received = Received()
    child = start("yes & until [ -e go ]; do sleep 0.01; done; exit 4", tmp_path, received)
    async with asyncio.timeout(DEADLINE):
        while not received.streams[1]:
            await asyncio.sleep(0.005)
        (tmp_path / "go").touch()
        assert await child.ended == 4
    assert child.tree.members(), "it still writes"
    await child.end()
    child.close()


async def test_it_has_a_session_of_its_own(tmp_path: Path) -> None:
    """F14: our own group is never the one that is signalled."""
    child = start("sleep 30", tmp_path, Received())
    assert os.getsid(child.pid) == child.pid
    assert os.getpgid(child.pid) != os.getpgrp()
    await child.end()
    assert child.ended.result() == -15
    child.close()


async def test_one_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    received = Received()
    child = start("trap '' TERM; echo ready; while :; do sleep 0.05; done", tmp_path, received)
    await until(lambda: received.streams[1])
    await child.end(grace=0.1)
    assert await child.ended == -9
    child.close()


async def test_what_does_not_exist_is_an_error(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(FileNotFoundError):
        Child(["/no/such/program"], cwd=str(tmp_path), environment={}, receive=Received())
    with pytest.raises(FileNotFoundError):
        Child(["/bin/true"], cwd="/no/such/directory", environment={}, receive=Received())
    assert len(os.listdir("/dev/fd")) == before


async def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    await start("true", tmp_path, Received()).ended
    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        child = start("echo x", tmp_path, Received())
        await child.ended
        child.close()
    assert len(os.listdir("/dev/fd")) <= before


async def test_it_inherits_no_descriptor_of_ours(tmp_path: Path) -> None:
    kept, other = os.pipe()
    os.set_inheritable(kept, True)
    received = Received()
    child = start("ls /dev/fd", tmp_path, received)
    await child.ended
    child.close()
    os.close(kept)
    os.close(other)
    assert str(kept).encode() not in received.streams[1].split()


def test_programs_are_found_in_absolute_directories_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = tmp_path / "bash"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert find_program("bash", f".::{tmp_path}") == str(planted)
    assert find_program("bash", ".:") == ""
    assert find_program("no-such-program", "/bin:/usr/bin") == ""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the other way is the usual one there")
async def test_without_process_descriptors_a_thread_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    received = Received()
    child = start("echo hi; exit 3", tmp_path, received)
    assert await asyncio.wait_for(child.ended, DEADLINE) == 3
    child.close()
    assert received.streams[1] == b"hi\n"
