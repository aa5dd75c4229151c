"""File names of exports: a safe form of the title with the start of the session id."""

import re

_UNSAFE = re.compile(r"[^a-z0-9]+")
LONGEST = 48


def file_name(title: str, session_id: str, ending: str) -> str:
    """Only letters, digits, `-` and one dot, which are safe in headers, shells and file systems."""
    name = _UNSAFE.sub("-", title.lower()[: 4 * LONGEST]).strip("-")[:LONGEST].strip("-")
    id = _UNSAFE.sub("", session_id.lower())[:8]
    return f"{name or 'session'}-{id}.{ending}"
