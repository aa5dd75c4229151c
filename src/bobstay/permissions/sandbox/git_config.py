"""Parses git configuration files without running git, to find the programs and files they name."""

import os
import re
from collections.abc import Iterator

from msgspec import Struct

_SECTION = re.compile(r"\[\s*([\w.-]+)(?:\s+\"((?:[^\"\\]|\\.)*)\")?\s*\]\s*(.*)", re.DOTALL)
_ENTRY = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?", re.DOTALL)
LARGEST = 1 << 18


class ConfigEntry(Struct, frozen=True):
    section: str
    """Lower case, without the quoted subsection."""
    key: str
    value: str


def entries(text: str) -> Iterator[ConfigEntry]:
    """All entries. A line that cannot be parsed gives an entry without section and key, which no allowlist contains."""
    section = ""
    for line in text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        rest = line.strip()
        if found := _SECTION.fullmatch(rest):
            section, rest = found[1].split(".")[0].lower(), found[3].strip()
        if not rest or rest[0] in "#;":
            continue
        entry = _ENTRY.fullmatch(rest)
        if entry is None or not section:
            yield ConfigEntry("", "", rest)
        else:
            yield ConfigEntry(section, entry[1].lower(), (entry[2] or "").strip().strip('"'))


def read(path: str) -> str:
    """The text of a file; "" if it does not exist or cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, LARGEST).decode("utf-8", "replace").replace("\0", "")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def included_files(path: str, text: str, home: str = "", depth: int = 3) -> list[str]:
    """The files that a configuration includes, recursively. They need not exist."""
    found: list[str] = []
    for entry in entries(text):
        if entry.section in ("include", "includeif") and entry.key == "path" and entry.value:
            spelled = home + entry.value[1:] if home and entry.value.startswith("~/") else entry.value
            one = os.path.normpath(os.path.join(os.path.dirname(path), spelled))
            found.append(one)
            if depth:
                found += included_files(one, read(one), home, depth - 1)
    return found[:30]
