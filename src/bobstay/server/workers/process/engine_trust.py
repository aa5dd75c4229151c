"""Trust for external engines: arguments that keep them from using the files of an untrusted folder."""

import os
from collections.abc import Sequence

from msgspec import Struct

from bobstay.config.paths import Paths
from bobstay.config.settings_files import BrokenSettings, load
from bobstay.config.trust import check_trust
from bobstay.git_files.git_directory import find_repository
from bobstay.server.workers.worker import WorkerError

USER_ONLY = ("--setting-sources", "user")
"""`claude` then reads neither settings, `.mcp.json`, skills, commands, agents, plugins nor CLAUDE.md of the folder."""
PROJECT_FILES = (".claude", ".claude-plugin", ".mcp.json", "CLAUDE.md", "CLAUDE.local.md")


class FolderTrust(Struct, frozen=True):
    """Whether the folder is trusted, and how to start an engine in it."""

    trusted: bool = True
    arguments: tuple[str, ...] = ()
    """Arguments that keep the engine from using the folder's own files."""
    notice: str = ""
    """For the person: which files are ignored, and how to enable them; empty if there are none."""


def is_trusted(cwd: str, paths: Paths) -> bool:
    """Whether the user trusts this folder, by their list or by their settings."""
    try:
        return load(cwd, paths).trusted
    except BrokenSettings:
        return check_trust(os.path.realpath(cwd), paths).trusted


def folder_trust(command: Sequence[str], cwd: str, paths: Paths) -> FolderTrust:
    """How to start `command` in `cwd` with regard to trust.

    Raises:
        WorkerError: the folder is not trusted, and the engine has no option to ignore its files.
    """
    if is_trusted(cwd, paths):
        return FolderTrust()
    if is_bobstay(command):
        return FolderTrust(trusted=False)  # it has the same check, and reports itself what it ignores
    folder = os.path.realpath(cwd)
    if not is_claude(command):
        text = (
            f"The folder {folder} is not trusted, and the engine {os.path.basename(command[0])} has no switch that "
            "keeps it from running what the folder's own settings name. If you know what is in the folder, trust it "
            f"on its page in the console or with: bobstay trust add {folder}"
        )
        raise WorkerError(text)
    return FolderTrust(False, USER_ONLY, _notice(folder))


def is_claude(command: Sequence[str]) -> bool:
    return os.path.basename(command[0]) == "claude"


def is_bobstay(command: Sequence[str]) -> bool:
    return os.path.basename(command[0]) == "bobstay" or tuple(command[1:3]) == ("-m", "bobstay")


def _notice(folder: str) -> str:
    found = find_project_files(folder)
    if not found:
        return ""
    return (
        f"This folder is not trusted, so claude was started without its project settings: {', '.join(found)}. "
        "No hook, MCP server, skill, command or agent of the folder is used. If you know what is in them, trust the "
        f"folder in the console or with: bobstay trust add {folder}. They count from the next message on."
    )


def find_project_files(folder: str) -> tuple[str, ...]:
    """Files that an engine would use from a folder and its parents, up to the repository's top; as relative paths."""
    repository = find_repository(folder)
    top = os.path.dirname(repository) if repository else folder
    found: list[str] = []
    current = folder
    while True:
        names = (os.path.join(current, name) for name in PROJECT_FILES)
        found += [os.path.relpath(path, folder) for path in names if os.path.lexists(path)]
        if current == top or os.path.dirname(current) == current:
            return tuple(found)
        current = os.path.dirname(current)
