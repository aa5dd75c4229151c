"""Managed settings of an administrator cannot be overridden by other settings."""

from pathlib import Path

import pytest

from bobstay.server.inventory.settings_inventory import files_of, hooks_of
from tests.kit.user_folders import UserFolders

FILES = {
    "managed": "managed.json",
    "local": "work/.bobstay/settings.local.json",
    "project": "work/.bobstay/settings.json",
    "user": "home/.bobstay/settings.json",
}


@pytest.fixture
def machine(tmp_path: Path) -> UserFolders:
    """A machine of an administrator's."""
    return UserFolders(tmp_path)


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
    machine: UserFolders, disabling: tuple[str, ...], running: set[str]
) -> None:
    for level, file in FILES.items():
        command = {"type": "command", "command": f"touch {machine.folder}/ran-{level}"}
        off = {"disableAllHooks": True} if level in disabling else {}
        machine.write(file, {"hooks": {"SessionStart": [{"hooks": [command]}]}, **off})
    await (await machine.open(trust=True)).close()
    assert {path.name.removeprefix("ran-") for path in machine.folder.glob("ran-*")} == running
    shown = hooks_of(files_of(str(machine.work), machine.paths, [], external=False), [], trusted=True)
    assert {hook.level for hook in shown if hook.in_force} == running, "the console lists what runs"


async def test_the_command_line_does_not_turn_off_hooks_of_an_administrator(machine: UserFolders) -> None:
    command = {"type": "command", "command": f"touch {machine.folder}/ran"}
    machine.write(FILES["managed"], {"hooks": {"SessionStart": [{"hooks": [command]}]}})
    await (await machine.open(trust=True, settings='{"disableAllHooks": true}', setting_sources=())).close()
    assert (machine.folder / "ran").exists()


async def test_an_administrator_can_forbid_bypassing(machine: UserFolders) -> None:
    machine.write(FILES["managed"], {"permissions": {"disableBypassPermissionsMode": "disable"}})
    machine.write(FILES["user"], {"permissions": {"defaultMode": "bypassPermissions"}})
    session = await machine.open(trust=True, dangerously_skip_permissions=True, permission_mode="bypassPermissions")
    assert session.mode == "default"
    await session.close()
