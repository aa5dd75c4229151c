"""Takes back what a session changed, a hunk or a whole file at a time, if it is still what the person saw."""

import asyncio
import os
import threading
import time
from typing import Annotated

from msgspec import Meta, Struct

from bobstay.server.auth.private_files import NotPrivate, private_folder
from bobstay.server.errors import ApiError
from bobstay.server.files.git_diff_parser import DiffFile, RawHunk, patch_hunks
from bobstay.server.files.git_process import EMPTY_TREES, Git
from bobstay.server.files.path_names import meant
from bobstay.server.files.repository_lookup import repo_of
from bobstay.server.files.session_directory import SessionDirectory
from bobstay.server.files.working_changes import QUIET, WorkingChanges, changes, version_of
from bobstay.server.revert import confined_write
from bobstay.server.revert.confined_write import changed
from bobstay.server.revert.reverse_hunk import DoesNotFit, without
from bobstay.server.revert.revert_undo import UndoStep, mode_of
from bobstay.server.revert.unstage import unstage

MOST_KEPT = 200
"""Copies of what was taken back, of all sessions together; the oldest go."""
_Number = Annotated[int, Meta(ge=0, lt=2**31)]
_changing = threading.Lock()
"""Two who take back at once must not write over each other."""


class HunkPlace(Struct, frozen=True, forbid_unknown_fields=True):
    old_start: _Number
    old_lines: _Number
    new_start: _Number
    new_lines: _Number


class RevertRequest(Struct, frozen=True):
    """What to take back."""

    path: str
    base: str
    hunk: HunkPlace | None
    sha256: str
    version: str


class RevertedChanges(Struct, frozen=True):
    kept: str
    """Where a copy of the file as it was is kept; empty if there was none."""
    steps: tuple[UndoStep, ...]
    """How to undo it."""


async def take_back(
    place: SessionDirectory, environment: dict[str, str], keep: str, wish: RevertRequest
) -> RevertedChanges:
    """Do it. `keep` is the folder for copies.

    Raises:
        ApiError: conflict, where the file is not what the person saw.
    """
    seen = await changes(place, environment, base=wish.base, path=wish.path, hunks=False)
    file = next((file for file in seen.files if file.path == wish.path), None)
    if file is None:
        raise changed(wish.path, "It does not differ from the base any more.")
    if file.status == "unmerged":
        raise ApiError("conflict", f"{wish.path} waits for a merge to be finished. Do that first.")
    mode = mode_of(place, wish.path)
    if wish.hunk is not None:
        kept = await _hunk(place, environment, keep, wish, seen, file)
        return RevertedChanges(kept, (UndoStep(wish.path, kept, mode),))
    kept = await _whole(place, environment, keep, wish, seen, file)
    came_back = (UndoStep(file.old_path, ""),) if file.status == "renamed" and file.old_path else ()
    return RevertedChanges(kept, (UndoStep(wish.path, kept, mode), *came_back))


# ---------------------------------------------------------------- one hunk


async def _hunk(
    place: SessionDirectory,
    environment: dict[str, str],
    keep: str,
    wish: RevertRequest,
    seen: WorkingChanges,
    file: DiffFile,
) -> str:
    if file.status not in ("modified", "renamed", "copied") or file.view not in ("text", "too_large"):
        text = f"{wish.path} was {file.status.replace('_', ' ')} as a whole: take the whole file back."
        raise ApiError("invalid", text)
    repo = repo_of(place.path, environment)
    async with repo.reading(seen.head) as git:
        names = [meant(name) for name in (file.old_path, file.path) if name]
        said = await git.run(
            "diff", "--patch", "--unified=3", *QUIET, _tree(seen), "--", *names, most=confined_write.MOST
        )
    if said.cut:
        raise ApiError("too_large", f"The diff of {wish.path} is too large. Change it in a terminal.")
    found = _same(patch_hunks(said.out, meant(wish.path)), wish)
    if found is None:
        raise changed(wish.path)

    def work() -> str:
        with _changing:
            version = version_of(place, wish.path)[0]
            data = confined_write.content(place, wish.path)
            try:
                before = without(data, found)
            except DoesNotFit:
                raise changed(wish.path) from None
            copy = _keep(keep, wish.path, data)
            confined_write.put(place, wish.path, before, over=version)
            return copy

    return await asyncio.to_thread(work)


def _same(hunks: list[RawHunk], wish: RevertRequest) -> RawHunk | None:
    """The hunk that was meant. Its new place may have moved: another one before it was taken back meanwhile."""
    hunk = wish.hunk
    assert hunk is not None
    wanted = (hunk.old_start, hunk.old_lines, hunk.new_lines, wish.sha256)
    return next((one for one in hunks if (one.old_start, one.old_lines, one.new_lines, one.sha256) == wanted), None)


# ---------------------------------------------------------------- a whole file


async def _whole(
    place: SessionDirectory,
    environment: dict[str, str],
    keep: str,
    wish: RevertRequest,
    seen: WorkingChanges,
    file: DiffFile,
) -> str:
    if not file.rejectable:
        text = f"{wish.path} is a link, a submodule or of another kind than before. Change it in a terminal."
        raise ApiError("not_supported", text)
    if file.version != wish.version:
        raise changed(wish.path)
    comes_back = file.status in ("modified", "deleted", "renamed")
    source = file.old_path or file.path
    data = mode = None
    repo = repo_of(place.path, environment)
    async with repo.reading(seen.head) as git:
        if comes_back:
            data, mode = await _at_base(git, _tree(seen), source)
        if source != wish.path and comes_back and version_of(place, source)[0]:
            raise changed(source, "There is a new file under its old name.")
        copy = await asyncio.to_thread(_kept_whole, place, keep, wish) if file.status != "deleted" else ""
        await unstage(repo, git, seen.head, _tree(seen), [meant(name) for name in dict.fromkeys((source, wish.path))])

    def work() -> None:
        with _changing:
            confined_write.check_version(place, wish.path, wish.version)
            if data is not None:
                confined_write.make_folders(place, source)
                confined_write.put(place, source, data, mode, over=wish.version if source == wish.path else "")
            if source != wish.path or not comes_back:
                confined_write.remove(place, wish.path, version=wish.version)

    await asyncio.to_thread(work)
    return copy


def _kept_whole(place: SessionDirectory, keep: str, wish: RevertRequest) -> str:
    """A copy of a file that is still what the person saw; without one nothing is touched, the index neither."""
    with _changing:
        data = confined_write.content(place, wish.path)
        confined_write.check_version(place, wish.path, wish.version)
        return _keep(keep, wish.path, data)


async def _at_base(git: Git, tree: str, path: str) -> tuple[bytes, int]:
    """A file's content as git would check it out, without starting anything, and its mode."""
    name = meant(path)
    attributes = await git.run("check-attr", "-z", "filter", "--", name)
    value = attributes.out.split(b"\0")[2:3]
    if attributes.code or value not in ([b"unspecified"], [b"unset"]):
        text = f"{path} passes a filter on its way out of git, which the console does not start. Use a terminal."
        raise ApiError("not_supported", text)
    listed = await git.run("ls-tree", "-z", tree, "--", name)
    mode = listed.out.partition(b" ")[0]
    if mode not in (b"100644", b"100755"):
        raise ApiError("not_supported", f"{path} was no plain file. Change it in a terminal.")
    said = await git.run("cat-file", "--filters", tree.encode() + b":./" + name, most=confined_write.MOST)
    if said.cut:
        raise ApiError("too_large", f"{path} was too large to be brought back here. Use a terminal.")
    if said.code:
        raise ApiError("conflict", f"Git does not find {path} in the base: {said.words.strip()[:200]}.")
    return said.out, 0o755 if mode == b"100755" else 0o644


def _tree(seen: WorkingChanges) -> str:
    return seen.base or EMPTY_TREES[40 if len(seen.head) != 64 else 64]


# ---------------------------------------------------------------- what is kept


def _keep(folder: str, path: str, data: bytes) -> str:
    """A copy for those who wish they had not; only its owner can read it.

    Raises:
        ApiError: it cannot be kept, so nothing is taken back.
    """
    ending = os.path.basename(path).encode()[-100:].decode(errors="ignore")  # a name of the system has 255 bytes
    target = os.path.join(folder, f"{time.time_ns():020}-{ending}")
    try:
        private_folder(folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(os.fsencode(target), flags, 0o600), "wb") as file:
            file.write(data)
        for old in sorted(os.listdir(folder))[:-MOST_KEPT]:
            os.unlink(os.path.join(folder, old))
    except (OSError, NotPrivate, UnicodeEncodeError) as error:
        raise ApiError("storage", f"No copy of {path} could be kept, so it was left alone: {error}.") from None
    return target
