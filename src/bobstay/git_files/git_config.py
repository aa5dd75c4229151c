"""Parses git configuration files exactly as git does, without running git: they may name programs that git starts.

What git refuses to read is kept as an entry without a name, so that no list of harmless names contains it.
"""

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from bobstay.system.safe_read import read_regular

LARGEST = 1 << 20
"""Bytes of a configuration that are read, together with all that it includes."""
_MOST_INCLUDED = 30

_SKIPPED = re.compile(rb"(?:[ \t\r\n]++|[#;][^\n]*+)*+")
_HEADER = re.compile(rb'\[([A-Za-z0-9.-]*+)(?:(?<!\[)\]|[ \t\r]++"((?:[^"\\\n]|\\[^\n])*+)"\])')
_QUOTED = rb'"(?:[^"\\\n]++|\\[tbn"\\\n])*+"'
_VALUE = rb'(?:[^"\\\n#;]++|\\[tbn"\\\n]|' + _QUOTED + rb")*+"
_ENTRY = re.compile(rb"([A-Za-z][A-Za-z0-9-]*+)[ \t]*+(?:=(" + _VALUE + rb")(?:[#;][^\n]*+)?+)?+\n")
_BEGUN = re.compile(rb"[A-Za-z][A-Za-z0-9-]*+[ \t]*+(?:=" + _VALUE + rb")?+")
"""The part of a broken entry that is well formed: what follows it is not looked at twice."""
_QUOTING = re.compile(rb'["\\\t\r]')
_TOKEN = re.compile(rb'[ \t\r]+|\\.|"|[^ \t\r\\"]+', re.DOTALL)
_ESCAPED: dict[bytes, bytes] = {b"\\t": b"\t", b"\\b": b"\b", b"\\n": b"\n", b'\\"': b'"', b"\\\\": b"\\", b"\\\n": b""}


class ConfigEntry(Struct, frozen=True):
    name: str
    """As `git config` spells it: section and key in lower case, between them the subsection as it is written.

    "" for a line that git cannot read.
    """
    value: str | None
    """None for a key without a value, which git takes for `true`; the line itself if git cannot read it."""

    @property
    def section(self) -> str:
        return self.name.rpartition(".")[0].partition(".")[0]

    @property
    def subsection(self) -> str:
        return self.name.partition(".")[2].rpartition(".")[0]

    @property
    def key(self) -> str:
        return self.name.rpartition(".")[2]


def read_config(path: str) -> bytes:
    """The content of a configuration; empty if there is none or it cannot be read."""
    return read_regular(path, LARGEST) or b""


def config_entries(content: bytes) -> Iterator[ConfigEntry]:
    """All entries of one file, in their order; included files are not opened."""
    # Git removes a byte order mark, takes \r\n for \n, and ends the last line, even a continued one.
    text = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n") + b"\n\n"
    prefix = b""
    position = 0
    while (position := _end(_SKIPPED.match(text, position), position)) < len(text):
        if header := _HEADER.match(text, position):
            prefix, position = _prefix(header), header.end()
            continue
        if entry := _ENTRY.match(text, position):
            value = None if entry[2] is None else _text(_unquoted(entry[2]))
            yield ConfigEntry(_text(prefix + entry[1].lower()), value)
            position = entry.end()
        else:
            line, position = position, text.index(b"\n", _end(_BEGUN.match(text, position), position))
            yield ConfigEntry("", os.fsdecode(text[line:position]))


def expand_home(path: str, home: str) -> str:
    """A path as git expands it, if `home` is known."""
    return home + path[1:] if home and path.startswith("~/") else path


def included_path(entry: ConfigEntry, path: str, home: str = "") -> str:
    """The file that an entry of the configuration at `path` includes, whatever the condition; "" for other entries."""
    if not entry.value or entry.key != "path" or entry.section not in ("include", "includeif"):
        return ""
    folder, name = os.path.split(os.path.join(os.path.dirname(path), expand_home(entry.value, home)))
    return os.path.normpath(os.path.join(os.path.realpath(folder), name))


def included_files(path: str, content: bytes, home: str = "") -> list[str]:
    """The files that a configuration includes, and those that they include. They need not exist."""
    return [file for _, file in _walk(path, content, home) if file]


def all_entries(path: str) -> Iterator[ConfigEntry]:
    """All entries of a file and of the files that it includes."""
    return (entry for entry, _ in _walk(path, read_config(path), ""))


def _walk(path: str, content: bytes, home: str) -> Iterator[tuple[ConfigEntry, str]]:
    """Each entry of a configuration and of what it includes, with the file that this entry is the first to include."""
    found: set[str] = set()
    left = LARGEST - len(content)
    waiting = [(path, content)]
    for including, text in waiting:
        for entry in config_entries(text):
            file = included_path(entry, including, home)
            if not file or file in found or len(found) >= _MOST_INCLUDED:
                yield entry, ""
                continue
            found.add(file)
            included = read_regular(file, left) or b""
            left -= len(included)
            waiting.append((file, included))
            yield entry, file


def _end(match: re.Match[bytes] | None, position: int) -> int:
    return match.end() if match else position


def _prefix(header: re.Match[bytes]) -> bytes:
    """What git puts before the keys: the section in lower case, and the subsection as it is written."""
    if header[2] is None:
        return header[1].lower() + b"."
    return header[1].lower() + b"." + re.sub(rb"\\(.)", rb"\1", header[2], flags=re.DOTALL) + b"."


def _text(string: bytes) -> str:
    """What git sees of a string: nothing after a NUL byte. The name that is left may be that of another setting."""
    return os.fsdecode(string.partition(b"\0")[0])


def _unquoted(written: bytes) -> bytes:
    """The value without its quotes, escapes, continued lines, and the spaces around it."""
    if not _QUOTING.search(bare := written.strip(b" \t\r")):
        return bare
    value, spaces = bytearray(), b""
    quoted = False
    tokens: list[bytes] = _TOKEN.findall(written)
    for token in tokens:
        if token[:1] in b" \t\r" and not quoted:
            spaces += b" " * len(token) if value else b""
            continue
        value += spaces
        spaces = b""
        if token == b'"':
            quoted = not quoted
        else:
            value += _ESCAPED.get(token, token)
    return bytes(value)
