"""Which tests reach which lines: recorded once, kept between runs, and recorded again for what has changed."""

import fnmatch
import hashlib
import json
from pathlib import Path
from typing import NamedTuple

import msgspec
from scripts.mutants.reachable_lines import LinesByFile
from scripts.mutants.scratch import Scratch

_FOLDER_SECONDS = 3600.0


class Seen(msgspec.Struct, frozen=True):
    """One test, as it was recorded."""

    test: str
    passed: bool
    seconds: float
    lines: dict[str, list[int]]


class Chosen(NamedTuple):
    """The tests that are asked about a mutant, and how many could have been."""

    tests: tuple[str, ...]
    reaching: int
    seconds: float


class Reach:
    """A recording for each file of tests, with the state of the files it depends on."""

    def __init__(self, scratch: Scratch, sources: list[str]) -> None:
        self._scratch = scratch
        self._sources = sources
        self._folder = scratch.folder / "reach"
        self._folder.mkdir(parents=True, exist_ok=True)
        self.tests: dict[str, Seen] = {}
        self.sound: set[str] = set()
        """Those that were seen to pass without any change after they had failed with one."""

    def record(self, files: list[str], seconds: float = _FOLDER_SECONDS) -> int:
        """Record the tests of these files, but for those whose recording still holds; returns how many were run."""
        stale = [file for file in files if not self._holds(file)]
        folders: dict[str, list[str]] = {}
        for file in stale:
            folders.setdefault(str(Path(file).parent), []).append(file)
        for folder, of_folder in sorted(folders.items()):
            print(f"recording {folder} ({len(of_folder)} files)", flush=True)
            self._run(of_folder, seconds)
        self.tests = {}
        for file in files:
            for seen in self._load(file):
                self.tests[seen.test] = seen
        return len(stale)

    def choose(self, lines: LinesByFile, most_seconds: float) -> Chosen:
        """The tests that reach one of the lines, as many as fit into the time.

        Half of the time is for those that reach least beside it, which are mostly about it, the rest for the quickest.
        """
        reaching = [seen for seen in self.tests.values() if seen.passed and _reaches(seen, lines)]
        chosen = _fitting(sorted(reaching, key=_breadth), most_seconds / 2, {})
        chosen = _fitting(sorted(reaching, key=_seconds), most_seconds, chosen)
        ordered = sorted(chosen.values(), key=_seconds)
        return Chosen(tuple(seen.test for seen in ordered), len(reaching), sum(map(_seconds, ordered)))

    def _run(self, files: list[str], seconds: float) -> None:
        recording = self._scratch.folder / "recording.jsonl"
        recording.unlink(missing_ok=True)
        ended = self._scratch.record(files, recording, seconds)
        found: dict[str, list[Seen]] = {file: [] for file in files}
        if recording.exists():
            for line in recording.read_bytes().splitlines():
                seen = msgspec.json.decode(line, type=Seen)
                found.setdefault(seen.test.partition("::")[0], []).append(seen)
        if not recording.exists() or ended.code not in (0, 1):
            print(ended.output[-2000:])
        failed = [seen.test for entries in found.values() for seen in entries if not seen.passed]
        if failed:
            print(f"{len(failed)} tests do not pass here and are not asked: {', '.join(failed[:10])}")
        for file, entries in found.items():
            state = {name: self._hash(name) for seen in entries for name in seen.lines if self._wanted(name)}
            kept = [msgspec.structs.replace(seen, lines=self._kept(seen)) for seen in entries]
            told = {"tests": self._hash(file), "sources": state, "seen": msgspec.to_builtins(kept)}
            self._record_path(file).write_text(json.dumps(told))

    def _kept(self, seen: Seen) -> dict[str, list[int]]:
        return {name: lines for name, lines in seen.lines.items() if self._wanted(name)}

    def _wanted(self, name: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for pattern in self._sources)

    def _holds(self, file: str) -> bool:
        record = self._record_path(file)
        if not record.exists():
            return False
        told = json.loads(record.read_bytes())
        return bool(told["tests"] == self._hash(file)) and all(
            self._hash(name) == state for name, state in told["sources"].items()
        )

    def _load(self, file: str) -> list[Seen]:
        record = self._record_path(file)
        return msgspec.convert(json.loads(record.read_bytes())["seen"], list[Seen]) if record.exists() else []

    def _record_path(self, file: str) -> Path:
        return self._folder / f"{file.replace('/', '+')}.json"

    def _hash(self, name: str) -> str:
        path = self._scratch.project / name
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.exists() else ""


def _reaches(seen: Seen, wanted: LinesByFile) -> bool:
    return any(not lines.isdisjoint(seen.lines.get(path, ())) for path, lines in wanted.items())


def _fitting(seen: list[Seen], most_seconds: float, chosen: dict[str, Seen]) -> dict[str, Seen]:
    """As many as fit into the time with what was chosen before, and one at least."""
    chosen = dict(chosen)
    total = sum(map(_seconds, chosen.values()))
    for each in seen:
        if each.test not in chosen and (not chosen or total + each.seconds <= most_seconds):
            chosen[each.test] = each
            total += each.seconds
    return chosen


def _seconds(seen: Seen) -> float:
    return seen.seconds


def _breadth(seen: Seen) -> int:
    return sum(len(lines) for lines in seen.lines.values())
