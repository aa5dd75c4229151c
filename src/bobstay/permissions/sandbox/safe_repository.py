"""Whether a repository that was made in a sandbox may stay: nothing in it makes git run a program.

A clone, or a new repository, is decent. What goes beyond is for a person to make.
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
"""Keys whose values no program is started for."""
_KEYS = {section: frozenset(keys.split()) for section, keys in _HARMLESS.items()}
_MOST_LINKS = 50


def is_decent(git: str, known: Collection[str] = (), depth: int = 4) -> bool:
    """Judge a `.git` folder, the file that stands for one, or a bare repository.

    Args:
        git: Its path.
        known: Git folders that sandboxed commands cannot change: what takes its configuration from one is decent.
        depth: How many repositories within repositories are looked at.
    """
    try:
        mode = os.lstat(git).st_mode
    except OSError:
        return True
    tree = os.path.dirname(git)
    if stat.S_ISREG(mode):
        text = read(git)
        if not text.startswith("gitdir:"):
            return True  # git takes it for nothing
        git = os.path.realpath(os.path.join(tree, text.removeprefix("gitdir:").strip()))
        mode = os.stat(git).st_mode if os.path.exists(git) else 0
        if not mode:
            return True
    if not stat.S_ISDIR(mode) or depth == 0:
        return False
    common = read(f"{git}/commondir").strip()
    whole = os.path.realpath(os.path.join(git, common))
    if whole != os.path.realpath(git):
        return whole in known and not os.path.lexists(f"{git}/config.worktree")
    return _obeys_nothing(git) and _holds_decent_ones(git, tree, known, depth)


def _obeys_nothing(git: str) -> bool:
    try:
        if os.path.getsize(f"{git}/config") >= LARGEST or os.path.islink(f"{git}/config"):
            return False
    except OSError:
        pass  # none
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


def _holds_decent_ones(git: str, tree: str, known: Collection[str], depth: int) -> bool:
    links = gitlinks(git, read(f"{git}/config"))
    if len(links) > _MOST_LINKS:
        return False
    return all(is_decent(f"{tree}/{link}/.git", known, depth - 1) for link in links)
