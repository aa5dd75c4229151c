"""Stop and Kill on a full disk: the agent ends, and the log records it once there is space."""

import os
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.deadline import DEADLINE
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer
from tests.server.served import Served, orphans
from tests.wire.program import ORACLE

ENGINES = ["native", pytest.param("claude", marks=pytest.mark.skipif(not os.path.exists(ORACLE), reason="no claude"))]


@pytest.fixture
def served(model: ModelServer, tmp_path: Path) -> Iterator[Served]:
    variables = {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "sk-ant-dummy",
        "BOBSTAY_MODEL": "sonnet",
        "DISABLE_TELEMETRY": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    server = Served(tmp_path, variables, "--engine", f"claude={ORACLE}").start()
    yield server
    set_room(server, resource.RLIM_INFINITY)
    server.stop()


def set_room(served: Served, largest: int) -> None:
    """No file of the server may grow beyond this: its writes then fail as those to a full disk do (EFBIG)."""
    assert served.process is not None
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))


@pytest.mark.parametrize("deed", ["interrupt", "kill"])
@pytest.mark.parametrize("engine", ENGINES)
def test_an_agent_is_stopped_though_its_log_cannot_be_written(
    served: Served, model: ModelServer, engine: str, deed: str
) -> None:
    mark = f"runaway-{engine}-{deed}-{os.getpid()}"
    started = served.work / "started"
    command = f"touch started; exec -a {mark} python3 -c 'import time; time.sleep(600)'"
    call = Call("Bash", {"command": command, "description": "Wait", "timeout": 600_000}, "toolu_1")
    prompt = model.play("runaway", Step(blocks=[call]), Step(blocks=[Say("Over.")]))
    id = served.launch(f"{prompt} go", engine=engine, allowed_tools=["Bash"])
    wait(lambda: started.exists() and bool(orphans(mark)))
    asked = len(model.requests)
    set_room(served, 1)
    status, output, _ = served.raw("POST", f"/sessions/{id}/{deed}", {})
    assert status == 200, output
    wait(lambda: not orphans(mark))
    view = served.get(f"/sessions/{id}")
    assert view["status"] in ("running", "interrupting"), "its log says nothing else yet"
    assert "Everything stored before is kept" in view["error"], "and why that is so can be read"
    set_room(served, resource.RLIM_INFINITY)
    served.until(id, "interrupted")
    assert len(model.requests) == asked, "the turn was taken up again"
    again = model.play("after", Step(blocks=[Say("Still here.")]))
    served.post(f"/sessions/{id}/messages", {"content": f"{again} go"})
    assert served.until(id, "completed")["error"] == ""


def wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
