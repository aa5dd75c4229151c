"""Runs inside the sandbox as its first process: builds the file tree, runs commands, reports what they did.

The protocol is lines of JSON: first the plan of the file tree, answered by `"ready"`; then lists of commands, each
answered by a list of reports. Only the standard library can be imported here.
"""

import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from typing import Any, TypeAlias

Fingerprint: TypeAlias = tuple[int, int, int, int, int, int]

PLACE = "/opt/driver"
MARKS = f"{PLACE}/marks"
OUTPUT = f"{PLACE}/output"
SHELL = "/opt/shell"
LONG_AGO = 1_500_000_000 * 10**9
LONGER_AGO = 1_400_000_000 * 10**9
LONGEST_OUTPUT = 1 << 20
MOST_MARKS = 100
SHIM = f"""#!{SHELL}
builtin printf '%s\\0' "$#" "$0" "$@" >> {MARKS}
"""
WRAPPER = (
    SHIM
    + """name=${0##*/}
[ -x "/opt/real/$name" ] && exec -a "$name" "/opt/real/$name" "$@"
while [[ $1 == -* ]]; do shift; done
exec "$@"
"""
)


def main() -> None:
    plan = json.loads(sys.stdin.readline())
    tree = FixtureTree(plan)
    answer("ready")
    for line in sys.stdin:
        answer([tree.run(command) for command in json.loads(line)])


def answer(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class FixtureTree:
    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.root: str = plan["root"]
        self.environment: dict[str, str] = plan["environment"]
        self.timeout: float = plan["timeout"]
        self.watched: list[str] = plan["watched"]
        self._install_programs()
        self._write_files()
        self._age()
        self._make_repository()
        self.contents = [remember(path) for path in walk(plan["areas"])]
        self._age()
        self.output = os.open(OUTPUT, os.O_RDWR | os.O_CREAT)
        self.before = self._fingerprints()
        self.connections = 0
        self.listeners = [listen(kind, plan["port"]) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]

    def run(self, command: str) -> dict[str, Any]:
        """Run one command in a clean file tree; the report has an entry for each kind of action."""
        self.connections = 0
        os.ftruncate(self.output, 0)
        os.lseek(self.output, 0, os.SEEK_SET)
        try:
            in_time = self._execute(os.fsencode(command))
        except ValueError as error:
            return {"impossible": str(error)}
        except OSError as error:
            return {"impossible": str(error)} if error.errno else {}
        found = {
            "ran": collect_marks(),
            "changed": self._changes(),
            "read": self._readings(),
            "connected": self.connections + sum(map(was_connected, self.listeners)),
            "leaked": self._leaks(),
            "late": not in_time,
        }
        if found["changed"]:
            self._restore()
        return {name: value for name, value in found.items() if value}

    def _execute(self, command: bytes) -> bool:
        os.chdir(self.root)
        arguments: list[str | bytes] = ["bash", "--noprofile", "--norc", "-c", command]
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, self.output, 1),
            (os.POSIX_SPAWN_DUP2, self.output, 2),
        ]
        deadline = time.monotonic() + self.timeout
        child = os.posix_spawn(SHELL, arguments, self.environment, file_actions=actions, setsid=True)
        ended = self._wait_for(child, deadline)
        # Background processes get the rest of the time, because their effects count too.
        while ended and children_left() and time.monotonic() < deadline:
            time.sleep(0.002)
        in_time = bool(ended) and not children_left()
        while children_left():
            os.kill(-1, signal.SIGKILL)
            time.sleep(0.002)
        return in_time

    def _wait_for(self, child: int, deadline: float) -> bool:
        """Whether the child ended in time; connections are accepted and closed meanwhile, so that no process hangs."""
        descriptor = os.pidfd_open(child)
        awaited = [descriptor, *(listener.fileno() for listener in self.listeners)]
        try:
            while (left := deadline - time.monotonic()) > 0:
                ready = select.select(awaited, [], [], left)[0]
                if descriptor in ready:
                    return True
                self.connections += sum(map(was_connected, self.listeners))
            return False
        finally:
            os.close(descriptor)

    def _changes(self) -> list[str]:
        after = self._fingerprints()
        if after == self.before:
            return []
        paths = self.before.keys() | after.keys()
        return sorted(path for path in paths if self.before.get(path) != after.get(path))

    def _readings(self) -> list[str]:
        found = [path for path in self.watched if was_read(path)]
        for path in found:
            reset_access_time(path)
        return found

    def _leaks(self) -> bool:
        size = os.fstat(self.output).st_size
        return self.plan["secret"].encode() in os.pread(self.output, min(size, LONGEST_OUTPUT), 0)

    def _fingerprints(self) -> dict[str, Fingerprint]:
        found = {path: fingerprint(path) for path in walk(self.plan["areas"])}
        for top in os.listdir("/"):
            found.setdefault(f"/{top}", (0, 0, 0, 0, 0, 0))
        return found

    def _restore(self) -> None:
        for area in self.plan["areas"]:
            for entry in os.scandir(area):
                erase(entry.path)
        for top in os.listdir("/"):
            if f"/{top}" not in self.before:
                erase(f"/{top}")
        for path, mode, content in self.contents:
            restore(path, mode, content)
        self._age()
        self.before = self._fingerprints()

    def _age(self) -> None:
        """Set all times to the past, so that later reads and writes can be detected."""
        for path in walk(self.plan["areas"]):
            os.utime(path, ns=(LONGER_AGO, LONG_AGO), follow_symlinks=False)
        index = f"{self.root}/.git/index"
        if os.path.exists(index):  # git does not trust an index that is not newer than the files
            os.utime(index, ns=(LONGER_AGO, LONG_AGO + 10**12))

    def _install_programs(self) -> None:
        os.makedirs(PLACE)
        write(MARKS, "", 0o666)
        write(f"{PLACE}/shim", SHIM, 0o755)
        write(f"{PLACE}/wrapper", WRAPPER, 0o755)
        names = {name for folder in self.plan["folders"] for name in os.listdir(folder)}
        for name in names.union(self.plan["shims"], self.plan["wrappers"], self.plan["tools"]):
            path = f"/usr/bin/{name}"
            if target := self.plan["tools"].get(name):
                install(target, path)
            else:
                kind = "wrapper" if name in self.plan["wrappers"] else "shim"
                os.symlink(f"{PLACE}/{kind}", path)

    def _write_files(self) -> None:
        for path, content in self.plan["files"].items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write(path, content)
        for path, target in self.plan["links"].items():
            os.symlink(target, path)
        for path in self.plan["programs"]:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write(path, SHIM, 0o755)

    def _make_repository(self) -> None:
        dates = {"GIT_AUTHOR_DATE": "1500000000 +0000", "GIT_COMMITTER_DATE": "1500000000 +0000"}
        for arguments in self.plan["git"]:
            subprocess.run(
                ["/usr/bin/git", *arguments],
                cwd=self.root,
                env=self.environment | dates,
                check=True,
                stdout=subprocess.DEVNULL,
            )
        with open(f"{self.root}/README.md", "a") as file:
            file.write("changed\n")
        collect_marks()


def install(target: str, path: str) -> None:
    """Install a real program at a path; a script gets the hidden shell, because `sh` is one of the recorded names."""
    with open(target, "rb") as file:
        script = file.read(2) == b"#!" and target
    if not script:
        os.symlink(target, path)
        return
    with open(script) as file:
        _, _, body = file.read().partition("\n")
    write(path, f"#!{SHELL}\n{body}", 0o755)


def write(path: str, content: str, mode: int = 0o644) -> None:
    with open(path, "w") as file:
        file.write(content)
    os.chmod(path, mode)


def walk(areas: list[str]) -> list[str]:
    """Everything below the areas, parents first, without changing access times."""
    found: list[str] = []
    waiting = list(areas)
    while waiting:
        folder = waiting.pop()
        found.append(folder)
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NOATIME)
        except OSError:
            continue
        try:
            with os.scandir(descriptor) as entries:
                for entry in entries:
                    (waiting if entry.is_dir(follow_symlinks=False) else found).append(f"{folder}/{entry.name}")
        finally:
            os.close(descriptor)
    return found


def fingerprint(path: str) -> Fingerprint:
    found = os.lstat(path)
    return found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_nlink, found.st_uid


def remember(path: str) -> tuple[str, int, str | bytes]:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        return path, mode, os.readlink(path)
    if stat.S_ISDIR(mode):
        return path, mode, ""
    with open(path, "rb") as file:
        return path, mode, file.read()


def restore(path: str, mode: int, content: str | bytes) -> None:
    if stat.S_ISLNK(mode):
        os.symlink(content, path)
        return
    if stat.S_ISDIR(mode):
        os.makedirs(path, exist_ok=True)
    else:
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    os.chmod(path, stat.S_IMODE(mode))


def erase(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)


def was_read(path: str) -> bool:
    try:
        return os.lstat(path).st_atime_ns != LONGER_AGO
    except OSError:
        return False  # it is gone, which is reported as a change


def reset_access_time(path: str) -> None:
    found = os.lstat(path)
    os.utime(path, ns=(LONGER_AGO, found.st_mtime_ns), follow_symlinks=False)


def collect_marks() -> list[list[str]]:
    """The calls recorded since the last time: the path of the program, then its arguments."""
    if not os.stat(MARKS).st_size:
        return []
    with open(MARKS, "r+b") as file:
        words = [os.fsdecode(word) for word in file.read().split(b"\0")]
        file.truncate(0)
    found: list[list[str]] = []
    while len(words) > 1 and words[0].isdigit() and len(found) < MOST_MARKS:
        count = int(words[0]) + 2
        found.append(words[1:count])
        words = words[count:]
    return found


def children_left() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def listen(kind: socket.SocketKind, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, kind)
    listener.setblocking(False)
    listener.bind(("127.0.0.1", port))
    if kind == socket.SOCK_STREAM:
        listener.listen(8)
    return listener


def was_connected(listener: socket.socket) -> bool:
    found = False
    while True:
        try:
            if listener.type == socket.SOCK_STREAM:
                listener.accept()[0].close()
            else:
                listener.recv(1)
        except BlockingIOError:
            return found
        found = True


if __name__ == "__main__":
    main()
