"""Executable parts of a folder: digests every file that bobstay, git or a tool would run or obey."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bobstay.config.digest import Digests
from bobstay.config.git_executables import add_git_parts
from bobstay.config.paths import FOLDERS, local_settings, project_settings
from bobstay.git_files.git_directory import find_repository

STARTUP_FILES = (
    ".env",
    ".env.local",
    ".envrc",
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".pnpmfile.cjs",
    "bunfig.toml",
    ".cargo/config",
    ".cargo/config.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
)
"""Files that make a program do something merely because it was started in the folder."""
TREES = (".claude-plugin", ".bobstay-plugin", ".yarn/plugins", ".yarn/releases")
INNER_TREES = ("hooks", "skills", "commands", "agents", "plugins")
_SEPARATORS = re.compile(r"""[\s'"`;|&<(){}=,:]+""")
_REDIRECTION = re.compile(r"\d*>[>&|]?\s*\S+")
_PROJECT_VARIABLE = re.compile(r"\$\{?(?:CLAUDE|BOBSTAY)_PROJECT_DIR\}?|\$\{?PWD\}?")
_LONGEST_COMMAND = 20_000


def executable_parts(folder: str, known: Mapping[str, bytes] | None = None) -> dict[str, str]:
    """Return the digests by name. The dictionary differs if a part is added, removed or changed.

    Args:
        folder: The real path of the folder.
        known: Content of files that was already read and will be used.

    Raises:
        DigestLimitError: there are more files or bytes than can be checked.
    """
    digests = Digests(folder, known)
    commands: list[str] = []
    for file in (*project_settings(folder), *local_settings(folder), f"{folder}/.mcp.json"):
        commands += _read_strings(digests.add_file(file))
    for name in STARTUP_FILES:
        digests.add_file(f"{folder}/{name}")
    for name in (*TREES, *(f"{each}/{inner}" for each in FOLDERS for inner in INNER_TREES)):
        digests.add_tree(f"{folder}/{name}")
    commands += add_git_parts(digests, folder)
    entry = find_repository(folder)
    top = os.path.dirname(entry) if entry else folder
    for command in commands:
        for file in find_referenced_files(command, folder, top):
            digests.add_file(file)
    return digests.by_name


def find_referenced_files(command: str, folder: str, top: str = "") -> list[str]:
    """Find the files of the folder that a command names, as far as possible without running it."""
    text = _PROJECT_VARIABLE.sub(lambda _: folder, _REDIRECTION.sub(" ", command[:_LONGEST_COMMAND]))
    candidates = [candidate for candidate in dict.fromkeys(_candidate_paths(text)) if candidate]
    bases = [folder, *([top] if top and top != folder else [])]
    folders = [os.path.join(folder, candidate) for candidate in candidates]
    bases += [path for path in folders if os.path.isdir(path) and _is_inside(path, bases)]
    found: dict[str, None] = {}
    for candidate in candidates:
        for base in bases:
            for spelling in (candidate, candidate.lstrip("/"), f"{candidate.replace('.', '/')}.py"):
                path = os.path.normpath(os.path.join(base, spelling))
                if os.path.isfile(path) and _is_inside(path, bases):
                    found[path] = None
    return list(found)


def _read_strings(data: bytes) -> list[str]:
    """Read every string in a JSON file, except permission rules, which also name files that may be edited."""
    try:
        value = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf")) if data.strip() else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    if isinstance(value, dict):
        value.pop("permissions", None)
    return list(_iterate_strings(value))


def _iterate_strings(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list):
            if all(isinstance(item, str) for item in each):
                yield " ".join(each)
            waiting.extend(each)


def _candidate_paths(text: str) -> Iterator[str]:
    yield text.strip()
    try:
        yield from shlex.split(text)
    except ValueError:
        yield from text.split()
    yield from filter(None, _SEPARATORS.split(text))


def _is_inside(path: str, folders: list[str]) -> bool:
    return any(path.startswith(folder.rstrip("/") + "/") for folder in folders)
