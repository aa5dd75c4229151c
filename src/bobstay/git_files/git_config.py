"""Parses git configuration files exactly as git does, without running git: they may name programs that git starts.

What git refuses to read is kept as an entry without a name, so that no list of harmless names contains it.
"""

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from bobstay.system.safe_read import read_regular

LARGEST = 1 << 20
"""Bytes of a configuration that are read."""
_MOST_INCLUDED = 30

_SKIPPED = re.compile(rb"(?:[ \t\r\n]++|[#;][^\n]*+)*+")
_HEADER = re.compile(rb'\[([A-Za-z0-9.-]*+)(?:(?<!\[)\]|[ \t\r]++"((?:[^"\\\n]|\\[^\n])*+)"\])')
_KEY = re.compile(rb"([A-Za-z][A-Za-z0-9-]*+)[ \t]*+(?:\n|=)")
_VALUE = re.compile(rb'((?:[^"\\\n#;]|\\[tbn"\\\n]|"(?:[^"\\\n]|\\[tbn"\\\n])*+")*+)(?:[#;][^\n]*+)?\n')
_TOKEN = re.compile(rb'[ \t\r]+|\\.|"|[^ \t\r\\"]+', re.DOTALL)
_ESCAPED = {b"\\t": b"\t", b"\\b": b"\b", b"\\n": b"\n", b'\\"': b'"', b"\\\\": b"\\", b"\\\n": b""}


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
        key = _KEY.match(text, position)
        has_value = key is not None and key[0].endswith(b"=")
        value = _VALUE.match(text, key.end()) if key is not None and has_value else None
        if key is None or (has_value and value is None):
            line, position = position, text.index(b"\n", position)
            yield ConfigEntry("", os.fsdecode(text[line:position]))
            continue
        position = _end(value, key.end())
        yield ConfigEntry(_text(prefix + key[1].lower()), _text(_unquoted(value[1])) if value else None)


def expand_home(path: str, home: str) -> str:
    """A path as git expands it, if `home` is known."""
    return home + path[1:] if home and path.startswith("~/") else path


def included_path(entry: ConfigEntry, path: str, home: str = "") -> str:
    """The file that an entry of the configuration at `path` includes, whatever the condition; "" for other entries."""
    if entry.section not in ("include", "includeif") or entry.key != "path" or not entry.value:
        return ""
    folder, name = os.path.split(os.path.join(os.path.dirname(path), expand_home(entry.value, home)))
    return os.path.normpath(os.path.join(os.path.realpath(folder), name))


def included_files(path: str, content: bytes, home: str = "", depth: int = 3) -> list[str]:
    """The files that a configuration includes, recursively. They need not exist."""
    found: list[str] = []
    for entry in config_entries(content):
        if file := included_path(entry, path, home):
            found.append(file)
            if depth:
                found += included_files(file, read_config(file), home, depth - 1)
    return found[:_MOST_INCLUDED]


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
    value = spaces = b""
    quoted = False
    for token in _TOKEN.findall(written):
        if token[:1] in b" \t\r" and not quoted:
            spaces += b" " * len(token) if value else b""
            continue
        value, spaces = value + spaces, b""
        if token == b'"':
            quoted = not quoted
        else:
            value += _ESCAPED.get(token, token)
    return value
