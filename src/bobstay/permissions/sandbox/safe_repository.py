"""Checks whether a repository created in a sandbox is safe to keep: nothing in it makes git run a program.

A fresh clone or a new repository is safe. Anything more has to be set up by a person.
"""

import os
import stat
from collections.abc import Collection

from bobstay.permissions.sandbox.git_config import LARGEST, entries, read
from bobstay.permissions.sandbox.gitlinks import gitlinks

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
    tree = os.path.dirname(git)
    if stat.S_ISREG(mode):
        text = read(git)
        if not text.startswith("gitdir:"):
            return True  # git ignores it
        git = os.path.realpath(os.path.join(tree, text.removeprefix("gitdir:").strip()))
        mode = os.stat(git).st_mode if os.path.exists(git) else 0
        if not mode:
            return True
    if not stat.S_ISDIR(mode) or depth == 0:
        return False
    common = read(f"{git}/commondir").strip()
    common_dir = os.path.realpath(os.path.join(git, common))
    if common_dir != os.path.realpath(git):
        return common_dir in known and not os.path.lexists(f"{git}/config.worktree")
    return _names_no_program(git) and _has_safe_submodules(git, tree, known, depth)


def _names_no_program(git: str) -> bool:
    try:
        if os.path.getsize(f"{git}/config") >= LARGEST or os.path.islink(f"{git}/config"):
            return False
    except OSError:
        pass  # there is no configuration
    text = read(f"{git}/config")
    if "\\\n" in text or not all(one.key in _KEYS.get(one.section, ()) for one in entries(text)):
        return False
    if any(one.section == "submodule" and one.key == "update" and one.value[:1] == "!" for one in entries(text)):
        return False
    try:
        hooks = os.listdir(f"{git}/hooks")
    except OSError:
        return not os.path.islink(f"{git}/hooks")
    return not os.path.islink(f"{git}/hooks") and all(name.endswith(".sample") for name in hooks)


def _has_safe_submodules(git: str, tree: str, known: Collection[str], depth: int) -> bool:
    links = gitlinks(git, read(f"{git}/config"))
    if len(links) > _MOST_LINKS:
        return False
    return all(is_safe_repository(f"{tree}/{link}/.git", known, depth - 1) for link in links)
