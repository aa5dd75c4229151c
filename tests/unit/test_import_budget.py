"""What may be imported before the first answer, by name (H4-1): a new import here is a decision, not an accident.

To change the lists on purpose: BOBSTAY_WRITE_BUDGET=1 pytest tests/unit/test_import_budget.py, and read the diff.
"""

import compileall
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import bobstay
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer

LISTS = Path(__file__).parent / "import_budget.json"
HEAVY = {
    "PIL",
    "anthropic",
    "argparse",
    "attr",
    "difflib",
    "email",
    "fastapi",
    "google",
    "html",
    "http",
    "httpx",
    "httpx2",
    "importlib.metadata",
    "jsonschema",
    "mcp",
    "multiprocessing",
    "openai",
    "prompt_toolkit",
    "pydantic",
    "pypdfium2",
    "rich",
    "sqlalchemy",
    "sqlite3",
    "tree_sitter",
    "unittest",
    "xml",
}
PROGRAM = """
import sys
before = set(sys.modules)
import atexit
atexit.register(lambda: open(sys.argv.pop(), "w").write("\\n".join(sorted(set(sys.modules) - before))))
from bobstay.cli.main import run
target = sys.argv[-1]
arguments = sys.argv[1:-1]
code = run(arguments)
sys.argv = ["", target]
sys.exit(code)
"""

LATE = {"bobstay.print_mode.control_socket", "bobstay.system.socket_path"}
"""Opened some time after the start (`print_mode/delayed_control.py`): a slow machine gets there before the end."""


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    """Compile first: reading a named character in the source loads a module that running it does not."""
    compileall.compile_dir(os.path.dirname(bobstay.__file__), quiet=1)


def imported(tmp_path: Path, *arguments: str, url: str = "") -> list[str]:
    """The modules a run of the command has imported by its end, beyond those of a bare interpreter."""
    told = tmp_path / "modules"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy",
    }
    command = [sys.executable, "-c", PROGRAM, *arguments, str(told)]
    done = subprocess.run(command, check=False, env=environment, cwd=tmp_path, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr.decode()
    return told.read_text().splitlines()


def check(case: str, modules: list[str]) -> None:
    known = msgspec.json.decode(LISTS.read_bytes(), type=dict[str, list[str]]) if LISTS.exists() else {}
    if os.environ.get("BOBSTAY_WRITE_BUDGET"):
        known[case] = modules
        LISTS.write_bytes(msgspec.json.format(msgspec.json.encode(known, order="sorted"), indent=1) + b"\n")
    heavy = [name for name in modules if name.partition(".")[0] in HEAVY or name in HEAVY]
    assert heavy == [], "too heavy to be imported here"
    assert sorted(set(modules) - set(known[case]) - LATE) == [], "not in the budget"


def test_the_version_costs_next_to_nothing(tmp_path: Path) -> None:
    modules = imported(tmp_path, "--version")
    check("--version", modules)
    assert len(modules) < 12


@pytest.mark.parametrize("case", ["-p", "a tool call"])
def test_a_prompt_imports_only_what_it_needs(tmp_path: Path, case: str) -> None:
    (tmp_path / "a.txt").write_text("one")
    steps = [Step(blocks=[Say("hi")])]
    if case == "a tool call":
        calls = [Call("Read", {"file_path": "a.txt"}, "r"), Call("Bash", {"command": "true"}, "b")]
        steps = [Step(blocks=list(calls)), *steps]
    with ModelServer() as server:
        prompt = server.play("budget", *steps)
        modules = imported(tmp_path, "-p", prompt, "--model", "claude-sonnet-4-5", url=server.url)
    check(case, modules)
