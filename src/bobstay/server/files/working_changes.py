"""Finds the changes in a session's directory since a commit: tracked files by git, new files by reading them."""

import asyncio
import os
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from bobstay.repositories.git_process import EMPTY_TREES, Git, Repo
from bobstay.server.errors import ApiError
from bobstay.server.files.confined_open import open_confined
from bobstay.server.files.git_diff_parser import DiffFile, DiffFileView, parse_list, parse_patch, to_added_hunk
from bobstay.server.files.path_names import decode_path, encode_path, split_path
from bobstay.server.files.repository_lookup import check_revision, open_repo
from bobstay.server.files.session_directory import SessionDirectory
from bobstay.server.files.text_content import LOOKED_AT, read_up_to

MOST_FILES = 2_000
MOST_PATCH = 4 * 1024 * 1024
"""Bytes of all hunks in one response."""
MOST_NAMED = 200
MOST_COUNTED = 1024 * 1024
"""Bytes of a new file whose lines are counted."""
QUIET = (
    *("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short"),
    *("--find-renames", "--relative", "--src-prefix=a/", "--dst-prefix=b/"),
)


class WorkingChanges(Struct, frozen=True):
    base: str
    """The commit compared with; empty if there is none yet."""
    head: str
    files: tuple[DiffFile, ...]
    total: int
    truncated: bool = False
    elsewhere: int = 0
    """Files that also differ, but are not in the requested scope."""


async def find_changes(
    directory: SessionDirectory, environment: dict[str, str], *, base: str = "", path: str = "", hunks: bool = True
) -> WorkingChanges:
    """Compare the directory with `base`, or with HEAD.

    Raises:
        ApiError: not a repository, no such commit, git failed.
    """
    only = b"/".join(split_path(path))
    repo = open_repo(directory.path, environment)
    head = await repo.commit("HEAD")
    since = head
    if base:
        since = await repo.commit(check_revision(base))
        if not since:
            raise ApiError("not_found", f"There is no commit {base}. It may have been rebased away; compare with HEAD.")
    async with repo.isolated(head) as git:
        tree = since or EMPTY_TREES[40 if len(head) != 64 else 64]
        # All names even if one path is requested: alone, a renamed file would look new.
        listed = await git.run("diff", "--raw", "--numstat", "-z", *QUIET, tree, "--", b".")
        wanted = ("--", only or b".")
        new = await git.run("ls-files", "-z", "--others", "--exclude-standard", *wanted)
        conflicts = await git.run("ls-files", "-z", "--unmerged", *wanted)
        if listed.code and not listed.cut:
            raise ApiError("conflict", f"Git cannot compare: {listed.errors.strip()[:500]}")
        files = _with_conflicts(parse_list(listed.out), conflicts.out)
        files = [file for file in files if _wanted(file, only)]
        patch: dict[str, DiffFile] = {}
        if hunks and files:
            patch = await _patch(git, tree, [only, *_elsewhere(files, only)] if only else [b"."])
    untracked = [name for name in new.out.split(b"\0") if name and not name.endswith(b"/")]
    made = await asyncio.to_thread(_untracked, directory, untracked, MOST_PATCH if hunks else 0)
    joined = [_with_hunks(file, patch, hunks=hunks) for file in files[:MOST_FILES]]
    total = len(files) + len(untracked)
    shown_files = await asyncio.to_thread(_describe_all, directory, (joined + made)[:MOST_FILES], hunks=hunks)
    return WorkingChanges(since, head, tuple(shown_files), total, total > len(shown_files) or listed.cut or new.cut)


def file_version(directory: SessionDirectory, path: str) -> tuple[str, int]:
    """A token that changes with the file, and its size; empty if there is no file. No links are followed."""
    parts = split_path(path)
    try:
        with open_confined(directory.root, parts[:-1], directory=True) as folder:
            found = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
    except (ApiError, OSError, IndexError):
        return "", 0
    known = f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}:{found.st_mode}"
    return sha256(known.encode()).hexdigest()[:32], found.st_size


def _wanted(file: DiffFile, only: bytes) -> bool:
    return not only or any(_is_in(decode_path(name), only) for name in (file.path, file.old_path) if name)


def _elsewhere(files: list[DiffFile], only: bytes) -> list[bytes]:
    """The other names of files that were moved into or out of the requested path."""
    names = (decode_path(name) for file in files for name in (file.old_path, file.path) if name)
    return [name for name in names if not _is_in(name, only)][:MOST_NAMED]


def _is_in(name: bytes, only: bytes) -> bool:
    return name == only or name.startswith(only + b"/")


def _describe_all(directory: SessionDirectory, files: list[DiffFile], *, hunks: bool) -> list[DiffFile]:
    return [_describe(directory, file, hunks=hunks) for file in files]


def _describe(directory: SessionDirectory, file: DiffFile, *, hunks: bool) -> DiffFile:
    version, size = file_version(directory, file.path)
    view = file.view if file.view != "text" else _view(file, hunks=hunks)
    rejectable = view not in ("link", "submodule", "unreadable") and file.status not in ("unmerged", "type_changed")
    return replace(file, version=version, size=size, view=view, rejectable=rejectable)


def _view(file: DiffFile, *, hunks: bool) -> DiffFileView:
    if file.binary:
        return "binary"
    if file.added or file.removed:
        return "too_large" if hunks and not file.hunks else "text"
    if file.status in ("renamed", "copied"):
        return "renamed_only"
    if file.status == "modified" and file.old_mode != file.new_mode:
        return "mode_only"
    return "too_large" if file.truncated else "empty"


def _with_conflicts(files: list[DiffFile], listed: bytes) -> list[DiffFile]:
    """Mark the files that have several versions in the index because of a merge conflict."""
    names = {encode_path(row.partition(b"\t")[2]) for row in listed.split(b"\0") if row}
    return [replace(file, status="unmerged") if file.path in names else file for file in files]


async def _patch(git: Git, tree: str, wanted: list[bytes]) -> dict[str, DiffFile]:
    result = await git.run("diff", "--patch", "--unified=3", *QUIET, tree, "--", *wanted, most=MOST_PATCH)
    return await asyncio.to_thread(parse_patch, result.out, cut=result.cut)


def _with_hunks(file: DiffFile, patch: dict[str, DiffFile], *, hunks: bool) -> DiffFile:
    found = patch.get(file.path)
    if found is not None:
        return replace(file, hunks=found.hunks, truncated=found.truncated, binary=file.binary or found.binary)
    missing = hunks and not file.binary and (file.added or file.removed)
    return replace(file, truncated=True) if missing else file


def _untracked(directory: SessionDirectory, names: list[bytes], room: int) -> list[DiffFile]:
    """New files, with every line added; `room` bytes of hunks in all."""
    found: list[DiffFile] = []
    for name in names[:MOST_FILES]:
        if not directory.is_visible(name.split(b"/")):
            continue
        file = _new_file(directory, name, room)
        room -= sum(len(hunk.text) for hunk in file.hunks)
        found.append(file)
    return found


def _new_file(directory: SessionDirectory, name: bytes, room: int) -> DiffFile:
    path = encode_path(name)
    try:
        with directory.file(path) as handle:
            size = os.fstat(handle).st_size
            data = read_up_to(handle, MOST_COUNTED)
    except (ApiError, OSError):
        link = os.path.islink(os.path.join(os.fsencode(directory.path), name))
        return DiffFile(path, "untracked", truncated=True, view="link" if link else "unreadable")
    if b"\0" in data[:LOOKED_AT]:
        return DiffFile(path, "untracked", binary=True)
    made, lines, cut = to_added_hunk(data)
    cut = cut or size > len(data)
    if sum(len(hunk.text) for hunk in made) > room:
        return DiffFile(path, "untracked", added=lines, truncated=True)
    return DiffFile(path, "untracked", added=lines, truncated=cut, hunks=made)


async def list_known_files(
    directory: SessionDirectory, environment: dict[str, str], most: int = 8 * 1024 * 1024
) -> list[bytes] | None:
    """All files that git tracks or would track, relative to the directory; None if there is no repository."""
    try:
        repo: Repo = open_repo(directory.path, environment)
    except ApiError:
        return None
    async with repo.isolated() as git:
        result = await git.run("ls-files", "-z", "--cached", "--others", "--exclude-standard", most=most)
    if result.code and not result.cut:
        return None
    names = result.out.split(b"\0")
    if result.cut:
        names.pop()
    return [name for name in dict.fromkeys(names) if name]


async def find_ignored(
    directory: SessionDirectory, environment: dict[str, str], paths: list[bytes]
) -> frozenset[bytes]:
    """Those of `paths` that git ignores; none if that cannot be determined."""
    if not paths:
        return frozenset()
    try:
        repo = open_repo(directory.path, environment)
        async with repo.isolated() as git:
            # This command has no literal pathspecs, but a name that begins with "./" has no magic in it.
            asked = b"".join(b"./" + path + b"\0" for path in paths)
            plain = {name: value for name, value in git.environment.items() if name != "GIT_LITERAL_PATHSPECS"}
            result = await git.with_environment(plain).run("check-ignore", "-z", "--stdin", stdin=asked, seconds=3.0)
    except ApiError:
        return frozenset()
    return frozenset(name.removeprefix(b"./") for name in result.out.split(b"\0") if result.code == 0)


async def find_ignored_folders(directory: SessionDirectory, environment: dict[str, str]) -> frozenset[str]:
    """Directories that git ignores completely, by their real paths."""
    repo = open_repo(directory.path, environment)
    async with repo.isolated() as git:
        result = await git.run("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    names = (name for name in result.out.split(b"\0") if name.endswith(b"/"))
    return frozenset(os.path.join(directory.path, os.fsdecode(name.rstrip(b"/"))) for name in names)
