"""Where Claude Code keeps the transcript of a session."""

import os
import re

NAME_LENGTH = 200
_OTHER = re.compile(r"[^a-zA-Z0-9]")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def project_directory(config_directory: str, cwd: str) -> str:
    """Return the folder of all transcripts of sessions in `cwd`."""
    return os.path.join(config_directory, "projects", directory_name(cwd))


def directory_name(cwd: str) -> str:
    """Return `cwd` without links, as one name: all but letters and digits become dashes, and a long one is cut."""
    import unicodedata

    real = unicodedata.normalize("NFC", os.path.realpath(cwd))
    name = _OTHER.sub("-", real)
    return name if len(name) <= NAME_LENGTH else f"{name[:NAME_LENGTH]}-{_digest(real)}"


def _digest(text: str) -> str:
    """Return a 32-bit number in base 36 that sets long names apart; readers compare only what stands before it."""
    number = 0
    for character in text:
        number = (number * 31 + ord(character)) & 0xFFFFFFFF
    if number >= 0x80000000:
        number = 0x100000000 - number
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
