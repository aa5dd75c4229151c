"""The real program with managed settings in /etc."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from bobstay.config.paths import MANAGED
from tests.kit.program import BOBSTAY, environment
from tests.modelserver import ModelServer
from tests.wire.flows import say


def beside(settings: Path) -> list[str]:
    """A command line that runs a program on a machine whose managed settings are `settings`, and else on this one."""
    program = shutil.which("bwrap")
    assert program is not None, "bubblewrap is not installed"
    etc = [f"/etc/{name}" for name in os.listdir("/etc") if f"/etc/{name}" != os.path.dirname(MANAGED)]
    same = [phrase for path in etc for phrase in ("--ro-bind-try", path, path)]
    return [program, "--dev-bind", "/", "/", "--tmpfs", "/etc", *same, "--ro-bind", str(settings), MANAGED, "--"]


def test_no_variable_and_no_flag_takes_an_administrators_hooks_away(model: ModelServer, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "persons").mkdir()
    files = {"administrator": tmp_path / "managed.json", "person": tmp_path / "persons" / "settings.json"}
    for whose, file in files.items():
        hook = {"type": "command", "command": f"touch {tmp_path}/ran-{whose}"}
        file.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}))
    elsewhere = {"BOBSTAY_HOME": str(tmp_path / "persons"), "CLAUDE_CONFIG_DIR": str(tmp_path / "persons")}
    command = [BOBSTAY, "-p", model.play("t", say("Hello.")), "--settings", '{"disableAllHooks": true}']
    ended = subprocess.run(
        [*beside(files["administrator"]), *command, "--setting-sources", ""],
        cwd=tmp_path / "work",
        env=environment(model, tmp_path / "home") | elsewhere,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("Hello.\n", "")
    assert [path.name for path in tmp_path.glob("ran-*")] == ["ran-administrator"]
