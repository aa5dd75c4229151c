"""The folder in which a benchmark plays: homes of the agents, fresh copies of a repository, big files, the model."""

import os
import random
import shutil
import string
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType

import msgspec

from benchmarks.contenders import Contender
from benchmarks.model.server import Line

FILES = 200
BIG = 10 * 1024 * 1024
NAMES = 20
"""Each big file has so many names, because agents notice when a call is repeated."""
_PROJECT = Path(__file__).parent.parent
_decode = msgspec.json.Decoder(Line).decode


class Scratch:
    """Made on entry, with the model running; removed on exit."""

    def __init__(self, contenders: list[Contender]) -> None:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        caches.mkdir(parents=True, exist_ok=True)
        # Not in the system's temporary folder: some agents leave work out when their home is there.
        self.folder = Path(tempfile.mkdtemp(prefix="bobstay-bench-", dir=caches))
        self.work = self.folder / "work"
        self._log = self.folder / "model.jsonl"
        self._contenders = contenders
        self._seen = 0

    def __enter__(self) -> "Scratch":
        self.work.mkdir()
        self._log.touch()
        _make_repository(self.folder / "repository")
        _make_big_files(self.work)
        command = [sys.executable, "-m", "benchmarks.model", "--folder", str(self.work), "--log", str(self._log)]
        self._model = subprocess.Popen(command, cwd=_PROJECT, stdout=subprocess.PIPE, text=True)
        assert self._model.stdout is not None
        self.base = f"http://127.0.0.1:{int(self._model.stdout.readline())}"
        for contender in self._contenders:
            for path, text in contender.files.items():
                file = self.home(contender) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text.replace("{base}", self.base))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._model.terminate()
        self._model.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def model(self) -> int:
        """The model's process id."""
        return self._model.pid

    def home(self, contender: Contender) -> Path:
        home = self.folder / f"home-{contender.name}"
        home.mkdir(exist_ok=True)
        return home

    def copy(self) -> Path:
        """A fresh copy of the repository, named by a new run id."""
        name = "".join(random.choices(string.ascii_lowercase, k=10))
        return Path(shutil.copytree(self.folder / "repository", self.work / name))

    def tidy(self, contender: Contender) -> None:
        """Remove what runs left: working copies, and big files in the home, which would crowd the memory of others."""
        for path in self.work.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.suffix == ".out":
                path.unlink()
        for path in self.home(contender).rglob("*"):
            if path.is_file() and not path.is_symlink() and path.stat().st_size > BIG // 10:
                path.unlink()

    def lines(self) -> list[Line]:
        """What the model has logged since the last call."""
        with self._log.open("rb") as file:
            file.seek(self._seen)
            text = file.read()
        self._seen += len(text)
        return [_decode(line) for line in text.splitlines()]


def _make_repository(folder: Path) -> None:
    folder.mkdir()
    for number in range(FILES):
        (folder / f"file_{number:03}.txt").write_text(f"first line of {number}\nsecond line of {number}\n")
    who = {f"GIT_{role}_{part}": "bench@example.org" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **who}
    for command in ("init -q -b main", "add -A", "commit -q -m files"):
        subprocess.run(["git", *command.split()], cwd=folder, env=environment, check=True)


def _make_big_files(folder: Path) -> None:
    """10 MB of lines, 10 MB on one line, and nothing."""
    with (folder / "lines.txt").open("wb") as file:
        for number in range(BIG // 64):
            file.write(b"%09d of many lines, no two alike, as a build prints them.\n" % number)
    with (folder / "line.txt").open("wb") as file:
        for _ in range(BIG // 1024):
            file.write(b"x" * 1024)
    (folder / "nothing.txt").touch()
    for name in ("lines", "line", "nothing"):
        for number in range(NAMES):
            (folder / f"{name}_{number}.txt").symlink_to(f"{name}.txt")
