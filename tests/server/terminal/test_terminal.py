"""Terminals: input, size, end, environment and clean-up."""

import asyncio
import re
import sys
from pathlib import Path

import pytest

from bobstay.model.session_events import WorkerExited, WorkerStarted
from bobstay.server.errors import ApiError
from bobstay.server.workers.scrollback import MOST
from bobstay.server.workers.terminal_command import resume_command
from bobstay.server.workers.terminal_worker import BURST, MOST_INPUT
from bobstay.server.workers.worker import WorkerError
from bobstay.sessions.log import LogFull
from tests.kit.processes import is_alive, resident_memory
from tests.kit.waiting import until
from tests.server.terminal.terminal_session import SESSION, TerminalSession

ID = "0b0e7a52-6f5b-4b3c-9c38-2f2f0b8f6f11"


async def test_what_is_typed_is_run_and_shown(tmp_path: Path) -> None:
    """S004-2: a terminal is a worker with a real shell behind it."""
    session = TerminalSession(tmp_path)
    await session.terminal.start()
    reading = session.read()
    session.terminal.write(b"echo $((40+2)); tty; exit 3\n")
    ended = await reading.end()

    assert b"42\r\n/dev/pts/" in reading.text
    assert (ended.code, ended.signal, ended.why) == (3, "", "exit")
    started, exited = session.log
    assert isinstance(started, WorkerStarted)
    assert (started.kind, started.epoch, started.command) == ("terminal", 1, ("/bin/sh",))
    assert started.pid
    assert started.born
    assert exited == WorkerExited("term-1", "terminal", 1, 3)
    assert not session.terminal.alive()


async def test_the_output_is_not_in_the_log(tmp_path: Path) -> None:
    session = TerminalSession(tmp_path)
    await session.terminal.start()
    reading = session.read()
    session.terminal.write(b"echo very''private; exit\n")
    await reading.end()

    assert b"veryprivate" in reading.text
    assert "veryprivate" not in repr(session.log)


async def test_keys_of_the_server_are_not_in_its_environment(tmp_path: Path) -> None:
    """FM-56: a terminal inherits no secret; what the server grants it explicitly it gets."""
    session = TerminalSession(tmp_path, granted={"ENGINE_KEY": "granted-value"})
    await session.terminal.start()
    reading = session.read()
    session.terminal.write(b"env; exit\n")
    await reading.end()

    assert b"sk-ant-secret" not in reading.text
    assert b"token-of-the-server" not in reading.text
    assert b"ENGINE_KEY=granted-value" in reading.text
    assert b"TERM=xterm-256color" in reading.text


async def test_a_size_is_passed_on_and_nonsense_is_refused(tmp_path: Path) -> None:
    session = TerminalSession(tmp_path)
    session.terminal.resize(100, 30)
    await session.terminal.start()
    reading = session.read()
    session.terminal.write(b"stty size\n")
    await reading.until(b"30 100\r\n")
    session.terminal.resize(132, 43)
    session.terminal.write(b"stty size\n")
    await reading.until(b"43 132\r\n")

    for columns, rows in ((0, 24), (80, -1), (100_000, 24)):
        with pytest.raises(ApiError) as refused:
            session.terminal.resize(columns, rows)
        assert refused.value.problem.code == "invalid"
    await session.terminal.stop()


async def test_binary_goes_both_ways(tmp_path: Path) -> None:
    session = TerminalSession(
        tmp_path, command=("/bin/sh", "-c", "stty raw -echo; echo ready; head -c 256 | od -An -v -tx1")
    )
    await session.terminal.start()
    reading = session.read()
    await reading.until(b"ready")
    session.terminal.write(bytes(range(256)))
    await reading.end()

    shown = b"".join(re.findall(rb"\b[0-9a-f]{2}\b", reading.text.partition(b"ready")[2]))
    assert bytes.fromhex(shown.decode()) == bytes(range(256))


async def test_stop_ends_all_that_came_from_it(tmp_path: Path) -> None:
    """FM-29: a background job, one in a session of its own, one that ignores being hung up on."""
    script = (
        b"sleep 1000 & echo one=$!.; setsid sleep 1001 & echo two=$!.; "
        b"env -i setsid sh -c 'trap \"\" HUP TERM; echo three=$$.; while :; do sleep 1; done' & wait\n"
    )
    session = TerminalSession(tmp_path)
    await session.terminal.start()
    reading = session.read()
    session.terminal.write(script)
    await reading.until(lambda text: all(re.search(word + rb"=\d+\.", text) for word in (b"one", b"two", b"three")))
    pids = [int(pid) for pid in re.findall(rb"(?:one|two|three)=(\d+)\.", reading.text)]
    assert len(pids) == 3
    assert any(is_alive(pid) for pid in pids)

    await session.terminal.stop()

    assert not [pid for pid in (*pids, session.terminal.pid) if is_alive(pid)]
    assert isinstance(session.log[-1], WorkerExited)
    assert session.log[-1].why == "stopped"
    await session.terminal.stop()
    assert len(session.log) == 2


async def test_what_a_shell_leaves_when_it_ends_by_itself_goes_too(tmp_path: Path) -> None:
    """FM-29."""
    session = TerminalSession(tmp_path)
    await session.terminal.start()
    reading = session.read()
    session.terminal.write(b"setsid sleep 1002 & echo pid=$!.; exit\n")
    await reading.end()
    match = re.search(rb"pid=(\d+)\.", reading.text)
    assert match
    await session.terminal.stop()

    assert not is_alive(int(match[1]))


async def test_one_that_ends_does_not_take_the_next_of_its_name_with_it(tmp_path: Path) -> None:
    """FM-29: the system gives a terminal the name of one that was closed; whoever has it then is a stranger."""
    first = TerminalSession(tmp_path, "term-1")
    for number in range(2, 50):
        await first.terminal.start()
        name = await named(first)
        await first.terminal.stop()
        second = TerminalSession(tmp_path, f"term-{number}")
        await second.terminal.start()
        if await named(second) == name:  # else another process was faster
            break
        await second.terminal.stop()
    assert await named(second) == name
    assert first.terminal._tree is not None
    assert first.terminal._tree.members() == []
    await second.terminal.stop()


async def named(session: TerminalSession) -> bytes:
    reading = session.read()
    session.terminal.write(b"echo tty=`tty`.\n")
    text = await reading.until(lambda text: re.search(rb"tty=/dev/pts/\d+\.", text) is not None)
    return bytes(re.findall(rb"tty=(/dev/pts/\d+)\.", text)[-1])


async def test_started_again_it_is_another_terminal(tmp_path: Path) -> None:
    """FM-6, S004-41: the next epoch, offsets from nothing, and clients are told."""
    session = TerminalSession(tmp_path)
    await session.terminal.start()
    reading = session.read()
    session.terminal.write(b"echo first-life; exit\n")
    await reading.end()
    await session.terminal.start()
    session.terminal.write(b"echo second''-life\n")
    await reading.until(b"second-life")

    assert session.terminal.epoch == 2
    assert [(other.epoch, other.offset) for other in reading.others] == [(2, 0)]
    assert session.terminal.scrollback.start == 0
    assert b"first-life" not in session.terminal.scrollback.read(0, MOST)
    await session.terminal.stop()
    assert [event.epoch for event in session.log if isinstance(event, WorkerStarted)] == [1, 2]


async def test_a_flood_stays_in_bounds_and_others_get_their_turn(tmp_path: Path) -> None:
    """Memory stays bounded at the speed of `yes`, and the event loop is not taken by it."""
    session = TerminalSession(tmp_path, command=("yes", "a line that is said again and again"))
    await session.terminal.start()
    stalled = session.terminal.subscribe()
    scrollback = session.terminal.scrollback
    await until(lambda: scrollback.end > 2 * MOST)
    before = resident_memory()
    begun, largest = scrollback.end, 0
    while scrollback.end < begun + 4 * MOST:
        before_turn = scrollback.end
        await asyncio.sleep(0)
        largest = max(largest, scrollback.end - before_turn)

    assert scrollback.end - scrollback.start <= MOST
    assert resident_memory() - before < 6 * MOST
    assert largest <= 2 * BURST, "of one turn of the event loop"
    assert (await stalled.next_piece()).offset > scrollback.end - MOST  # type: ignore[union-attr]  # a reset
    await session.terminal.stop("killed")
    assert session.log[-1].why == "killed"  # type: ignore[union-attr]  # it exited


async def test_typing_that_nobody_reads_is_bounded_and_an_interrupt_still_works(tmp_path: Path) -> None:
    program = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
print("ready", flush=True)
signal.sigwait({signal.SIGINT})
print("got-it", flush=True)
"""
    session = TerminalSession(tmp_path, command=(sys.executable, "-c", program))
    await session.terminal.start()
    reading = session.read()
    await reading.until(b"ready")
    with pytest.raises(ApiError) as refused:
        _type_without_end(session)
    assert refused.value.problem.code == "too_many"

    session.terminal.write(b"\x03")

    await reading.end()
    assert b"got-it" in reading.text


async def test_typing_into_an_ended_terminal_is_refused(tmp_path: Path) -> None:
    session = TerminalSession(tmp_path, command=("true",))
    await session.terminal.start()
    await session.read().end()

    with pytest.raises(ApiError) as refused:
        session.terminal.write(b"echo\n")
    assert refused.value.problem.code == "wrong_state"


@pytest.mark.parametrize(
    ("cwd", "command", "message"),
    [("", ("no-such-program",), "was not found"), ("gone", (), "no longer exists")],
)
async def test_what_cannot_start_says_why(tmp_path: Path, cwd: str, command: tuple[str, ...], message: str) -> None:
    session = TerminalSession(tmp_path / cwd, command=command)

    with pytest.raises(WorkerError, match=message):
        await session.terminal.start()

    assert isinstance(session.log[-1], WorkerExited)
    assert session.log[-1].why == "not_started"
    assert message in session.log[-1].error


async def test_a_full_disk_does_not_keep_a_terminal_from_ending(tmp_path: Path) -> None:
    def full(_: object) -> None:
        raise LogFull("no space left")

    session = TerminalSession(tmp_path, record=full)
    await session.terminal.start()
    pid = session.terminal.pid
    await session.terminal.stop()

    assert not is_alive(pid)


async def test_a_server_chosen_command_opens_an_engines_session(tmp_path: Path) -> None:
    """S004-35: by the engine's own id, which is checked, so that nothing is smuggled in as an option."""
    engine = tmp_path / "engine"
    engine.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    engine.chmod(0o755)
    command = resume_command({"claude": (str(engine),)}, "claude", ID)
    session = TerminalSession(tmp_path, command=command)
    await session.terminal.start()
    reading = session.read()
    await reading.end()

    assert reading.text == f"<--resume><{ID}>".encode()
    for engine_name, conversation in (("other", ID), ("claude", "--dangerous"), ("claude", "")):
        with pytest.raises(ApiError):
            resume_command({"claude": (str(engine),)}, engine_name, conversation)


async def test_its_processes_carry_the_session_for_the_sweep(tmp_path: Path) -> None:
    """FM-28: after a crash of the server they are found by this mark."""
    session = TerminalSession(tmp_path)
    await session.terminal.start()
    environ = Path(f"/proc/{session.terminal.pid}/environ")

    # While one program gives way to the next, the system shows none.
    await until(lambda: f":{SESSION}:".encode() in environ.read_bytes())
    await session.terminal.stop()


def _type_without_end(session: TerminalSession) -> None:
    for _ in range(2 * MOST_INPUT // 1000):
        session.terminal.write(b"x" * 999 + b"\n")
