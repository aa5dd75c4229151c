"""Managed settings of an administrator cannot be overridden by other settings."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bobstay.assembly.build_session import open_session
from bobstay.assembly.session import AgentSession
from bobstay.config.environment import Environment
from bobstay.config.options import Options
from bobstay.server.inventory.settings_inventory import files_of, hooks_of

FILES = {
    "managed": "etc/managed-settings.json",
    "local": "work/.bobstay/settings.local.json",
    "project": "work/.bobstay/settings.json",
    "user": "home/.bobstay/settings.json",
}


class Machine:
    """A machine of an administrator's, in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("work", "home"):
            (folder / name).mkdir()
        read = Environment.read({"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin"})
        self.paths = msgspec.structs.replace(read.paths, managed=str(folder / FILES["managed"]))
        self.environment = msgspec.structs.replace(read, paths=self.paths)
        self.work = str(folder / "work")

    def write(self, level: str, settings: dict[str, Any]) -> None:
        path = self.folder / FILES[level]
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(settings))

    async def open(self, **options: Any) -> AgentSession:
        given = Options(cwd=self.work, model="demo", trust=True, **options)
        return await open_session(given, environment=self.environment)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("disabling", "running"),
    [
        ((), {"managed", "local", "project", "user"}),
        (("user",), {"managed"}),
        (("project",), {"managed"}),
        (("local",), {"managed"}),
        (("user", "project", "local"), {"managed"}),
        (("managed",), set()),
        (("managed", "user"), set()),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, tuple) else None,
)
async def test_hooks_of_an_administrator_are_turned_off_by_the_administrator_only(
    machine: Machine, disabling: tuple[str, ...], running: set[str]
) -> None:
    for level in FILES:
        command = {"type": "command", "command": f"touch {machine.folder}/ran-{level}"}
        off = {"disableAllHooks": True} if level in disabling else {}
        machine.write(level, {"hooks": {"SessionStart": [{"hooks": [command]}]}, **off})
    await (await machine.open()).close()
    assert {path.name.removeprefix("ran-") for path in machine.folder.glob("ran-*")} == running
    shown = hooks_of(files_of(machine.work, machine.paths, [], external=False), [], trusted=True)
    assert {hook.level for hook in shown if hook.in_force} == running, "the console lists what runs"


async def test_the_command_line_does_not_turn_off_hooks_of_an_administrator(machine: Machine) -> None:
    command = {"type": "command", "command": f"touch {machine.folder}/ran"}
    machine.write("managed", {"hooks": {"SessionStart": [{"hooks": [command]}]}})
    await (await machine.open(settings='{"disableAllHooks": true}', setting_sources=())).close()
    assert (machine.folder / "ran").exists()


async def test_an_administrator_can_forbid_bypassing(machine: Machine) -> None:
    machine.write("managed", {"permissions": {"disableBypassPermissionsMode": "disable"}})
    machine.write("user", {"permissions": {"defaultMode": "bypassPermissions"}})
    session = await machine.open(dangerously_skip_permissions=True, permission_mode="bypassPermissions")
    assert session.mode == "default"
    await session.close()
