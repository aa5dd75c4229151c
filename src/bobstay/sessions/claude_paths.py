"""Paths of Claude Code's transcripts."""

import os
import re

NAME_LENGTH = 200
_NOT_ALPHANUMERIC = re.compile(r"[^a-zA-Z0-9]")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def project_directory(config_directory: str, cwd: str) -> str:
    """Return the folder of all transcripts of sessions in `cwd`."""
    return os.path.join(config_directory, "projects", directory_name(cwd))


def directory_name(cwd: str) -> str:
    """Return the real path of `cwd` as one name: all but letters and digits become dashes, and a long name is cut."""
    import unicodedata

    real = unicodedata.normalize("NFC", os.path.realpath(cwd))
    name = _NOT_ALPHANUMERIC.sub("-", real)
    return name if len(name) <= NAME_LENGTH else f"{name[:NAME_LENGTH]}-{_hash_base36(real)}"


def _hash_base36(text: str) -> str:
    """Return a 32-bit hash in base 36 that distinguishes long names; readers compare only what precedes it."""
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
