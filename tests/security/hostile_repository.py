"""Runs the real command in a hostile repository and collects the evidence of harm."""

import contextlib
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self, TypeAlias

import msgspec

from tests.kit.program import BOBSTAY, environment
from tests.modelserver import Call, ModelServer, Say, Step
from tests.security.repos import Bait, Evidence, Trap
from tests.security.repos.bait import put, script

LOOKING_AROUND = (
    Call("Read", {"file_path": "README.md"}, "read"),
    Call("Grep", {"pattern": "hello"}, "grep"),
    Call("Glob", {"pattern": "**/*.md"}, "glob"),
    Call("Bash", {"command": "ls"}, "list"),
    Call("Bash", {"command": "git status"}, "status"),
    Call("Bash", {"command": "git diff"}, "diff"),
    Call("Bash", {"command": "git log -n 3"}, "log"),
    Call("Bash", {"command": "g'i't status"}, "quoted"),
    Call("Bash", {"command": "yarn --version"}, "yarn"),
)
"""The first calls of a model in any repository."""
NAMES = ("git", "ls", "cat", "bash", "sh", "rg", "node", "yarn", "npm", "direnv", "python", "python3")


class Listener:
    """Accepts and counts connections, without answering."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._accepted = self._own = 0
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in accept
        self._socket.close()
        self._thread.join(10)

    def count_connections(self) -> int:
        """The number of connections so far. They are accepted in order: after our own, earlier ones were counted."""
        self._own += 1
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.recv(1)
        return self._accepted - self._own

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self._accepted += 1
            connection.close()


class HostileRepository:
    """A new hostile repository, with a home that has no settings about it."""

    def __init__(self, trap: Trap, folder: Path, model: ModelServer, listener: Listener) -> None:
        self.trap = trap
        self.repo = folder / "repo"
        self.home = folder / "home"
        self.repo.mkdir()
        (folder / "outside").mkdir()
        put(self.repo, "README.md", "hello\n")
        self.bait = Bait(folder / "marker", folder / "outside", listener.port)
        self.shim_bait = Bait(folder / "marker-of-a-program", folder / "outside", listener.port)
        self._server, self._listener = model, listener
        trap.build(self.repo, self.bait)

    def run(self, *arguments: str, shims: bool = False) -> Evidence:
        """Run a session in which the scripted model explores the repository."""
        calls = [*LOOKING_AROUND, *self.trap.calls]
        token = self._server.play("look", Step(blocks=list(calls)), Step(blocks=[Say("done")]))
        given = environment(self._server, self.home)
        given |= self.trap.environment(self.repo, self.bait)
        if shims:
            given["PATH"] = f"{self._shims()}:.::{given['PATH']}"
        command = [BOBSTAY, "-p", token, *self.trap.arguments, *arguments]
        return self._evidence(command, given)

    def by_hand(self) -> Evidence:
        assert self.trap.by_hand is not None
        given = environment(self._server, self.home)
        given["PATH"] = f"{os.path.dirname(BOBSTAY)}:{given['PATH']}"
        return self._evidence(self.trap.by_hand(self.repo, self.bait), given)

    def trust(self, *words: str) -> subprocess.CompletedProcess[str]:
        given = environment(self._server, self.home)
        return subprocess.run(
            [BOBSTAY, "trust", *words], cwd=self.repo, env=given, capture_output=True, text=True, check=False
        )

    def _shims(self) -> Path:
        """Programs inside the repository, where no lookup may find them."""
        folder = self.repo / "shims"
        for name in NAMES:
            script(folder, name, self.shim_bait)
            if not (self.repo / name).exists():
                shutil.copy(folder / name, self.repo / name)
        return folder

    def _evidence(self, command: list[str], given: dict[str, str]) -> Evidence:
        before, asked = self._listener.count_connections(), len(self._server.requests)
        done = subprocess.run(
            command, cwd=self.repo, env=given, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=200
        )
        bodies = [request.body for request in self._server.requests[asked:]]
        return Evidence(
            marked=self.bait.marker.exists() or self.shim_bait.marker.exists(),
            files=frozenset(os.listdir(self.repo)),
            connections=self._listener.count_connections() - before,
            requests="\n".join(msgspec.json.encode(body).decode() for body in bodies),
            models=frozenset(str(body["model"]) for body in bodies),
            errors=done.stderr.decode(errors="replace"),
        )


LayTrap: TypeAlias = Callable[[Trap], HostileRepository]
"""Makes the hostile repository of a test."""
