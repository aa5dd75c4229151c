"""What of a repository's own files git would execute or obey: configuration, hooks, attributes, where they are kept."""

import os
import re
from collections.abc import Iterator

from bobstay.config.digest import Digests
from bobstay.config.git_directory import find_repository, looks_bare, open_repository

_HEADER = re.compile(rb'\[(branch|remote) "[^"\\\]]*"\]\s*')
_CALM = {
    b"branch": re.compile(rb"(remote|merge|rebase|pushremote|description|vscode-[\w-]+|gk-[\w-]+)\s*=[^\\]*"),
    b"remote": re.compile(rb"(fetch|tagopt|prune|gh-resolved)\s*=[^\\]*"),
}
"""Lines that everyday use of git writes, and that make nothing run: they may change without a question."""
_DEEPEST_INCLUDE = 5
_OBJECTS = frozenset({"objects", "refs", "logs", "lfs"})


def add_git_parts(digests: Digests, folder: str) -> list[str]:
    """Note what git obeys in `folder`; return the values that may name programs."""
    commands: list[str] = []
    if looks_bare(folder):
        commands += _configuration(digests, os.path.join(folder, "config"), folder)
        digests.tree(os.path.join(folder, "hooks"))
    entry = find_repository(folder)
    if entry is None:
        return commands
    repository = open_repository(entry)
    if not os.path.isdir(entry) or os.path.islink(entry):
        digests.file(entry)
        digests.text("git directory", os.fsencode(repository.directory))
    digests.file(os.path.join(repository.directory, "commondir"))
    if repository.common != repository.directory:
        digests.text("git common directory", os.fsencode(repository.common))
    for directory in dict.fromkeys((repository.common, repository.directory)):
        for name in ("config", "config.worktree"):
            commands += _configuration(digests, os.path.join(directory, name), repository.top)
        digests.file(os.path.join(directory, "info", "attributes"))
        _hooks(digests, os.path.join(directory, "hooks"))
    digests.file(os.path.join(repository.top, ".gitattributes"))
    for configuration in _submodules(os.path.join(repository.common, "modules")):
        commands += _configuration(digests, configuration, repository.top)
    return commands


def significant(configuration: bytes) -> list[bytes]:
    """The lines of a git configuration but those that only say which branch follows which."""
    kept: list[bytes] = []
    section = b""
    continued = False
    for line in configuration.split(b"\n"):
        bare = line.strip()
        if continued:
            section = b""
        elif bare.startswith(b"["):
            header = _HEADER.fullmatch(bare)
            section = header[1] if header else b""
            if header:
                continue
        continued = line.endswith((b"\\", b"\\\r"))
        harmless = section in _CALM and not continued and _CALM[section].fullmatch(bare)
        if bare and not harmless:
            kept.append(line)
    return kept


def _configuration(digests: Digests, path: str, top: str, depth: int = 0) -> list[str]:
    if not os.path.lexists(path):
        return []
    raw = digests.file(path)
    lines = significant(raw)
    if not os.path.islink(path) and depth == 0:
        digests.text(digests.name_of(path), b"\n".join(lines))
    commands: list[str] = []
    for key, value in _values(lines):
        if key == "hookspath":
            digests.tree(os.path.join(top, os.path.expanduser(value)))
        elif key == "path" and depth < _DEEPEST_INCLUDE and not value.startswith("~"):
            commands += _configuration(digests, os.path.join(os.path.dirname(path), value), top, depth + 1)
        else:
            commands.append(value.lstrip("!"))
    return commands


def _values(lines: list[bytes]) -> Iterator[tuple[str, str]]:
    for line in lines:
        key, equals, value = os.fsdecode(line).partition("=")
        if equals:
            yield key.rpartition("]")[2].strip().lower(), value.strip().strip('"')


def _hooks(digests: Digests, folder: str) -> None:
    """Hooks as git starts them: the samples it ships do not count."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if not name.endswith(".sample"):
            digests.file(os.path.join(folder, name))


def _submodules(folder: str) -> Iterator[str]:
    for place, inner, files in os.walk(folder):
        inner[:] = sorted(name for name in inner if name not in _OBJECTS)
        if "config" in files:
            yield os.path.join(place, "config")
