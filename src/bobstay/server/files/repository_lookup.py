"""Finds the repository of a directory, with the errors of the API."""

from collections.abc import Mapping

from bobstay.repositories.find_repo import find_repo, require_branch_name, require_revision
from bobstay.repositories.git_process import Repo
from bobstay.server.errors import ApiError


def open_repo(directory: str, environment: Mapping[str, str], scratch: str = "") -> Repo:
    """The repository of a directory given by its real path. What it does raises `ApiError`.

    Raises:
        ApiError: not_supported, if there is none or it does not belong to this directory.
    """
    return find_repo(directory, environment, scratch, failure=ApiError)


def check_revision(name: str) -> str:
    """Check a name of a commit, branch or tag that is passed to git: no option, range or search.

    Raises:
        ApiError: invalid.
    """
    return require_revision(name, ApiError)


def check_branch(name: str) -> str:
    """Check the name of a new branch, by git's own rules and slightly stricter.

    Raises:
        ApiError: invalid.
    """
    return require_branch_name(name, ApiError)
