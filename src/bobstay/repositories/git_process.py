"""Runs git, bounded in time and output, so that nothing in the worktree can make it start other programs.

Reading (`Repo.isolated`) happens without a request by a person, while an agent may be changing the repository's
configuration. Git therefore gets a temporary git directory with a configuration of our own that borrows the objects
and the index of the real one. Writing (`Repo.writable`) is requested by a person and needs the real repository: there
the settings that name programs are overridden one by one, and what cannot be overridden is refused.
"""

import asyncio
import os
import shutil
import tempfile
import weakref
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from bobstay.config.git_hardening import USUAL_PATH, harden_environment
from bobstay.config.trust import filter_search_path
from bobstay.git_files.git_directory import GitDirectory
from bobstay.repositories.git_failure import Failure, GitError
from bobstay.system.child_process import Child, find_program
from bobstay.system.safe_read import read_regular

SECONDS = 20.0
MOST = 8 * 1024 * 1024
MOST_ERROR_OUTPUT = 64 * 1024
AT_ONCE = 4
"""Git processes that run at the same time; others wait."""
EMPTY_TREES = {40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"} | {
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
}
_SAFE_VARIABLES = {
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
_COPIED_SETTINGS = {
    "core.autocrlf": ("true", "false", "input"),
    "core.eol": ("lf", "crlf", "native"),
    "core.filemode": ("true", "false"),
    "core.symlinks": ("true", "false"),
    "core.ignorecase": ("true", "false"),
    "core.precomposeunicode": ("true", "false"),
    "extensions.objectformat": ("sha1", "sha256"),
}
"""Settings of a repository that affect a diff, and their allowed values; none of them names a program."""
_LONGEST_COPIED = 1 << 20

_slots: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]" = weakref.WeakKeyDictionary()


class GitResult(Struct, frozen=True):
    """The result of a git process."""

    code: int
    out: bytes
    errors: str
    cut: bool = False
    """The process was ended because its output was too long; `out` is the beginning."""


class Git:
    """Git for one repository, with the environment and the git directory to use."""

    def __init__(
        self,
        program: str,
        environment: dict[str, str],
        cwd: str,
        settings: Sequence[str] = (),
        failure: Failure = GitError,
    ) -> None:
        """`failure` makes the errors to raise, in place of `GitError`."""
        self.cwd = cwd
        self.environment = environment
        self._program = program
        self._settings = tuple(settings)
        self._failure = failure

    async def run(
        self, *arguments: str | bytes, stdin: bytes = b"", most: int = MOST, seconds: float = SECONDS
    ) -> GitResult:
        """Raises:
        GitError: unavailable, if git does not start or takes too long.
        """
        command = [self._program, "--no-pager", *self._settings, *map(os.fsdecode, arguments)]
        async with _slot():
            return await _run(command, self.cwd, self.environment, stdin, most, seconds, self._failure)

    def with_environment(self, environment: dict[str, str]) -> "Git":
        """The same with another environment, such as other directories."""
        return Git(self._program, environment, self.cwd, self._settings, self._failure)

    async def output(self, *arguments: str | bytes, stdin: bytes = b"", most: int = MOST) -> bytes:
        """The standard output of a command.

        Raises:
            GitError: conflict, with git's own message, if it fails.
        """
        result = await self.run(*arguments, stdin=stdin, most=most)
        if result.code and not result.cut:
            raise git_error(result, self._failure)
        return result.out


class Repo:
    """A repository a session works in, seen from one of its directories."""

    def __init__(
        self,
        directory: str,
        repository: GitDirectory,
        environment: Mapping[str, str],
        scratch: str = "",
        failure: Failure = GitError,
    ) -> None:
        self.failure = failure
        self.directory = directory
        self.repository = repository
        self._scratch = scratch or None
        top = os.path.realpath(repository.top)
        path = filter_search_path(environment.get("PATH", ""), os.path.realpath(directory), top)
        self._program = find_program("git", path) or find_program("git", USUAL_PATH)
        if not self._program:
            raise failure("not_supported", "There is no git on this machine. Install it to see changes.")
        self.top = top
        calm = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
        self._calm = {**calm, **_SAFE_VARIABLES, "PATH": path or USUAL_PATH}
        self._guarded = harden_environment(calm, directory)

    def plain(self) -> Git:
        """Git for queries that start no other program: resolving revisions, reading the configuration."""
        return Git(
            self._program, self._with_directory(self._guarded | _SAFE_VARIABLES), self.directory, (), self.failure
        )

    def writable(self, cwd: str = "", *, network: bool = False) -> Git:
        """Git for changes that a person requested. Call `check_filters` first."""
        reach = {"GIT_ALLOW_PROTOCOL": "http:https:ssh:git"} if network else {}
        settings = ("-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
        environment = self._with_directory(self._guarded | _SAFE_VARIABLES | reach)
        return Git(self._program, environment, cwd or self.directory, settings, self.failure)

    @asynccontextmanager
    async def isolated(self, head: str = "") -> AsyncGenerator[Git, None]:
        """Git that does not read this repository's configuration. `head` is the commit to use as HEAD."""
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
            yield Git(self._program, environment, self.directory, (), self.failure)
        finally:
            await asyncio.to_thread(shutil.rmtree, shadow, True)

    async def commit(self, name: str) -> str:
        """The id of the commit that a checked name resolves to, or ""."""
        result = await self.plain().run("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
        found = result.out.decode("ascii", "replace").strip()
        return found if result.code == 0 and found.isalnum() and len(found) in EMPTY_TREES else ""

    async def check_filters(self) -> None:
        """Refuse repositories whose own configuration names programs that change file contents.

        Raises:
            GitError: not_supported.
        """
        result = await self.plain().run(
            *("config", "--includes", "--show-scope", "-z", "--name-only"),
            *("--get-regexp", r"^(filter\..*\.(clean|smudge|process)|merge\..*\.driver)$"),
        )
        fields = result.out.decode(errors="replace").split("\0")
        own = {name.rpartition(".")[0] for scope, name in zip(fields[::2], fields[1::2], strict=False) if scope in _OWN}
        if own:
            names = ", ".join(sorted(own))[:200]
            text = f"The repository's own configuration names programs for its files ({names}), which are not"
            raise self.failure(
                "not_supported", f"{text} started here. Do this in a terminal.", filters=sorted(own)[:20]
            )

    async def _carried(self) -> dict[str, str]:
        result = await self.plain().run("config", "--includes", "-z", "--get-regexp", r"^(core|extensions)\.[a-z]+$")
        return _copied_settings(result.out.decode(errors="replace"))

    def _shadow(self, carried: Mapping[str, str], head: str) -> str:
        """Create a git directory with our own configuration that borrows objects and index of the real one."""
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
        lines = [f"[{section}]\n\t{name} = {_quote(value)}\n" for section, name, value in _split(settings)]
        _write(shadow, "config", "".join(lines).encode("utf-8", "surrogateescape"))
        _write(shadow, "HEAD", (head or "ref: refs/heads/none").encode() + b"\n")
        objects = os.fsencode(os.path.join(self.repository.common, "objects"))
        _write(shadow, "objects/info/alternates", _escape(objects) + b"\n")
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


def git_error(result: GitResult, failure: Failure = GitError) -> Exception:
    """The error to raise for a command that failed, with git's own message."""
    lines = [line.strip() for line in result.errors.splitlines() if line.strip()]
    begin = next((number for number, line in enumerate(lines) if line.startswith(("fatal: ", "error: "))), 0)
    messages = [line.removeprefix("fatal: ").removeprefix("error: ") for line in lines[begin:]]
    text = " ".join(messages)[:1000].rstrip(".") or f"it ended with code {result.code}"
    return failure("conflict", f"Git failed: {text}.")


def _copied_settings(listed: str) -> dict[str, str]:
    """The settings to copy, out of all settings in the output of `git config -z`."""
    found: dict[str, str] = {}
    for line in listed.split("\0"):
        name, _, value = line.partition("\n")
        if value.lower() in _COPIED_SETTINGS.get(name.lower(), ()):
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
    command: list[str],
    cwd: str,
    environment: dict[str, str],
    stdin: bytes,
    most: int,
    seconds: float,
    failure: Failure,
) -> GitResult:
    pieces: dict[int, list[bytes]] = {1: [], 2: []}
    sizes = {1: 0, 2: 0}
    full = asyncio.Event()
    limits = {1: most, 2: MOST_ERROR_OUTPUT}

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
        raise failure("unavailable", f"Git could not be started: {error}.") from None
    overflow = asyncio.ensure_future(full.wait())
    try:
        await asyncio.wait((child.ended, overflow), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        overflow.cancel()
        if not child.ended.done():
            await child.end(0.1)
        child.close()
    if not child.ended.done() or (child.ended.result() < 0 and not full.is_set()):
        text = f"Git did not finish within {seconds:.0f} seconds. The repository may be very large; try again."
        raise failure("unavailable", text)
    errors = b"".join(pieces[2]).decode(errors="replace")
    return GitResult(child.ended.result(), b"".join(pieces[1]), errors, full.is_set())


def _split(settings: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [(*name.split(".", 1), value) for name, value in settings.items()]  # type: ignore[misc]  # two parts each


def _quote(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _escape(path: bytes) -> bytes:
    """A path quoted so that git can read it, whatever bytes it has."""
    plain = b"/._-" + b"".join(bytes([code]) for code in range(128) if chr(code).isalnum())
    return b'"' + b"".join(bytes([byte]) if byte in plain else b"\\%03o" % byte for byte in path) + b'"'


def _write(folder: str, name: str, content: bytes) -> None:
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)
