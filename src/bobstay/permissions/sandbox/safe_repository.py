"""Checks whether a repository created in a sandbox is safe to keep: nothing in it makes git run a program.

A fresh clone or a new repository is safe. Anything more has to be set up by a person.
"""

import os
import stat
from collections.abc import Collection

from bobstay.git_files.git_config import LARGEST, config_entries, read_config
from bobstay.git_files.git_directory import open_repository
from bobstay.git_files.gitlinks import LARGEST_INDEX, gitlinks, index_files

_HARMLESS = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol "
    "safecrlf worktree quotepath abbrev compression bigfilethreshold",
    "remote": "url fetch pushurl mirror tagopt prune promisor partialclonefilter",
    "branch": "remote merge rebase pushremote description",
    "submodule": "url active branch update fetchrecursesubmodules ignore",
    "extensions": "objectformat partialclone",
    "user": "name email",
    "init": "defaultbranch",
    "pull": "rebase ff",
    "push": "default autosetupremote",
    "fetch": "prune",
    "gc": "auto",
    "lfs": "repositoryformatversion url",
}
"""Configuration keys that never make git start a program."""
_KEYS = {section: frozenset(keys.split()) for section, keys in _HARMLESS.items()}
_MOST_LINKS = 50


def is_safe_repository(git: str, known: Collection[str] = (), depth: int = 4) -> bool:
    """Check a `.git` folder, a `.git` file that points to one, or a bare repository.

    Args:
        git: Its path.
        known: Git directories that sandboxed commands cannot change: a worktree of one of these is safe.
        depth: How many levels of nested repositories are checked.
    """
    try:
        mode = os.lstat(git).st_mode
    except OSError:
        return True
    repository = open_repository(git)
    if repository.ambiguous:
        return False
    directory = repository.directory
    if stat.S_ISREG(mode):
        if directory == os.path.realpath(git) or not os.path.exists(directory):
            return True  # it names no repository
        mode = os.stat(directory).st_mode
    if not stat.S_ISDIR(mode) or depth == 0:
        return False
    if repository.common != directory:
        return repository.common in known and not os.path.lexists(f"{directory}/config.worktree")
    return _names_no_program(directory) and _has_safe_submodules(directory, repository.top, known, depth)


def _names_no_program(git: str) -> bool:
    try:
        status = os.lstat(f"{git}/config")
        if not stat.S_ISREG(status.st_mode) or status.st_size >= LARGEST:
            return False
    except OSError:
        pass  # there is no configuration
    config = read_config(f"{git}/config")
    if b"\\\n" in config or b"\0" in config:
        return False  # programs other than git read these differently
    entries = list(config_entries(config))
    if not all(one.key in _KEYS.get(one.section, ()) for one in entries):
        return False
    if any(one.section == "submodule" and one.key == "update" and (one.value or "")[:1] == "!" for one in entries):
        return False
    try:
        hooks = os.listdir(f"{git}/hooks")
    except OSError:
        return not os.path.islink(f"{git}/hooks")
    return not os.path.islink(f"{git}/hooks") and all(name.endswith(".sample") for name in hooks)


def _has_safe_submodules(git: str, tree: str, known: Collection[str], depth: int) -> bool:
    if any(os.path.getsize(path) >= LARGEST_INDEX for path in index_files(git) if os.path.exists(path)):
        return False
    links = gitlinks(git, read_config(f"{git}/config"))
    if len(links) > _MOST_LINKS:
        return False
    return all(is_safe_repository(f"{tree}/{link}/.git", known, depth - 1) for link in links)
