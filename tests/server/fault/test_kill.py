"""The server is killed in each status of a session; after a restart all can be continued (FM-13, FM-28, FM-33)."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bobstay.model.ids import new_id
from tests.kit.processes import marked_processes
from tests.kit.served_console import ServedConsole
from tests.kit.waiting import wait_until
from tests.modelserver.script import Call, Gate, Say, Step
from tests.modelserver.server import ModelServer

ROUNDS = int(os.environ.get("BOBSTAY_FAULT_ROUNDS", "2"))
"""Of all five statuses; 20 make a hundred kills."""
SEED = os.environ.get("BOBSTAY_FAULT_SEED", "7")
WAYS_OUT = ("waiting_input", "interrupted", "completed", "failed")


@pytest.fixture
def served(model: ModelServer, tmp_path: Path) -> Iterator[ServedConsole]:
    with ServedConsole(tmp_path, "--max-running", "2", model=model) as server:
        yield server


class KilledSession:
    """One session in one status, and what must be true of it after the restart."""

    def __init__(self, served: ServedConsole, model: ModelServer, name: str) -> None:
        self.served = served
        self.model = model
        self.name = name
        self.gates: list[Gate] = []
        self.file = served.work / name

    def running(self) -> str:
        gate = self._gate()
        id = self.served.launch(self.model.play(self.name, Step(blocks=[Say("x")], gate=gate)))
        gate.wait_reached()
        return id

    def waiting(self) -> str:
        id = self.served.launch(self._writing())
        self.served.until(id, "waiting_input")
        return id

    def in_a_tool(self) -> str:
        id = self.served.launch(self._writing("; sleep 1000"), allowed_tools=["Bash", "Edit"])
        wait_until(self.file.exists)
        return id

    def completed(self) -> str:
        id = self.served.launch(self.model.play(self.name, Step(blocks=[Say("done")])))
        self.served.until(id, "completed")
        return id

    def interrupted(self) -> str:
        id = self.running()
        self.served.post(f"/sessions/{id}/interrupt")
        return id

    def release(self) -> None:
        for gate in self.gates:
            gate.open()

    def _gate(self) -> Gate:
        self.gates.append(Gate())
        return self.gates[-1]

    def _writing(self, more: str = "") -> str:
        command = f"echo x >> {self.name}{more}"
        return self.model.play(
            self.name, Step(blocks=[Call("Bash", {"command": command}, new_id())]), Step(blocks=[Say("ok")])
        )


def test_a_killed_server_loses_nothing_and_does_nothing_twice(served: ServedConsole, model: ModelServer) -> None:
    dice = Random(SEED)
    cases: list[tuple[str, KilledSession]] = []
    for number in range(ROUNDS):
        kinds = ["running", "waiting", "in_a_tool", "completed", "interrupted"]
        dice.shuffle(kinds)
        for kind in kinds:
            case = KilledSession(served, model, f"{kind}-{number}")
            make: Callable[[], str] = getattr(case, kind)
            id = make()
            cases.append((id, case))
            served.kill()
            case.release()
            served.start()
            check_after_restart(served, kind, id, case)
    for id, _ in cases:
        assert served.get(f"/sessions/{id}")["status"] in WAYS_OUT
    assert not [pid for pid in marked_processes(str(served.folder)) if is_orphan(served, pid)]


def check_after_restart(served: ServedConsole, kind: str, id: str, case: KilledSession) -> None:
    view = served.until(id, *WAYS_OUT)
    if kind == "waiting":
        assert view["status"] == "waiting_input", "no approval is lost"
        item = next(item for item in served.inbox() if item["session_id"] == id)
        served.decide(item)
        served.until(id, "completed")
        assert case.file.read_text() == "x\n"
    elif kind == "completed":
        assert view["status"] == "completed"
    else:
        assert view["status"] == "interrupted"
        assert view["open_calls"] == []
        more = case.model.play(f"{case.name}-more", Step(blocks=[Say("going on")]))
        served.post(f"/sessions/{id}/messages", {"content": more})
        served.until(id, "completed")
    if kind == "in_a_tool":
        assert case.file.read_text() == "x\n", "what ran is not run again"


def is_orphan(served: ServedConsole, pid: int) -> bool:
    """Not the server itself, nor one of its children."""
    assert served.process is not None
    while pid > 1:
        if pid == served.process.pid:
            return False
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            return False
    return True


def test_a_second_server_on_the_same_state_refuses_and_names_the_first(served: ServedConsole) -> None:
    other = subprocess.run(
        [sys.executable, "-m", "bobstay", "serve", "--port", "0", "--no-browser"],
        env=served.variables,
        cwd=served.folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert other.returncode == 1
    assert f":{served.port}" in other.stderr
    assert "Traceback" not in other.stderr


def test_stopping_is_orderly(served: ServedConsole, model: ModelServer) -> None:
    gate = Gate()
    id = served.launch(model.play("slow", Step(blocks=[Say("x")], gate=gate)))
    gate.wait_reached()
    assert served.stop() == 0
    gate.open()
    served.start()
    view: Any = served.get(f"/sessions/{id}")
    assert view["status"] == "interrupted"
