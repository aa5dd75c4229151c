"""Runs git, bounded in time and output, so that nothing in the work tree decides what else is run.

Looking (`Reading`) happens without anybody's asking, while an agent may be changing the repository's configuration. So
git is not shown it: it gets a git directory made for the moment, with a configuration of ours, that borrows the
objects and the index of the real one. Changing (`Writing`) is asked for by a person and needs the real repository:
there the settings that name programs are overridden one by one, and what cannot be overridden is refused.
"""

import asyncio
import os
import shutil
import tempfile
import weakref
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from bobstay.config.git_directory import GitDirectory
from bobstay.config.trust import path_outside
from bobstay.context.git_status import guarded
from bobstay.server.errors import ApiError
from bobstay.system.child_process import Child, find_program
from bobstay.system.safe_read import read_regular

SECONDS = 20.0
MOST = 8 * 1024 * 1024
MOST_WORDS = 64 * 1024
AT_ONCE = 4
"""Gits that run at the same time; the others wait."""
EMPTY_TREES = {40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"} | {
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
}
_USUAL_PLACES = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
_CALM = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "LC_ALL": "C",
}
_CARRIED = {
    "core.autocrlf": ("true", "false", "input"),
    "core.eol": ("lf", "crlf", "native"),
    "core.filemode": ("true", "false"),
    "core.symlinks": ("true", "false"),
    "core.ignorecase": ("true", "false"),
    "core.precomposeunicode": ("true", "false"),
    "extensions.objectformat": ("sha1", "sha256"),
}
"""Settings of a repository that change what differs, and their values; none of them names anything."""
_LONGEST_COPIED = 1 << 20

_slots: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]" = weakref.WeakKeyDictionary()


class GitResult(Struct, frozen=True):
    """What a git said."""

    code: int
    out: bytes
    words: str
    cut: bool = False
    """It was ended because it said too much; `out` is the beginning."""


class Git:
    """A git for one repository, with the environment and the git directory it is to use."""

    def __init__(self, program: str, environment: dict[str, str], cwd: str, settings: Sequence[str] = ()) -> None:
        self.cwd = cwd
        self.environment = environment
        self._program = program
        self._settings = tuple(settings)

    async def run(
        self, *arguments: str | bytes, stdin: bytes = b"", most: int = MOST, seconds: float = SECONDS
    ) -> GitResult:
        """Raises:
        ApiError: it does not start, or takes too long.
        """
        command = [self._program, "--no-pager", *self._settings, *map(os.fsdecode, arguments)]
        async with _slot():
            return await _run(command, self.cwd, self.environment, stdin, most, seconds)

    def elsewhere(self, environment: dict[str, str]) -> "Git":
        """The same with other directories named in its environment."""
        return Git(self._program, environment, self.cwd, self._settings)

    async def said(self, *arguments: str | bytes, stdin: bytes = b"", most: int = MOST) -> bytes:
        """What it says on its standard output.

        Raises:
            ApiError: conflict with git's own words where it fails.
        """
        said = await self.run(*arguments, stdin=stdin, most=most)
        if said.code and not said.cut:
            raise failed(said)
        return said.out


class Repo:
    """A repository a session works in, seen from one of its directories."""

    def __init__(
        self, directory: str, repository: GitDirectory, environment: Mapping[str, str], scratch: str = ""
    ) -> None:
        self.directory = directory
        self.repository = repository
        self._scratch = scratch or None
        top = os.path.realpath(repository.top)
        path = path_outside(environment.get("PATH", ""), os.path.realpath(directory), top)
        self._program = find_program("git", path) or find_program("git", _USUAL_PLACES)
        if not self._program:
            raise ApiError("not_supported", "There is no git on this machine. Install it to see changes.")
        self.top = top
        calm = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
        self._calm = {**calm, **_CALM, "PATH": path or _USUAL_PLACES}
        self._guarded = guarded(calm, directory)

    def plain(self) -> Git:
        """For questions that make git start nothing: what a name stands for, what the configuration says."""
        return Git(self._program, self._with_directory(self._guarded | _CALM), self.directory)

    def writing(self, cwd: str = "", *, network: bool = False) -> Git:
        """For what a person asked to be changed. Call `check_filters` first."""
        reach = {"GIT_ALLOW_PROTOCOL": "http:https:ssh:git"} if network else {}
        settings = ("-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
        environment = self._with_directory(self._guarded | _CALM | reach)
        return Git(self._program, environment, cwd or self.directory, settings)

    @asynccontextmanager
    async def reading(self, head: str = "") -> AsyncGenerator[Git, None]:
        """A git that has never heard of this repository's configuration. `head` is the commit to stand at."""
        carried = await self._carried()
        shadow = await asyncio.to_thread(self._shadow, carried, head)
        environment = {
            **self._calm,
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_DIR": shadow,
            "GIT_WORK_TREE": self.top,
            "GIT_INDEX_FILE": os.path.join(self.repository.directory, "index"),
            "GIT_LITERAL_PATHSPECS": "1",
        }
        try:
            yield Git(self._program, environment, self.directory)
        finally:
            await asyncio.to_thread(shutil.rmtree, shadow, True)

    async def commit(self, name: str) -> str:
        """The id of the commit a checked name stands for, or ""."""
        said = await self.plain().run("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
        found = said.out.decode("ascii", "replace").strip()
        return found if said.code == 0 and found.isalnum() and len(found) in EMPTY_TREES else ""

    async def check_filters(self) -> None:
        """Refuse to go on where the repository's own configuration names programs that change file contents.

        Raises:
            ApiError: not_supported.
        """
        said = await self.plain().run(
            *("config", "--includes", "--show-scope", "-z", "--name-only"),
            *("--get-regexp", r"^(filter\..*\.(clean|smudge|process)|merge\..*\.driver)$"),
        )
        fields = said.out.decode(errors="replace").split("\0")
        own = {name.rpartition(".")[0] for scope, name in zip(fields[::2], fields[1::2], strict=False) if scope in _OWN}
        if own:
            names = ", ".join(sorted(own))[:200]
            text = f"The repository's own configuration names programs for its files ({names}), which the console does"
            raise ApiError("not_supported", f"{text} not start. Do this in a terminal.", filters=sorted(own)[:20])

    async def _carried(self) -> dict[str, str]:
        said = await self.plain().run("config", "--includes", "-z", "--get-regexp", r"^(core|extensions)\.[a-z]+$")
        return _harmless(said.out.decode(errors="replace"))

    def _shadow(self, carried: Mapping[str, str], head: str) -> str:
        """Make a git directory of our own. What it says is ours; objects and index are borrowed by the environment."""
        shadow = tempfile.mkdtemp(prefix="git-", dir=self._scratch)
        for folder in ("objects/info", "refs", "info"):
            os.makedirs(os.path.join(shadow, folder))
        settings = {
            "core.repositoryformatversion": "1" if "extensions.objectformat" in carried else "0",
            "core.bare": "false",
            "core.fsmonitor": "false",
            "core.hookspath": "/dev/null",
            "core.attributesfile": "/dev/null",
            "core.untrackedcache": "false",
            "core.quotepath": "true",
            "diff.renamelimit": "1000",
            **carried,
        }
        lines = [f"[{section}]\n\t{name} = {_quoted(value)}\n" for section, name, value in _split(settings)]
        _write(shadow, "config", "".join(lines).encode("utf-8", "surrogateescape"))
        _write(shadow, "HEAD", (head or "ref: refs/heads/none").encode() + b"\n")
        objects = os.fsencode(os.path.join(self.repository.common, "objects"))
        _write(shadow, "objects/info/alternates", _escaped(objects) + b"\n")
        for name in ("info/exclude", "shallow"):
            copied = read_regular(os.path.join(self.repository.common, name), _LONGEST_COPIED)
            if copied is not None:
                _write(shadow, name, copied)
        for name in os.listdir(self.repository.directory):
            if name.startswith("sharedindex."):
                os.symlink(os.path.join(self.repository.directory, name), os.path.join(shadow, name))
        return shadow

    def _with_directory(self, environment: dict[str, str]) -> dict[str, str]:
        """Name the directories, so that the configuration cannot name others (`core.worktree`)."""
        return environment | {"GIT_DIR": self.repository.directory, "GIT_WORK_TREE": self.top}


_OWN = frozenset({"local", "worktree"})


def failed(said: GitResult) -> ApiError:
    """Git's own words as an error of ours."""
    lines = [line.strip() for line in said.words.splitlines() if line.strip()]
    begin = next((number for number, line in enumerate(lines) if line.startswith(("fatal: ", "error: "))), 0)
    told = [line.removeprefix("fatal: ").removeprefix("error: ") for line in lines[begin:]]
    words = " ".join(told)[:1000].rstrip(".") or f"it ended with code {said.code}"
    return ApiError("conflict", f"Git did not do it: {words}.")


def _harmless(listed: str) -> dict[str, str]:
    """Of all settings, as `git config -z` lists them, those that are carried over."""
    found: dict[str, str] = {}
    for line in listed.split("\0"):
        name, _, value = line.partition("\n")
        if value.lower() in _CARRIED.get(name.lower(), ()):
            found[name.lower()] = value.lower()
        elif name.lower() == "core.excludesfile" and "\n" not in value:
            found["core.excludesfile"] = os.path.expanduser(value)
    return found


def _slot() -> asyncio.Semaphore:
    loop = asyncio.get_running_loop()
    if loop not in _slots:
        _slots[loop] = asyncio.Semaphore(AT_ONCE)
    return _slots[loop]


async def _run(
    command: list[str], cwd: str, environment: dict[str, str], stdin: bytes, most: int, seconds: float
) -> GitResult:
    pieces: dict[int, list[bytes]] = {1: [], 2: []}
    sizes = {1: 0, 2: 0}
    full = asyncio.Event()
    limits = {1: most, 2: MOST_WORDS}

    def receive(number: int, data: bytes) -> None:
        room = limits[number] - sizes[number]
        pieces[number].append(data[: max(room, 0)])
        sizes[number] += len(data)
        if number == 1 and sizes[1] > most:
            full.set()

    try:
        with tempfile.TemporaryFile(buffering=0) as source:
            source.write(stdin)
            source.seek(0)
            child = Child(command, cwd=cwd, environment=environment, receive=receive, stdin=source.fileno())
    except (OSError, ValueError) as error:
        raise ApiError("unavailable", f"Git could not be started: {error}.") from None
    overflow = asyncio.ensure_future(full.wait())
    try:
        await asyncio.wait((child.ended, overflow), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        overflow.cancel()
        if not child.ended.done():
            await child.end(0.1)
        child.close()
    if not child.ended.done() or (child.ended.result() < 0 and not full.is_set()):
        text = f"Git did not come to an end within {seconds:.0f} seconds. The repository may be very large; try again."
        raise ApiError("unavailable", text)
    words = b"".join(pieces[2]).decode(errors="replace")
    return GitResult(child.ended.result(), b"".join(pieces[1]), words, full.is_set())


def _split(settings: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [(*name.split(".", 1), value) for name, value in settings.items()]  # type: ignore[misc]  # two parts each


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _escaped(path: bytes) -> bytes:
    """A path in quotes, as git reads it back whatever bytes it has."""
    plain = b"/._-" + b"".join(bytes([code]) for code in range(128) if chr(code).isalnum())
    return b'"' + b"".join(bytes([byte]) if byte in plain else b"\\%03o" % byte for byte in path) + b'"'


def _write(folder: str, name: str, content: bytes) -> None:
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)
