"""Finds the repository of a directory and verifies that the two belong together; checks names given to git."""

import os
import re
from collections.abc import Mapping

from bobstay.git_files.git_directory import GitDirectory, find_repository, git_entries, open_repository
from bobstay.repositories.git_failure import Failure, GitError
from bobstay.repositories.git_process import Repo
from bobstay.system.safe_read import read_regular

_NAME = re.compile(r"[A-Za-z0-9_./+@#~^{}=,%-]{1,200}")
_LONGEST = 4096


def find_repo(
    directory: str, environment: Mapping[str, str], scratch: str = "", *, failure: Failure = GitError
) -> Repo:
    """The repository of a directory given by its real path.

    Raises:
        GitError: not_supported, if there is none or it does not belong to this directory.
    """
    entry = find_repository(directory)
    if entry is None:
        text = "This directory is not in a git repository, so there is nothing to compare with. Run `git init` in it."
        raise failure("not_supported", text)
    repository = open_repository(entry)
    head = read_regular(os.path.join(repository.directory, "HEAD"), _LONGEST)
    if head is None or not os.path.isdir(os.path.join(repository.common, "objects")):
        raise failure("not_supported", "The .git found here is not, or no longer, a repository that git could read.")
    if not _belongs(repository):
        text = "The .git found here leads to a repository that does not know of this directory."
        raise failure("not_supported", f"{text} If you moved it, run `git worktree repair` there.")
    return Repo(directory, repository, environment, scratch, failure)


def require_revision(name: str, failure: Failure = GitError) -> str:
    """Check a name of a commit, branch or tag that is passed to git: no option, range or search.

    Raises:
        GitError: invalid.
    """
    wrong = not _NAME.fullmatch(name) or name.startswith(("-", "^", ":")) or ".." in name or "{/" in name
    if wrong:
        raise failure("invalid", f"{name[:80]!r} cannot name a commit. Give a branch, a tag or a commit's hash.")
    return name


def require_branch_name(name: str, failure: Failure = GitError) -> str:
    """Check the name of a new branch, by git's own rules and slightly stricter.

    Raises:
        GitError: invalid.
    """
    parts = name.split("/")
    wrong = (
        not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./+#-]{0,149}", name)
        or ".." in name
        or name.endswith((".", "/"))
        or name in ("HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD")
        or any(not part or part.startswith((".", "-")) or part.endswith((".lock", ".")) for part in parts)
    )
    if wrong:
        text = "Use letters, digits, '-', '_', '.', '+', '#' and '/', beginning with a letter or digit."
        raise failure("invalid", f"{name[:80]!r} cannot name a branch. {text}")
    return name


def _belongs(repository: GitDirectory) -> bool:
    """Whether the git directory belongs to the worktree, which must not expose another repository's files."""
    top = os.path.realpath(repository.top)
    if _inside(repository.directory, top):
        return _inside(repository.common, top) or repository.is_linked()
    return repository.is_linked() or _is_module(repository, top)


def _is_module(repository: GitDirectory, top: str) -> bool:
    """Whether it is a submodule: its git directory is inside that of an outer repository."""
    for around in git_entries(os.path.dirname(top)):
        if _inside(repository.directory, os.path.join(open_repository(around).common, "modules")):
            return repository.common == repository.directory
    return False


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
