"""Commands, skills and agents as files: what an external engine would find below a settings folder."""

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import SessionDirectory
from bobstay.server.files.text_content import read_up_to
from bobstay.server.inventory.inventory_types import Level, NamedExtension, SlashCommand

MOST = 300
"""Files of one kind."""
DEEPEST = 3
HEAD = 8_192
"""Bytes of a file that are read: its head stands at the beginning."""
_FIELD = re.compile(r"^(name|description|argument-hint):[ \t]*(.+)$", re.MULTILINE)


class CommandFolder(Struct, frozen=True):
    """A folder such as `.claude`. `place` sees to it that nothing outside of it is read."""

    place: SessionDirectory
    folder: str
    """Relative to the place; empty for the place itself."""
    level: Level
    trusted: bool

    def commands(self) -> Iterator[SlashCommand]:
        for path, name, head in self._files("commands"):
            words, hint = head.get("description", ""), head.get("argument-hint", "")
            yield SlashCommand(name.replace("/", ":"), words, hint, path, self.level, self.trusted)

    def agents(self) -> Iterator[NamedExtension]:
        for path, name, head in self._files("agents"):
            words = head.get("description", "")
            yield NamedExtension(head.get("name", name), words, path, self.level, self.trusted)

    def skills(self) -> Iterator[NamedExtension]:
        for path, name, head in self._files("skills"):
            if name.endswith("/SKILL"):
                words = head.get("description", "")
                yield NamedExtension(
                    head.get("name", name.removesuffix("/SKILL")), words, path, self.level, self.trusted
                )

    def _files(self, kind: str) -> Iterator[tuple[str, str, dict[str, str]]]:
        top = f"{self.folder}/{kind}" if self.folder else kind
        for number, name in enumerate(_walk(self.place, top, 1)):
            if number >= MOST:
                return
            try:
                with self.place.file(f"{top}/{name}") as handle:
                    data = read_up_to(handle, HEAD)
            except (ApiError, OSError):
                continue  # a link, or gone meanwhile
            yield os.path.join(self.place.path, top, name), name.removesuffix(".md"), _head(data)


def _walk(place: SessionDirectory, folder: str, depth: int) -> Iterator[str]:
    """Markdown files below a folder, relative to it."""
    try:
        with place.directory(folder) as handle, os.scandir(handle) as entries:
            rows = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in _some(entries))
    except (ApiError, OSError):
        return
    for name, is_directory in rows:
        if "\\" in name:
            continue  # names with escapes are for the file tree, not for typing
        if is_directory and depth < DEEPEST:
            for inner in _walk(place, f"{folder}/{name}", depth + 1):
                yield f"{name}/{inner}"
        elif name.endswith(".md") and not is_directory:
            yield name


def _some(entries: Iterator["os.DirEntry[str]"]) -> Iterator["os.DirEntry[str]"]:
    for number, entry in enumerate(entries):
        if number >= MOST * 4:
            return
        yield entry


def _head(data: bytes) -> dict[str, str]:
    """Fields between the first two lines of dashes; of YAML only what stands on one line."""
    text = data.decode(errors="replace").replace("\r\n", "\n")
    if not text.startswith("---\n"):
        return {}
    inner = text[4:].partition("\n---")[0]
    return {name: value.strip().strip("\"'")[:300] for name, value in _FIELD.findall(inner)}
