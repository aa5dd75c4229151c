"""Reverts changes of a session, by hunk or by file, if they are still what the person saw."""

import asyncio
import os
import threading
import time
from typing import Annotated

from msgspec import Meta, Struct

from bobstay.repositories.git_process import EMPTY_TREES, Git, Repo
from bobstay.server.auth.private_files import NotPrivate, private_folder
from bobstay.server.errors import ApiError
from bobstay.server.files.git_diff_parser import DiffFile, RawHunk, parse_hunks
from bobstay.server.files.path_names import decode_path
from bobstay.server.files.repository_lookup import open_repo
from bobstay.server.files.session_directory import SessionDirectory
from bobstay.server.files.working_changes import QUIET, WorkingChanges, file_version, find_changes
from bobstay.server.revert import confined_write
from bobstay.server.revert.confined_write import changed_error
from bobstay.server.revert.reverse_hunk import HunkMismatch, revert_hunk
from bobstay.server.revert.revert_undo import UndoStep, file_mode

MOST_KEPT = 200
"""Copies of reverted files, of all sessions together; the oldest are removed."""
_Number = Annotated[int, Meta(ge=0, lt=2**31)]
_write_lock = threading.Lock()
"""Concurrent reverts must not overwrite each other."""


class HunkPosition(Struct, frozen=True, forbid_unknown_fields=True):
    old_start: _Number
    old_lines: _Number
    new_start: _Number
    new_lines: _Number


class RevertRequest(Struct, frozen=True):
    """The hunk or file to revert."""

    path: str
    base: str
    hunk: HunkPosition | None
    sha256: str
    version: str


class RevertedChanges(Struct, frozen=True):
    kept: str
    """Path of a copy of the previous file; empty if there was none."""
    steps: tuple[UndoStep, ...]
    """How to undo it."""


async def revert_change(
    directory: SessionDirectory, environment: dict[str, str], keep: str, request: RevertRequest
) -> RevertedChanges:
    """Revert a change. `keep` is the folder for copies.

    Raises:
        ApiError: conflict, if the file is not what the person saw.
    """
    seen = await find_changes(directory, environment, base=request.base, path=request.path, hunks=False)
    file = next((file for file in seen.files if file.path == request.path), None)
    if file is None:
        raise changed_error(request.path, "It does not differ from the base any more.")
    if file.status == "unmerged":
        raise ApiError("conflict", f"{request.path} has an unfinished merge. Finish it first.")
    mode = file_mode(directory, request.path)
    if request.hunk is not None:
        kept = await _revert_hunk(directory, environment, keep, request, seen, file)
        return RevertedChanges(kept, (UndoStep(request.path, kept, mode),))
    kept = await _revert_file(directory, environment, keep, request, seen, file)
    came_back = (UndoStep(file.old_path, ""),) if file.status == "renamed" and file.old_path else ()
    return RevertedChanges(kept, (UndoStep(request.path, kept, mode), *came_back))


# ---------------------------------------------------------------- one hunk


async def _revert_hunk(
    directory: SessionDirectory,
    environment: dict[str, str],
    keep: str,
    request: RevertRequest,
    seen: WorkingChanges,
    file: DiffFile,
) -> str:
    if file.status not in ("modified", "renamed", "copied") or file.view not in ("text", "too_large"):
        text = f"{request.path} was {file.status.replace('_', ' ')} as a whole: revert the whole file."
        raise ApiError("invalid", text)
    repo = open_repo(directory.path, environment)
    async with repo.isolated(seen.head) as git:
        names = [decode_path(name) for name in (file.old_path, file.path) if name]
        result = await git.run(
            "diff", "--patch", "--unified=3", *QUIET, _tree(seen), "--", *names, most=confined_write.MOST
        )
    if result.cut:
        raise ApiError("too_large", f"The diff of {request.path} is too large. Change it in a terminal.")
    found = _find_hunk(parse_hunks(result.out, decode_path(request.path)), request)
    if found is None:
        raise changed_error(request.path)

    def work() -> str:
        with _write_lock:
            version = file_version(directory, request.path)[0]
            data = confined_write.read_file(directory, request.path)
            try:
                before = revert_hunk(data, found)
            except HunkMismatch:
                raise changed_error(request.path) from None
            copy = _save_copy(keep, request.path, data)
            confined_write.write_file(directory, request.path, before, over=version)
            return copy

    return await asyncio.to_thread(work)


def _find_hunk(hunks: list[RawHunk], request: RevertRequest) -> RawHunk | None:
    """The requested hunk. Its new position may have moved because an earlier hunk was reverted meanwhile."""
    hunk = request.hunk
    assert hunk is not None
    wanted = (hunk.old_start, hunk.old_lines, hunk.new_lines, request.sha256)
    return next((one for one in hunks if (one.old_start, one.old_lines, one.new_lines, one.sha256) == wanted), None)


# ---------------------------------------------------------------- a whole file


async def _revert_file(
    directory: SessionDirectory,
    environment: dict[str, str],
    keep: str,
    request: RevertRequest,
    seen: WorkingChanges,
    file: DiffFile,
) -> str:
    if not file.rejectable:
        text = f"{request.path} is a link, a submodule or of another kind than before. Change it in a terminal."
        raise ApiError("not_supported", text)
    if file.version != request.version:
        raise changed_error(request.path)
    comes_back = file.status in ("modified", "deleted", "renamed")
    source = file.old_path or file.path
    data = mode = None
    repo = open_repo(directory.path, environment)
    async with repo.isolated(seen.head) as git:
        if comes_back:
            data, mode = await _read_at_base(git, _tree(seen), source)
        if source != request.path and comes_back and file_version(directory, source)[0]:
            raise changed_error(source, "There is a new file under its old name.")
        copy = await asyncio.to_thread(_copy_file, directory, keep, request) if file.status != "deleted" else ""
        await _unstage(
            repo, git, seen.head, _tree(seen), [decode_path(name) for name in dict.fromkeys((source, request.path))]
        )

    def work() -> None:
        with _write_lock:
            confined_write.check_version(directory, request.path, request.version)
            if data is not None:
                confined_write.create_folders(directory, source)
                confined_write.write_file(
                    directory, source, data, mode, over=request.version if source == request.path else ""
                )
            if source != request.path or not comes_back:
                confined_write.remove_file(directory, request.path, version=request.version)

    await asyncio.to_thread(work)
    return copy


def _copy_file(directory: SessionDirectory, keep: str, request: RevertRequest) -> str:
    """Copy a file that is still what the person saw; without a copy nothing is changed, not even the index."""
    with _write_lock:
        data = confined_write.read_file(directory, request.path)
        confined_write.check_version(directory, request.path, request.version)
        return _save_copy(keep, request.path, data)


async def _read_at_base(git: Git, tree: str, path: str) -> tuple[bytes, int]:
    """The content of a file as git would check it out, without starting filters, and its mode."""
    name = decode_path(path)
    attributes = await git.run("check-attr", "-z", "filter", "--", name)
    value = attributes.out.split(b"\0")[2:3]
    if attributes.code or value not in ([b"unspecified"], [b"unset"]):
        text = f"{path} passes a filter on its way out of git, which the console does not start. Use a terminal."
        raise ApiError("not_supported", text)
    listed = await git.run("ls-tree", "-z", tree, "--", name)
    mode = listed.out.partition(b" ")[0]
    if mode not in (b"100644", b"100755"):
        raise ApiError("not_supported", f"{path} was not a regular file. Change it in a terminal.")
    result = await git.run("cat-file", "--filters", tree.encode() + b":./" + name, most=confined_write.MOST)
    if result.cut:
        raise ApiError("too_large", f"{path} is too large to be reverted here. Use a terminal.")
    if result.code:
        raise ApiError("conflict", f"Git does not find {path} in the base: {result.errors.strip()[:200]}.")
    return result.out, 0o755 if mode == b"100755" else 0o644


async def _unstage(repo: Repo, git: Git, head: str, tree: str, names: list[bytes]) -> None:
    """Reset these files in the index to `tree`, if staged changes differ from HEAD: the next commit must not have them.

    Raises:
        ApiError: conflict with git's own message; another git process may be running.
    """
    now = head or EMPTY_TREES[40]
    staged = await git.run("diff", "--cached", "--raw", "-z", "--no-renames", now, "--", *names)
    if not staged.out:
        return
    base = await git.output("ls-tree", "-z", "--full-name", tree, "--", *names)
    entries = [row for row in base.split(b"\0") if row]
    known = {row.partition(b"\t")[2] for row in entries}
    listed = await git.output("ls-files", "-z", "--full-name", "--", *names)
    gone = [b"0 " + b"0" * len(now) + b"\t" + name for name in listed.split(b"\0") if name and name not in known]
    lines = [*gone, *(_index_entry(row) for row in entries)]
    if lines:
        await repo.writable(repo.top).output("update-index", "-z", "--index-info", stdin=b"\0".join(lines) + b"\0")


def _index_entry(row: bytes) -> bytes:
    """A line of `ls-tree` (mode, kind, object, name) as the index takes it (mode, object, name)."""
    about, _, name = row.partition(b"\t")
    mode, _, object_ = about.split(b" ")
    return mode + b" " + object_ + b"\t" + name


def _tree(seen: WorkingChanges) -> str:
    return seen.base or EMPTY_TREES[40 if len(seen.head) != 64 else 64]


# ---------------------------------------------------------------- copies


def _save_copy(folder: str, path: str, data: bytes) -> str:
    """Save a copy for undo, readable by its owner only.

    Raises:
        ApiError: it cannot be saved, so nothing is reverted.
    """
    ending = os.path.basename(path).encode()[-100:].decode(errors="ignore")  # file names are limited to 255 bytes
    target = os.path.join(folder, f"{time.time_ns():020}-{ending}")
    try:
        private_folder(folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(os.fsencode(target), flags, 0o600), "wb") as file:
            file.write(data)
        for old in sorted(os.listdir(folder))[:-MOST_KEPT]:
            os.unlink(os.path.join(folder, old))
    except (OSError, NotPrivate, UnicodeEncodeError) as error:
        raise ApiError("storage", f"No copy of {path} could be saved, so it was not changed: {error}.") from None
    return target
