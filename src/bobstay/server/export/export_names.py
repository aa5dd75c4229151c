"""Names of exported files: words of the title that are safe everywhere, and enough of the id to tell them apart."""

import re

_UNSAFE = re.compile(r"[^a-z0-9]+")
LONGEST = 48


def file_name(title: str, session_id: str, ending: str) -> str:
    """Only letters, digits, `-` and one dot: nothing a header, a shell or a file system could take for more."""
    words = _UNSAFE.sub("-", title.lower()[: 4 * LONGEST]).strip("-")[:LONGEST].strip("-")
    id = _UNSAFE.sub("", session_id.lower())[:8]
    return f"{words or 'session'}-{id}.{ending}"
