"""Reads commands, skills and agents from the files below a settings folder of an external engine."""

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import SessionDirectory
from bobstay.server.files.text_content import read_up_to
from bobstay.server.inventory.inventory_types import Level, NamedExtension, SlashCommand

MOST = 300
"""Maximum files of one kind."""
DEEPEST = 3
HEAD = 8_192
"""Bytes of a file that are read, for the front matter at its beginning."""
_FIELD = re.compile(r"^(name|description|argument-hint):[ \t]*(.+)$", re.MULTILINE)


class CommandFolder(Struct, frozen=True):
    """A folder such as `.claude`. `root` ensures that nothing outside of it is read."""

    root: SessionDirectory
    folder: str
    """Relative to `root`; empty for `root` itself."""
    level: Level
    trusted: bool

    def commands(self) -> Iterator[SlashCommand]:
        for path, name, head in self._files("commands"):
            description, hint = head.get("description", ""), head.get("argument-hint", "")
            yield SlashCommand(name.replace("/", ":"), description, hint, path, self.level, self.trusted)

    def agents(self) -> Iterator[NamedExtension]:
        for path, name, head in self._files("agents"):
            description = head.get("description", "")
            yield NamedExtension(head.get("name", name), description, path, self.level, self.trusted)

    def skills(self) -> Iterator[NamedExtension]:
        for path, name, head in self._files("skills"):
            if name.endswith("/SKILL"):
                description = head.get("description", "")
                yield NamedExtension(
                    head.get("name", name.removesuffix("/SKILL")), description, path, self.level, self.trusted
                )

    def _files(self, kind: str) -> Iterator[tuple[str, str, dict[str, str]]]:
        top = f"{self.folder}/{kind}" if self.folder else kind
        for number, name in enumerate(_walk(self.root, top, 1)):
            if number >= MOST:
                return
            try:
                with self.root.file(f"{top}/{name}") as handle:
                    data = read_up_to(handle, HEAD)
            except (ApiError, OSError):
                continue  # a link, or removed meanwhile
            yield os.path.join(self.root.path, top, name), name.removesuffix(".md"), _head(data)


def _walk(root: SessionDirectory, folder: str, depth: int) -> Iterator[str]:
    """Markdown files below a folder, relative to it."""
    try:
        with root.directory(folder) as handle, os.scandir(handle) as entries:
            rows = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in _limited(entries))
    except (ApiError, OSError):
        return
    for name, is_directory in rows:
        if "\\" in name:
            continue  # an escaped name could not be typed as a command
        if is_directory and depth < DEEPEST:
            for inner in _walk(root, f"{folder}/{name}", depth + 1):
                yield f"{name}/{inner}"
        elif name.endswith(".md") and not is_directory:
            yield name


def _limited(entries: Iterator["os.DirEntry[str]"]) -> Iterator["os.DirEntry[str]"]:
    for number, entry in enumerate(entries):
        if number >= MOST * 4:
            return
        yield entry


def _head(data: bytes) -> dict[str, str]:
    """The fields of the front matter; only single-line YAML values."""
    text = data.decode(errors="replace").replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return {}
    inner = text[4:].partition("\n---")[0]
    return {name: value.strip().strip("\"'")[:300] for name, value in _FIELD.findall(inner)}
