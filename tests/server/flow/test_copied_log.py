"""A file among the logs whose name is no session id is ignored: nothing could open it."""

import os
import shutil
import subprocess
from pathlib import Path

from bobstay.model.event import Prompted, SessionStarted, TurnStarted
from bobstay.model.ids import new_id
from bobstay.model.message import Text
from bobstay.model.session_events import WorkerStarted
from bobstay.server.sessions.orphan_sweep import MARKER, start_moment
from bobstay.sessions.log_store import LogStore
from tests.kit.consoles import RunningConsole
from tests.kit.processes import is_alive
from tests.modelserver.server import ModelServer


async def test_a_copy_of_a_log_does_not_keep_orphans_alive(model: ModelServer, tmp_path: Path) -> None:
    """FM-28"""
    server = RunningConsole(model, tmp_path)
    id = new_id()
    environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), MARKER: id}
    orphan = subprocess.Popen(["sleep", "654"], env=environment, start_new_session=True)
    try:
        log = LogStore(server.environment.paths.sessions).create(id, SessionStarted(str(server.work), "1"))
        log.append(WorkerStarted("agent-1", "process", 1, orphan.pid, start_moment(orphan.pid)))
        log.append(Prompted("p", (Text("work"),)))
        log.append(TurnStarted(1, "demo", "default"))
        log.close()
        shutil.copy(log.path, log.path.replace(id, f"{id} (copy)"))
        async with server:
            assert not is_alive(orphan.pid)
            assert list(server.registry.views) == [id]
            await server.until_status(id, "interrupted")
    finally:
        orphan.kill()
        orphan.wait()
