"""Programs in terminals get default signal handling, even if the server was started with nohup."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from websockets.sync.client import connect

from tests.kit.served_console import ServedConsole
from tests.kit.waiting import DEADLINE

LOST = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


def test_programs_in_a_terminal_hear_what_the_server_ignores(tmp_path: Path) -> None:
    """FM-29: after `nohup bobstay serve &` a Ctrl-C in a terminal still ends what runs there."""
    server = ServedConsole(tmp_path)
    with ignored():
        server.start()
    try:
        id = server.launch("")
        assert ignored_in(server, server.post(f"/sessions/{id}/terminals")["id"]) & set(LOST) == set()
        assert server.process is not None
        server.process.send_signal(signal.SIGHUP)
        assert server.get(f"/sessions/{id}")["id"] == id
    finally:
        server.stop()


@contextmanager
def ignored() -> Iterator[None]:
    """What is started meanwhile begins with these signals ignored."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in LOST}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignored_in(server: ServedConsole, terminal: str) -> set[signal.Signals]:
    """What a program ignores that is started in a terminal."""
    found = server.work / "found"
    headers = {"Cookie": server.cookie, "Origin": f"http://127.0.0.1:{server.port}"}
    url = f"ws://127.0.0.1:{server.port}/api/v1/workers/{terminal}/pty"
    with connect(url, additional_headers=headers, proxy=None) as typing:
        typing.send(f"grep SigIgn /proc/self/status > {found}.part && mv {found}.part {found}\r".encode())
        deadline = time.monotonic() + DEADLINE
        while not found.exists():
            assert time.monotonic() < deadline
            typing.recv(timeout=DEADLINE)
    mask = int(found.read_text().split()[1], 16)
    return {number for number in signal.Signals if mask >> (number - 1) & 1}
