"""A copy of the project in which mutants live, and a sandbox in which their tests run.

A mutant of the permission policy may run what a test expects to be refused, and one of a cleanup may remove the wrong
folder. So the tests see the machine read-only, with a /tmp, a process table and a loopback network of their own.
"""

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import NamedTuple

_NOT_COPIED = (
    ".git",
    ".venv",
    "node_modules",
    "__pycache__",
    ".hypothesis",
    "scratch",
    ".*_cache",
    "dist",
    "build",
    "*.egg-info",
)
_RECORDER, _ASKER = "mutants_recorder", "mutants_asker"
_PLUGINS = ("pytest_asyncio.plugin", "pytest_timeout", "_hypothesis_pytestplugin")
"""Those the tests use: the others that are installed take a second to import, each time."""


class Ended(NamedTuple):
    """How a run of tests ended."""

    code: int | None
    """None when it was stopped because it took too long."""
    output: str


class Scratch:
    """The copy; what the project has changed since is copied again each time."""

    def __init__(self, project: Path, folder: Path, sandboxed: bool) -> None:
        self.project = project
        self.folder = folder
        self.tree = folder / "tree"
        self.python = folder / "venv" / "bin" / "python"
        self._sandboxed = sandboxed
        self._times = int(time.time()) - 1_000_000_000

    def prepare(self) -> None:
        """Copy the project, and make a virtual environment that finds the copy before the project."""
        shutil.rmtree(self.tree, ignore_errors=True)
        shutil.copytree(self.project, self.tree, symlinks=True, ignore=self._ignored)
        (self.folder / "home").mkdir(exist_ok=True)
        self._make_environment()

    def write(self, path: str, source: str) -> None:
        """Put a file into the copy, so that no compiled version of an earlier one is taken for it."""
        target = self.tree / path
        target.write_text(source, encoding="utf-8")
        self._times += 10
        os.utime(target, (self._times, self._times))
        for compiled in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
            compiled.unlink()

    def ask(self, tests: tuple[str, ...], seconds: float) -> Ended:
        """Run tests of the copy until one fails; a file stands for all its tests."""
        chosen = self.folder / "chosen.txt"
        chosen.write_text("\n".join(tests), encoding="utf-8")
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        return self._pytest(_ASKER, ["-x", "-o", "timeout=30", *files], {"MUTANTS_TESTS": str(chosen)}, seconds)

    def record(self, files: list[str], recording: Path, seconds: float) -> Ended:
        """Run all tests of some files, and write down which lines each of them reaches."""
        told = {"MUTANTS_RECORDING": str(recording), "MUTANTS_SOURCES": str(self.tree / "src")}
        return self._pytest(_RECORDER, files, told, seconds)

    def _pytest(self, plugin: str, words: list[str], told: dict[str, str], seconds: float) -> Ended:
        command = [str(self.python), "-m", "pytest", "-q", "--tb=line"]
        for each in (*_PLUGINS, plugin):
            command += ["-p", each]
        return self._run([*command, *words], {**self._environment(), **told}, seconds)

    def _run(self, command: list[str], environment: dict[str, str], seconds: float) -> Ended:
        with subprocess.Popen(
            [*self._sandbox(), *command],
            cwd=self.tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                return Ended(None, output)
            return Ended(process.returncode, output)

    def _sandbox(self) -> list[str]:
        if not self._sandboxed:
            return []
        words = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
        words += ["--ro-bind", str(self.project), str(self.project), "--bind", str(self.folder), str(self.folder)]
        words += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent", "--chdir", str(self.tree)]
        # Some suites start a database as another user, which root may only do with its capabilities.
        return [*words, "--cap-add", "ALL", "--"] if os.getuid() == 0 else [*words, "--"]

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.python.parent}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "HOME": str(self.folder / "home"),
            "LANG": os.environ.get("LANG", "C.UTF-8"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "CI": "1",  # property tests then try the same examples each time
        }

    def _ignored(self, folder: str, names: list[str]) -> set[str]:
        ignored = shutil.ignore_patterns(*_NOT_COPIED)(folder, names)
        return ignored | {name for name in names if Path(folder, name) == self.folder}

    def _make_environment(self) -> None:
        folder = self.folder / "venv"
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        packages = next(folder.glob("lib/python*/site-packages"))
        theirs = sysconfig.get_path("purelib")
        lines = [f"{self.tree}/src", f"import site; site.addsitedir({theirs!r})"]
        (packages / "a_project.pth").write_text("\n".join(lines) + "\n")
        for plugin in (_RECORDER, _ASKER):
            shutil.copy(Path(__file__).with_name(f"{plugin.removeprefix('mutants_')}.py"), packages / f"{plugin}.py")
        for program in Path(sys.executable).parent.iterdir():
            ours = folder / "bin" / program.name
            if not ours.exists() and program.name != "bobstay":
                ours.symlink_to(program)
        command = folder / "bin" / "bobstay"
        command.write_text(f"#!{self.python}\nimport sys\nfrom bobstay.cli.main import main\nsys.exit(main())\n")
        command.chmod(0o755)


def sandbox_works() -> bool:
    """Whether this machine lets bubblewrap make one."""
    words = [
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--unshare-pid",
        "--unshare-net",
        "true",
    ]
    return shutil.which("bwrap") is not None and subprocess.run(words, capture_output=True, check=False).returncode == 0
