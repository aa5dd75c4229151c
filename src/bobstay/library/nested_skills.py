"""Skills that apply to a part of the project: those of subfolders, and those that name paths."""

import os

from bobstay.config.paths import FOLDERS
from bobstay.config.trust import is_inside
from bobstay.library.definition import CommandDefinition, LibraryNotice
from bobstay.library.discovery import MOST_PARENTS, LibrarySources, project_folder, project_top


def skills_below(path: str, sources: LibrarySources, notices: list[LibraryNotice]) -> list[CommandDefinition]:
    """Read the skills of the folders between the session's directory and a file that was read, the nearest first."""
    if not sources.commands or not sources.wants("project"):
        return []
    found: list[CommandDefinition] = []
    top = project_top(sources.cwd)
    for folder in _folders_between(sources.cwd, path):
        for name in FOLDERS:
            if os.path.lexists(f"{folder}/{name}/skills"):
                from bobstay.library.definition_folder import read_skills

                found += read_skills(project_folder(folder, sources, top, name), notices)
    return found


class NestedSkills:
    """Returns the skills of each subfolder once, when a file in it is first read."""

    def __init__(self, sources: LibrarySources) -> None:
        self._sources = sources
        self._entered: set[str] = {sources.cwd}
        self.notices: list[LibraryNotice] = []

    def enter(self, path: str) -> list[CommandDefinition]:
        folder = os.path.dirname(path)
        if folder in self._entered:
            return []
        new = [each for each in _folders_between(self._sources.cwd, path) if each not in self._entered]
        self._entered.update(new)
        skills = skills_below(path, self._sources, self.notices) if new else []
        return [skill for skill in skills if any(is_inside(skill.folder, each) for each in new)]


def matches_paths(command: CommandDefinition, path: str, cwd: str) -> bool:
    """Whether the `paths` of a command or skill match a file. They are relative to `cwd`, or to its scope."""
    base = os.path.join(cwd, command.scope) if command.scope else cwd
    if not is_inside(path, base):
        return False
    from bobstay.permissions.path_scope import is_in_scope

    return is_in_scope(os.path.relpath(path, base), command.paths)


def _folders_between(cwd: str, path: str) -> list[str]:
    """The folders that contain `path`, below `cwd`, nearest first."""
    found: list[str] = []
    folder = os.path.dirname(path)
    while folder != cwd and is_inside(folder, cwd) and len(found) < MOST_PARENTS:
        found.append(folder)
        folder = os.path.dirname(folder)
    return found
