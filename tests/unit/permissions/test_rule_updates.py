"""Permission updates in settings files, also when many processes write at once."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bobstay.permissions.rule_updates import UpdateFailed, update_problem, write


def add(*contents: str, kind: str = "addRules", behavior: str = "allow", to: str = "localSettings") -> dict[str, Any]:
    rules = [{"toolName": "Bash", "ruleContent": content} for content in contents]
    return {"type": kind, "rules": rules, "behavior": behavior, "destination": to}


def stored(path: Path) -> Any:
    return json.loads(path.read_text())


def test_a_missing_file_is_made_and_a_session_update_touches_none(tmp_path: Path) -> None:
    path = tmp_path / ".bobstay" / "settings.local.json"
    files = {"localSettings": str(path)}
    assert write((add("make:*", to="session"),), files) == ()
    assert not path.exists()
    assert write((add("make:*"), {"type": "setMode", "mode": "plan", "destination": "localSettings"}), files) == (
        str(path),
    )
    assert stored(path) == {"permissions": {"allow": ["Bash(make:*)"], "defaultMode": "plan"}}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_everything_else_in_the_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"zebra": 1, "permissions": {"deny": ["Read(.env)"], "allow": ["Bash(make)"]}, "model": "x"}')
    path.chmod(0o644)
    files = {"projectSettings": str(path)}
    write((add("make", "ls", "ls", to="projectSettings"),), files)
    assert list(stored(path)) == ["zebra", "permissions", "model"]
    assert stored(path)["permissions"] == {"deny": ["Read(.env)"], "allow": ["Bash(make)", "Bash(ls)"]}
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert write((add("make", to="projectSettings"),), files) == ()


def test_rules_and_directories_are_replaced_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    files = {"userSettings": str(path)}
    write((add("a", "b", "c", to="userSettings"),), files)
    write((add("b", kind="removeRules", to="userSettings"),), files)
    assert stored(path)["permissions"]["allow"] == ["Bash(a)", "Bash(c)"]
    write((add("d", kind="replaceRules", to="userSettings"),), files)
    assert stored(path)["permissions"]["allow"] == ["Bash(d)"]
    for kind, expected in (("addDirectories", ["/x"]), ("removeDirectories", [])):
        write(({"type": kind, "directories": ["/x"], "destination": "userSettings"},), files)
        assert stored(path)["permissions"]["additionalDirectories"] == expected


@pytest.mark.parametrize("content", ["{", "[]", '{"permissions": []}', '{"permissions": {"allow": 1}}', "\ufeff{]"])
def test_a_file_that_is_not_understood_is_left_as_it_is(tmp_path: Path, content: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(content)
    with pytest.raises(UpdateFailed, match="left as it is"):
        write((add("a"),), {"localSettings": str(path)})
    assert path.read_text() == content
    assert os.listdir(tmp_path) == ["s.json"]


def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "settings.json"
    link.symlink_to("real/settings.json")
    write((add("a"),), {"localSettings": str(link)})
    assert link.is_symlink()
    assert stored(tmp_path / "real" / "settings.json")["permissions"]["allow"] == ["Bash(a)"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UpdateFailed, match="file"):
        write((add("a"),), {"localSettings": str(tmp_path / "file" / "settings.json")})


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        ({"type": "addRules", "rules": "x"}, "list"),
        ({"type": "addRules", "rules": [{"toolName": "*"}]}, "only after"),
        ({"type": "addRules", "rules": [], "behavior": "maybe"}, "allow, ask or deny"),
        ({"type": "setMode", "mode": "x"}, "unknown"),
        ({"type": "setMode", "mode": "plan", "destination": "moon"}, "expected one of"),
        ({"type": "addDirectories", "directories": [1]}, "list of paths"),
        ({"type": "x"}, "expected addRules"),
        ({}, "expected addRules"),
    ],
)
def test_a_malformed_update_is_explained_and_not_written(tmp_path: Path, update: dict[str, Any], expected: str) -> None:
    assert expected in update_problem(update)
    path = tmp_path / "s.json"
    assert write(({"destination": "localSettings", **update},), {"localSettings": str(path)}) == ()
    assert not path.exists()


WRITER = """
import sys
from bobstay.permissions.rule_updates import write
name, path = sys.argv[1:]
for number in range(25):
    rule = {"toolName": "Bash", "ruleContent": f"{name}-{number}"}
    update = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"}
    write((update,), {"localSettings": path})
"""


def test_many_processes_writing_at_once_lose_nothing(tmp_path: Path) -> None:
    """F26: per-key merge under a lock, atomic replace; every reader sees whole JSON."""
    path = tmp_path / "settings.json"
    path.write_text('{"kept": true}')
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, f"w{number}", str(path)]) for number in range(6)]
    while any(writer.poll() is None for writer in writers):
        assert stored(path)["kept"] is True
    assert [writer.returncode for writer in writers] == [0] * 6
    expected = {f"Bash(w{name}-{number})" for name in range(6) for number in range(25)}
    assert set(stored(path)["permissions"]["allow"]) == expected
    assert os.listdir(tmp_path) == ["settings.json"]


def test_a_pipe_in_the_place_of_the_settings_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "settings.json")
    with pytest.raises(UpdateFailed, match="not a file"):
        write((add("make"),), {"localSettings": str(tmp_path / "settings.json")})
