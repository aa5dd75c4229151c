"""Where things are kept: the user's own folder, sessions, settings files, folders other programs look into."""

import os
from collections.abc import Mapping

from msgspec import Struct

MANAGED = "/etc/bobstay/managed-settings.json"
FOLDERS = (".bobstay", ".claude")
"""Settings folders of a project, stronger first; the second is read for compatibility."""
LONGEST_NAME = 200
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Paths(Struct, frozen=True):
    home: str
    bobstay: str
    """`${BOBSTAY_HOME:-~/.bobstay}`"""
    claude: str
    """`${CLAUDE_CONFIG_DIR:-~/.claude}`"""
    managed: str = MANAGED

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Paths":
        home = environ.get("HOME") or os.path.expanduser("~")
        return cls(
            home,
            os.path.abspath(environ.get("BOBSTAY_HOME") or f"{home}/.bobstay"),
            os.path.abspath(environ.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude"),
        )

    @property
    def sessions(self) -> str:
        return f"{self.bobstay}/sessions"

    @property
    def contacts(self) -> str:
        """Sockets by which a console reaches runs of the command line."""
        return f"{self.bobstay}/run"

    @property
    def user_settings(self) -> tuple[str, str]:
        """Stronger first, as in all of these."""
        return f"{self.bobstay}/settings.json", f"{self.claude}/settings.json"

    def transcript_folder(self, cwd: str) -> str:
        """Where other programs look for the transcripts of sessions in `cwd`."""
        return f"{self.claude}/projects/{project_name(os.path.realpath(cwd))}"

    def destinations(self, cwd: str) -> dict[str, str]:
        """The file each permission destination is written to."""
        return {
            "userSettings": self.user_settings[0],
            "projectSettings": project_settings(cwd)[0],
            "localSettings": local_settings(cwd)[0],
        }


def project_settings(cwd: str) -> tuple[str, ...]:
    return tuple(f"{cwd}/{folder}/settings.json" for folder in FOLDERS)


def local_settings(cwd: str) -> tuple[str, ...]:
    return tuple(f"{cwd}/{folder}/settings.local.json" for folder in FOLDERS)


def project_name(path: str) -> str:
    """A folder name made of a path: all but ASCII letters and digits become hyphens, long ones end in a hash."""
    import unicodedata

    path = unicodedata.normalize("NFC", path)
    name = "".join(character if character.isascii() and character.isalnum() else "-" for character in path)
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}-{_hash(path)}"


def _hash(text: str) -> str:
    """The 32-bit hash by which other programs tell long folder names apart, in base 36."""
    value = 0
    for character in text:
        value = (value * 31 + ord(character)) & 0xFFFFFFFF
    value = abs(value - (1 << 32) if value >= 1 << 31 else value)
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = DIGITS[digit] + digits
    return digits or "0"
