"""The executable parts of a folder: every file in it that bobstay, git or a tool would run or obey, with its digest."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bobstay.config.digest import Digests
from bobstay.config.git_directory import find_repository
from bobstay.config.git_executables import add_git_parts
from bobstay.config.paths import FOLDERS, local_settings, project_settings

OBEYED_AT_START = (
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
"""Files by which a folder makes a program do something merely because it was started there."""
TREES = (".claude-plugin", ".bobstay-plugin", ".yarn/plugins", ".yarn/releases")
INNER_TREES = ("hooks", "skills", "commands", "agents", "plugins")
_WHOLE = re.compile(r"""[\s'"`;|&<(){}=,:]+""")
_REDIRECTED = re.compile(r"\d*>[>&|]?\s*\S+")
_PROJECT = re.compile(r"\$\{?(?:CLAUDE|BOBSTAY)_PROJECT_DIR\}?|\$\{?PWD\}?")
_LONGEST_COMMAND = 20_000


def executable_parts(folder: str, known: Mapping[str, bytes] | None = None) -> dict[str, str]:
    """Digests by name. A part that comes, goes or changes makes another dictionary.

    Args:
        folder: The real path of the folder.
        known: Content of files that was read already and will be used.

    Raises:
        TooMuch: there is more than can be looked at.
    """
    digests = Digests(folder, known)
    commands: list[str] = []
    for file in (*project_settings(folder), *local_settings(folder), f"{folder}/.mcp.json"):
        commands += _strings(digests.file(file))
    for name in OBEYED_AT_START:
        digests.file(f"{folder}/{name}")
    for name in (*TREES, *(f"{each}/{inner}" for each in FOLDERS for inner in INNER_TREES)):
        digests.tree(f"{folder}/{name}")
    commands += add_git_parts(digests, folder)
    entry = find_repository(folder)
    top = os.path.dirname(entry) if entry else folder
    for command in commands:
        for file in referenced(command, folder, top):
            digests.file(file)
    return digests.found


def referenced(command: str, folder: str, top: str = "") -> list[str]:
    """The files of the folder that a command names, as far as that can be told without running it."""
    text = _PROJECT.sub(lambda _: folder, _REDIRECTED.sub(" ", command[:_LONGEST_COMMAND]))
    words = [word for word in dict.fromkeys(_words(text)) if word]
    bases = [folder, *([top] if top and top != folder else [])]
    bases += [path for word in words if os.path.isdir(path := os.path.join(folder, word)) and _inside(path, bases)]
    found: dict[str, None] = {}
    for word in words:
        for base in bases:
            for spelling in (word, word.lstrip("/"), f"{word.replace('.', '/')}.py"):
                path = os.path.normpath(os.path.join(base, spelling))
                if os.path.isfile(path) and _inside(path, bases):
                    found[path] = None
    return list(found)


def _strings(data: bytes) -> list[str]:
    """Every text in a JSON file, but for permission rules: those name what may be edited, too."""
    try:
        said = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf")) if data.strip() else {}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    if isinstance(said, dict):
        said.pop("permissions", None)
    return list(_texts(said))


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list):
            if all(isinstance(word, str) for word in each):
                yield " ".join(each)
            waiting.extend(each)


def _words(text: str) -> Iterator[str]:
    yield text.strip()
    try:
        yield from shlex.split(text)
    except ValueError:
        yield from text.split()
    yield from filter(None, _WHOLE.split(text))


def _inside(path: str, folders: list[str]) -> bool:
    return any(path.startswith(folder.rstrip("/") + "/") for folder in folders)
