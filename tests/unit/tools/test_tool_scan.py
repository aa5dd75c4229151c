"""Tools are found by scanning, and the generated list matches the result."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from bobstay.tools import builtin
from bobstay.tools.tool_registry import builtin_entries, describe_tool
from bobstay.tools.tool_scan import discover

ROOT = Path(__file__).parents[3]

TOOL = '''
from bobstay.tools.base import Args, Context, Outcome, Tool
from bobstay.tools.builtin.todo_write import TodoWrite  # imported, not defined: not found here

class NapArgs(Args, frozen=True):
    minutes: int = 5

class Base(Tool[NapArgs]):
    """No name and no `run`: not a tool yet."""

class Nap(Base):
    name = "Nap"
    description = "Sleep a little."
    args = NapArgs

    async def run(self, args: NapArgs, context: Context) -> Outcome:
        return Outcome("rested")
'''


def test_a_tool_is_found_by_putting_one_file_into_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """H1-3"""
    package = tmp_path / "pantry"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "nap.py").write_text(TOOL)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = ModuleType("pantry")
    module.__path__ = [str(package)]
    monkeypatch.setitem(sys.modules, "pantry", module)

    found = list(discover(module))

    assert [tool.name for tool in found] == ["Nap"]
    assert describe_tool(found[0]).module == "pantry.nap"


def test_the_generated_list_is_in_step_with_the_classes() -> None:
    """H1-3: if this fails, run python scripts/make_schemas.py"""
    expected = sorted((describe_tool(tool) for tool in discover(builtin)), key=lambda entry: entry.name)
    assert list(builtin_entries()) == expected


def test_the_generator_notices_a_list_that_is_out_of_step(tmp_path: Path) -> None:
    target = tmp_path / "schemas.json"
    assert generator("--check", str(target)).returncode == 1, "missing"
    assert generator(str(target)).returncode == 0
    assert generator("--check", str(target)).returncode == 0
    target.write_bytes(target.read_bytes().replace(b"TodoWrite", b"TodoWrong"))
    stale = generator("--check", str(target))
    assert stale.returncode == 1
    assert "out of step" in stale.stderr


def generator(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts/make_schemas.py"), *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
