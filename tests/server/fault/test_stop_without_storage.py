"""Stop and Kill on a full disk: the agent ends, and the log records it once there is space."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.processes import marked_processes
from tests.kit.program import ORACLE
from tests.kit.served_console import ServedConsole
from tests.kit.waiting import wait_until
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

ENGINES = ["native", pytest.param("claude", marks=pytest.mark.skipif(not os.path.exists(ORACLE), reason="no claude"))]


@pytest.fixture
def served(model: ModelServer, tmp_path: Path) -> Iterator[ServedConsole]:
    server = ServedConsole(tmp_path, "--engine", f"claude={ORACLE}", model=model).start()
    yield server
    set_room(server, resource.RLIM_INFINITY)
    server.stop()


def set_room(served: ServedConsole, largest: int) -> None:
    """No file of the server may grow beyond this: its writes then fail as those to a full disk do (EFBIG)."""
    assert served.process is not None
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))


@pytest.mark.parametrize("deed", ["interrupt", "kill"])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_agent_is_stopped_though_its_log_cannot_be_written(
    served: ServedConsole, model: ModelServer, engine: str, deed: str
) -> None:
    mark = f"runaway-{engine}-{deed}-{os.getpid()}"
    started = served.work / "started"
    command = f"touch started; exec -a {mark} python3 -c 'import time; time.sleep(600)'"
    call = Call("Bash", {"command": command, "description": "Wait", "timeout": 600_000}, "toolu_1")
    prompt = model.play("runaway", Step(blocks=[call]), Step(blocks=[Say("Over.")]))
    id = served.launch(f"{prompt} go", engine=engine, allowed_tools=["Bash"])
    wait_until(lambda: started.exists() and bool(marked_processes(mark)))
    asked = len(model.requests)
    set_room(served, 1)
    status, output, _ = served.raw("POST", f"/sessions/{id}/{deed}", {})
    assert status == 200, output
    wait_until(lambda: not marked_processes(mark))
    view = served.get(f"/sessions/{id}")
    assert view["status"] in ("running", "interrupting"), "its log says nothing else yet"
    assert "Everything stored before is kept" in view["error"], "and why that is so can be read"
    set_room(served, resource.RLIM_INFINITY)
    served.until(id, "interrupted")
    assert len(model.requests) == asked, "the turn was taken up again"
    again = model.play("after", Step(blocks=[Say("Still here.")]))
    served.post(f"/sessions/{id}/messages", {"content": f"{again} go"})
    assert served.until(id, "completed")["error"] == ""
