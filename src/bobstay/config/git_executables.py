"""Digests the files of a repository that git executes or obeys: configuration, hooks and attributes."""

import os
import re
from collections.abc import Iterator

from bobstay.config.digest import Digests
from bobstay.git_files.git_config import config_entries, included_path
from bobstay.git_files.git_directory import find_repository, looks_bare, open_repository

_HEADER = re.compile(rb'\[(branch|remote) "[^"\\\]\0]*"\]\s*')
_HARMLESS_LINES = {
    b"branch": re.compile(rb"(remote|merge|rebase|pushremote|description|vscode-[\w-]+|gk-[\w-]+)\s*=[^\\]*"),
    b"remote": re.compile(rb"(fetch|tagopt|prune|gh-resolved)\s*=[^\\]*"),
}
"""Lines that everyday use of git writes and that run nothing: trust survives when they change."""
_INERT_LINE = re.compile(rb"((url|pushurl|promisor|partialclonefilter|mirror)\s*=|[#;])[^\\]*", re.IGNORECASE)
"""Lines that are bound, but name no program in any section: the header above them may be left out."""
_DATA_FOLDERS = frozenset({"objects", "refs", "logs", "lfs"})


def add_git_parts(digests: Digests, folder: str) -> list[str]:
    """Add the digests of what git obeys in `folder`; return the configuration values that may name programs."""
    commands: list[str] = []
    if looks_bare(folder):
        commands += _add_configuration(digests, os.path.join(folder, "config"), folder)
        digests.add_tree(os.path.join(folder, "hooks"))
    entry = find_repository(folder)
    if entry is None:
        return commands
    repository = open_repository(entry)
    if not os.path.isdir(entry) or os.path.islink(entry):
        digests.add_file(entry)
        digests.add_text("git directory", os.fsencode(repository.directory))
    digests.add_file(os.path.join(repository.directory, "commondir"))
    if repository.common != repository.directory:
        digests.add_text("git common directory", os.fsencode(repository.common))
    for directory in dict.fromkeys((repository.common, repository.directory)):
        for name in ("config", "config.worktree"):
            commands += _add_configuration(digests, os.path.join(directory, name), repository.top)
        digests.add_file(os.path.join(directory, "info", "attributes"))
        _add_hooks(digests, os.path.join(directory, "hooks"))
    digests.add_file(os.path.join(repository.top, ".gitattributes"))
    for configuration in _find_submodule_configs(os.path.join(repository.common, "modules")):
        commands += _add_configuration(digests, configuration, repository.top)
    return commands


def significant_lines(configuration: bytes) -> list[bytes]:
    """Return the lines of a git configuration, except those that only describe branches and remotes.

    Trust binds to these bytes, so they are cut out and not put together from entries. In doubt a line is kept.
    """
    kept: list[bytes] = []
    section = omitted = b""
    continued = False
    for line in configuration.split(b"\n"):
        belongs_above, continued = continued, line.endswith((b"\\", b"\\\r"))
        bare = line.strip()
        if belongs_above:
            section = b""
        elif bare.startswith(b"["):
            header = _HEADER.fullmatch(bare)
            section, omitted = (header[1], line) if header else (b"", b"")
            if header:
                continue
        harmless = section in _HARMLESS_LINES and not continued and _HARMLESS_LINES[section].fullmatch(bare)
        if belongs_above or (bare and not harmless):  # an empty line ends a continued value
            if omitted and not _INERT_LINE.fullmatch(bare):  # elsewhere, the same line may name a program
                kept.append(omitted)
                omitted = b""
            kept.append(line)
    return kept


def _add_configuration(digests: Digests, path: str, top: str) -> list[str]:
    """Add a configuration and what it includes, each file once; the limits of `digests` bound how many there are."""
    commands: list[str] = []
    known = {path}
    waiting = [path]
    for file in waiting:
        if not os.path.lexists(file):
            continue
        lines = significant_lines(digests.add_file(file))
        if file == path and not os.path.islink(path):
            digests.add_text(digests.name_of(path), b"\n".join(lines))
        for entry in config_entries(b"\n".join((*lines, b""))):  # the end of the last line may be \r\n
            value = entry.value or ""
            if entry.name == "core.hookspath":
                digests.add_tree(os.path.join(top, os.path.expanduser(value)))
            elif not (included := included_path(entry, file)) or value.startswith("~"):
                commands.append(value.lstrip("!"))
            elif included not in known:
                known.add(included)
                waiting.append(included)
    return commands


def _add_hooks(digests: Digests, folder: str) -> None:
    """Add the hooks that git runs; the samples it ships are ignored."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if not name.endswith(".sample"):
            digests.add_file(os.path.join(folder, name))


def _find_submodule_configs(folder: str) -> Iterator[str]:
    for directory, subfolders, files in os.walk(folder):
        subfolders[:] = sorted(name for name in subfolders if name not in _DATA_FOLDERS)
        if "config" in files:
            yield os.path.join(directory, "config")
