"""Paths of the user's folder, sessions and settings files."""

import os
from collections.abc import Mapping

from msgspec import Struct

MANAGED = "/etc/bobstay/managed-settings.json"
FOLDERS = (".bobstay", ".claude")
"""Settings folders of a project, in order of precedence; the second is read for compatibility."""


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
    def control_sockets(self) -> str:
        """The folder of the sockets by which a console controls command line runs."""
        return f"{self.bobstay}/run"

    @property
    def user_settings(self) -> tuple[str, str]:
        """In order of precedence, like the other settings paths."""
        return f"{self.bobstay}/settings.json", f"{self.claude}/settings.json"

    @property
    def global_file(self) -> str:
        """The file in which Claude Code keeps what it knows of each project."""
        return f"{self.home}/.claude.json" if self.claude == f"{self.home}/.claude" else f"{self.claude}/.claude.json"

    def destinations(self, cwd: str) -> dict[str, str]:
        """Return the file that each permission destination is written to."""
        return {
            "userSettings": self.user_settings[0],
            "projectSettings": project_settings(cwd)[0],
            "localSettings": local_settings(cwd)[0],
        }


def project_settings(cwd: str) -> tuple[str, ...]:
    return tuple(f"{cwd}/{folder}/settings.json" for folder in FOLDERS)


def local_settings(cwd: str) -> tuple[str, ...]:
    return tuple(f"{cwd}/{folder}/settings.local.json" for folder in FOLDERS)
