"""A disposable environment for hostile probes: a workspace, a home with keys, and targets outside.

It is not in /tmp: the sandbox has its own /tmp, which would hide the targets for the wrong reason.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bobstay.permissions.sandbox import landlock, launch, seatbelt  # noqa: F401 - loaded before rights are dropped
from bobstay.permissions.sandbox.availability import Availability, available
from bobstay.permissions.sandbox.launch import Sandbox
from bobstay.permissions.sandbox.mount_plan import SandboxSpec
from tests.kit.waiting import DEADLINE
from tests.security.probes import Probe

NOBODY = 65534
USERS = ("root", "nobody") if os.getuid() == 0 else ("oneself",)
PYTHON = next(path for path in ("/usr/bin/python3", os.path.realpath(sys.executable)) if os.access(path, os.X_OK))
_SERVICES = """
import os, socket, sys
tcp = socket.create_server(('127.0.0.1', 0))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(tcp.getsockname())
named = socket.socket(socket.AF_UNIX)
named.bind(sys.argv[2]); named.listen(64)
abstract = socket.socket(socket.AF_UNIX)
abstract.bind('\\0' + sys.argv[3]); abstract.listen(64)
print(tcp.getsockname()[1], flush=True)
while True:
    _, sender = udp.recvfrom(512)
    udp.sendto(b'answered', sender)
"""


_CONFIG = """\
[core]
\trepositoryformatversion = 0
\thooksPath = scripts/hooks
[extensions]
\tworktreeConfig = true
[include]
\tpath = ../shared/git.inc
\tpath = ../shared/later.inc
"""


class ProbeHost:
    def __init__(self, base: Path, user: str) -> None:
        self.base = base
        self.user = user
        self.ws, self.home, self.out = base / "ws", base / "home", base / "outside"
        self.shared: list[Path] = []
        self.variables: dict[str, str] = {}
        self._services: subprocess.Popen[str] | None = None

    def open(self) -> None:
        """Start the services that all probes share."""
        for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run"):
            if os.access(folder, os.W_OK):
                self.shared.append(self._give_to_user(Path(tempfile.mkdtemp(prefix="bobstay-", dir=folder))))
        (self.base / "services").mkdir()
        self._give_to_user(self.base / "services")
        sock, abstract = str(self.base / "services/docker.sock"), f"bobstay-{os.getpid()}-{self.user}"
        setuid = self.base / "id"
        shutil.copy("/usr/bin/id", setuid)
        os.chown(setuid, *((12345, 12345) if self.user == "root" else (os.getuid(), os.getgid())))
        setuid.chmod(0o4755)
        self.out.mkdir()
        self._give_to_user(self.out)
        self._services = subprocess.Popen(
            [PYTHON, "-I", "-S", "-c", _SERVICES, "victim", sock, abstract],
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.out,
            env={"HELD": "secret"},
            user=NOBODY if self.user == "nobody" else None,
            group=NOBODY if self.user == "nobody" else None,
            extra_groups=[] if self.user == "nobody" else None,
        )
        assert self._services.stdout is not None
        port = self._services.stdout.readline().strip()
        names = ("SHARED", "SHARED2", "SHARED3", "SHARED4")
        self.variables = {
            **{name: str(path) for name, path in zip(names, self.shared, strict=False)},
            "WS": str(self.ws),
            "OUT": str(self.out),
            "PORT": port,
            "SOCK": sock,
            "ABSTRACT": abstract,
            "SETUID": str(setuid),
            "VICTIM": str(self._services.pid),
            "AFTER": f"cd {self.ws}; until [ -e go ] || [ ! -d {self.ws} ]; do sleep 0.01; done; echo owned > late",
        }

    def close(self) -> None:
        if self._services is not None:
            self._services.kill()
            self._services.wait()
            assert self._services.stdout is not None
            self._services.stdout.close()
        for path in (*self.shared, self.base):
            shutil.rmtree(path)

    def environment(self) -> dict[str, str]:
        return {
            **self.variables,
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self.home),
            "HARNESS_SECRET": "secret",
            "LD_LIBRARY_PATH": "/secret",
        }

    def sandbox(self, availability: Availability | None = None, **more: Any) -> Sandbox:
        spec = SandboxSpec(
            root=str(self.ws),
            home=str(self.home),
            state=str(self.home / ".bobstay/sandbox"),
            hidden=(str(self.out / "hidden"),),
            variables=tuple(self.variables),
            **more,
        )
        return Sandbox(spec, availability or available(), python=PYTHON)

    def build(self, kind: str = "repository") -> None:
        """Restore everything to the state before an attack."""
        for path in (self.ws, self.home):
            shutil.rmtree(path, ignore_errors=True)
        for entry in self.out.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        _write(self.ws, {"a.txt": "one\n", "sub/.envrc": "", ".cargo/config.toml": "", "shared/yarn.yml": ""})
        if kind == "links":
            (self.ws / ".yarnrc.yml").symlink_to("shared/yarn.yml")
            (self.ws / ".ripgreprc").symlink_to("shared/later")
            (self.ws / ".zshrc").symlink_to(self.home / ".ssh/id")
        names = (".ssh/id", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".bobstay/sessions/one.jsonl")
        _write(self.home, {".bashrc": "", **dict.fromkeys(names, "secret\n")})
        _write(self.out, {"precious": "", "hidden/file": "secret\n"})
        for folder in self.shared:
            (folder / "file").unlink(missing_ok=True)
        _write(self.shared[0], {"given": "secret\n"})
        if kind == "repository":
            _write(self.ws / ".git", _git(_CONFIG))
            other = f"{self.out}/other/.git\n"
            _write(self.ws / ".git/worktrees/other", {"HEAD": "ref: x\n", "commondir": "../..\n", "gitdir": other})
            _write(self.ws / ".git/modules/m", _git(f"[core]\n\tworktree = {self.ws}/m\n"))
            _write(self.ws / ".git/modules/v", _git("[core]\n\tworktree = ../../../vendor/v\n"))
            submodules = "".join(
                f'[submodule "{name}"]\n\tpath = vendor/{name}\n\turl = x\n' for name in ("v", "later")
            )
            _write(self.ws, {"vendor/v/.git": "gitdir: ../../.git/modules/v\n", ".gitmodules": submodules})
            (self.ws / "vendor/later").mkdir()
            _write(self.ws, {"shared/git.inc": ""})
            _write(self.ws / "below/.git", _git("[core]\n\trepositoryformatversion = 0\n"))
            _write(self.ws / "bare.git", _git("[core]\n\tbare = true\n"))
            (self.ws / "scripts/hooks").mkdir(parents=True)

    def command(self, probe: Probe) -> list[str]:
        if probe.python:
            return [PYTHON, "-I", "-S", "-c", probe.script]
        return ["/bin/bash", "--noprofile", "--norc", "-c", probe.script]

    def snapshot(self) -> dict[str, str]:
        """Everything in the workspace, by path: type and content."""
        found: dict[str, str] = {}
        for folder, folders, files in os.walk(self.ws):
            for name in (*folders, *files):
                path = Path(folder, name)
                mode = path.lstat().st_mode
                is_text = path.is_file() and not path.is_symlink()
                found[str(path)] = f"{mode:o} {path.read_text(errors='replace')}" if is_text else f"{mode:o}"
        return found

    def _give_to_user(self, path: Path) -> Path:
        if self.user == "nobody":
            os.chown(path, NOBODY, NOBODY)
        return path


def new_folder() -> Path:
    """A folder that is not in /tmp. The caller removes it."""
    parent = next(path for path in ("/srv", "/opt", "/mnt", os.path.expanduser("~")) if os.access(path, os.W_OK))
    base = Path(tempfile.mkdtemp(prefix="bobstay-probes-", dir=parent))
    base.chmod(0o755)
    return base


@contextmanager
def open_probe_host(user: str) -> Iterator[ProbeHost]:
    base = new_folder()
    if user == "nobody":
        os.chown(base, NOBODY, NOBODY)
    host = ProbeHost(base, user)
    try:
        host.open()
        yield host
    finally:
        host.close()


def as_user(user: str, do: Callable[[], Any]) -> Any:
    """Call a function in a child process with the rights of `user`; returns its result (JSON)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 1
        try:
            if user == "nobody":
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
            os.umask(0o022)
            with open(writer, "w") as file:
                json.dump(do(), file)
            code = 0
        except BaseException:  # noqa: BLE001 - a child must end here, whatever happens
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader) as file:
        text = file.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, "see the traceback on stderr"
    return json.loads(text)


def attack(host: ProbeHost, probe: Probe, sandbox: Sandbox | None) -> bool:
    """Run a probe, in the sandbox or without one. Returns whether it did harm."""
    command, environment, entry = host.command(probe), host.environment(), None
    keep: tuple[int, ...] = ()
    if sandbox is not None:
        entry = sandbox.enter(command, cwd=str(host.ws), environment=environment)
        command, environment, keep = entry.command, entry.environment, tuple(entry.keep)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=host.ws,
        env=environment,
        pass_fds=keep,
        start_new_session=True,
        text=True,
    )
    if entry is not None:
        entry.release_descriptors()
    output, complaint = process.communicate(timeout=200)
    if entry is not None:
        assert not complaint.startswith(("bwrap:", "sandbox:")), complaint
    if probe.late:
        _wait_for_late_harm(host, expected=sandbox is None)
    if entry is not None:
        entry.finish()
    harmed = process.returncode == 0 or bool(probe.harm) or bool(probe.says)
    if probe.says:
        harmed = probe.says in output
    if probe.harm:
        harmed = probe.token in _content(os.path.expandvars(_expand(probe.harm, host)))
    return harmed


def _wait_for_late_harm(host: ProbeHost, *, expected: bool) -> None:
    (host.ws / "go").touch()
    deadline = time.monotonic() + (DEADLINE if expected else 0.3)
    while time.monotonic() < deadline and not (host.ws / "late").exists():
        time.sleep(0.01)


def _expand(text: str, host: ProbeHost) -> str:
    for name, value in sorted((*host.variables.items(), ("HOME", str(host.home))), key=lambda one: -len(one[0])):
        text = text.replace(f"${name}", value)
    return text


def _content(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _git(config: str) -> dict[str, str]:
    return {
        "HEAD": "ref: refs/heads/main\n",
        "config": config,
        "objects/.k": "",
        "refs/.k": "",
        "info/exclude": "",
        "hooks/.k": "",
    }


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
