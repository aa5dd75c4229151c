"""Shared parts of hostile repositories: a marker to create, a listener to connect to, a secret to leak."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.kit.repositories import git
from tests.modelserver import Call

SECRET = "PLANTED-4711-SECRET"
"""Text that must not reach the model."""


class Bait(Struct, frozen=True):
    """Where a payload leaves traces, all outside the repository."""

    marker: Path
    outside: Path
    """A folder beside the repository."""
    port: int
    """The port of a listener that should get no connection."""

    @property
    def command(self) -> str:
        return f"echo fired >> {shlex.quote(str(self.marker))}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Evidence(Struct, frozen=True):
    """The traces of a run."""

    marked: bool
    files: frozenset[str]
    """What is in the repository's folder."""
    connections: int
    requests: str
    """All requests to the model."""
    models: frozenset[str]
    errors: str


class Trap(Struct, frozen=True):
    name: str
    build: Callable[[Path, Bait], object]
    fired: Callable[[Evidence], bool] = lambda evidence: evidence.marked
    calls: tuple[Call, ...] = ()
    """Calls of the model besides the usual exploration."""
    arguments: tuple[str, ...] = ()
    environment: Callable[[Path, Bait], dict[str, str]] = lambda _, __: {}
    by_hand: Callable[[Path, Bait], list[str]] | None = None
    """For payloads that bobstay never runs, trusted or not: the command that shows that the payload works."""
    revive: Callable[[Path, Bait], None] | None = None
    """For payloads that bobstay never loads unchanged: the change after which a trusted folder is loaded."""
    starts: bool = True
    """Whether an untrusted run gets as far as the model."""


def put(repo: Path, name: str, content: str | dict[str, Any], mode: int = 0o644) -> Path:
    path = repo / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    path.chmod(mode)
    return path


def script(repo: Path, name: str, bait: Bait, then: str = "") -> Path:
    return put(repo, name, f"#!/bin/sh\n{bait.command}\n{then}\n", 0o755)


def commit_all(repo: Path) -> None:
    git(repo, "init", "-q", "-b", "main")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "first")
