"""The contracts on imports refuse a cycle inside a package, also one that is hidden from run time."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bobstay

SOURCES = Path(bobstay.__file__).parent
CONTRACTS = SOURCES.parent.parent / "pyproject.toml"
HIDDEN = """
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bobstay.engine.pipeline import CallPipeline
"""
LAZY = """

def build() -> None:
    from bobstay.engine.pipeline import CallPipeline
"""


def check_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [os.path.join(os.path.dirname(sys.executable), "lint-imports"), "--no-cache", "--config", str(CONTRACTS)]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, check=False, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("planted", "kept"), [("", True), (HIDDEN, False), (LAZY, False)], ids=["none", "types", "lazy"]
)
def test_a_cycle_in_the_engine_is_refused(tmp_path: Path, planted: str, kept: bool) -> None:
    shutil.copytree(SOURCES, tmp_path / "bobstay", ignore=shutil.ignore_patterns("__pycache__", "static"))
    with (tmp_path / "bobstay/engine/toolbox.py").open("a") as module:
        module.write(planted)
    checked = check_imports(tmp_path)
    assert (checked.returncode == 0) is kept, checked.stdout
    assert ("No cycles are allowed in bobstay.engine." in checked.stdout) is not kept
