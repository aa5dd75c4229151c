"""Plans what a patch makes of all files it touches, and carries the plan out whole or not at all."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress

import msgspec
from msgspec import Struct

from bobstay.tools.base import Context, ToolError
from bobstay.tools.files.atomic_write import ConcurrentChangeError, replace_file, require_writable
from bobstay.tools.files.file_content import decode, digest
from bobstay.tools.files.file_reading import fingerprint, read_whole
from bobstay.tools.files.file_update import encode_for, require_known, require_text, stale_error
from bobstay.tools.files.offload import require_not_cancelled
from bobstay.tools.files.patch_format import AddFile, DeleteFile, FileSection, UpdateFile
from bobstay.tools.files.patch_matching import apply_chunks
from bobstay.tools.files.similar_paths import missing_file_error
from bobstay.tools.files.tool_path import ToolPath, locate, stat_regular_file, to_tool_error


class FileChange(Struct, frozen=True):
    """A file before and after the patch; None where it does not exist."""

    target: ToolPath
    before: bytes | None
    after: bytes | None
    status: os.stat_result | None = None
    mode: int | None = None
    """The mode of a file that was moved here."""
    moved_from: str = ""
    origin: bytes | None = None
    """The content it had where it was moved from."""
    notes: tuple[str, ...] = ()


class PatchPlan(Struct, frozen=True):
    changes: tuple[FileChange, ...]
    """In the order of the patch, without files that stay as they were."""


def plan_patch(sections: tuple[FileSection, ...], context: Context) -> PatchPlan:
    """Compute the new content of each file, in memory.

    Raises:
        ToolError: a section does not fit its file, or the model has not read the file as it is now.
    """
    planned = _Planned(context)
    for section in sections:
        match section:
            case AddFile():
                planned.add(section)
            case DeleteFile():
                planned.delete(section.path)
            case UpdateFile():
                planned.update(section)
    changes = tuple(change for change in planned.files.values() if change.before != change.after)
    if not changes:
        raise ToolError("The patch leaves every file as it was. Nothing was written.")
    return PatchPlan(changes)


def carry_out(plan: PatchPlan, cancelled: Callable[[], bool]) -> dict[str, str]:
    """Write and remove the files of `plan`: all, or none if one of them fails. Returns the hashes of those written.

    Raises:
        ToolError: a file changed meanwhile, or the system refused. All files are as they were.
    """
    for change in plan.changes:
        _require_unchanged(change)
    require_not_cancelled(cancelled)
    # Removed last: until then the content of a file that moves exists.
    ordered = sorted(plan.changes, key=lambda change: change.after is None)
    done: list[FileChange] = []
    try:
        for change in ordered:
            _store(change)
            done.append(change)
    except (ToolError, ConcurrentChangeError) as error:
        lost = [change.target.path for change in reversed(done) if not _undo(change)]
        if isinstance(error, ConcurrentChangeError):
            error = stale_error(ordered[len(done)].target, None)
        if not lost:
            raise ToolError(f"{error} All files of the patch are as they were.") from None
        raise ToolError(f"{error} These files could not be put back: {', '.join(lost)}. Look at them.") from None
    return {change.target.real: digest(change.after) for change in ordered if change.after is not None}


class _Planned:
    """The files of a patch as its sections leave them, one after the other."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.files: dict[str, FileChange] = {}

    def add(self, section: AddFile) -> None:
        target = self._locate(section.path)
        known = self.files.get(target.real)
        status = stat_regular_file(target) if known is None else None
        exists = known.after is not None if known is not None else status is not None and status.st_size > 0
        if exists:
            raise ToolError(
                f"Add File makes a new file, but {target.path} exists. Nothing was written. "
                "Change it with Update File, or delete it before in the same patch."
            )
        content = require_text(section.content, f"The content of {section.path}").encode()
        if known is not None:
            self.files[target.real] = msgspec.structs.replace(known, after=content)
        else:
            self.files[target.real] = FileChange(target, None if status is None else b"", content, status)

    def delete(self, path: str) -> None:
        change = self._load(path)
        self.files[change.target.real] = msgspec.structs.replace(change, after=None)

    def update(self, section: UpdateFile) -> None:
        change = self._load(section.path)
        assert change.after is not None, "_load refuses a file that is gone"
        content = decode(change.after)
        try:
            patched = apply_chunks(content.text, section.chunks)
        except ToolError as error:
            raise ToolError(f"{change.target.path}: {error}") from None
        require_text("".join(text for chunk in section.chunks for marker, text in chunk.lines if marker == "+"), "It")
        after = encode_for(content, patched.text, change.target)
        changed = msgspec.structs.replace(change, after=after, notes=(*change.notes, *patched.notes))
        if not section.move_to:
            self.files[change.target.real] = changed
            return
        self._move(changed, section.move_to)

    def _move(self, change: FileChange, path: str) -> None:
        target = self._locate(path)
        if target.real == change.target.real:
            self.files[target.real] = change
            return
        present = self.files.get(target.real)
        exists = present.after is not None if present is not None else stat_regular_file(target) is not None
        if exists:
            raise ToolError(f"{change.target.path} cannot move to {target.path}, which exists. Nothing was written.")
        mode = stat.S_IMODE(change.status.st_mode) if change.status is not None else change.mode
        before = present.before if present is not None else None
        status = present.status if present is not None else None
        self.files[target.real] = FileChange(
            target,
            before,
            change.after,
            status,
            mode,
            change.moved_from or change.target.path,
            change.origin if change.moved_from else change.before,
            change.notes,
        )
        self.files[change.target.real] = msgspec.structs.replace(change, after=None, notes=())

    def _load(self, path: str) -> FileChange:
        """The file at `path` as the sections so far leave it. It must have been read, and not have changed since."""
        target = self._locate(path)
        known = self.files.get(target.real)
        if known is not None:
            if known.after is None:
                raise ToolError(f"An earlier section of the patch removes {target.path}. Nothing was written.")
            return known
        status = stat_regular_file(target)
        if status is None:
            raise missing_file_error(target.path, self._context)
        seen = require_known(target, self._context)
        require_writable(target, status)
        raw = read_whole(target)
        if digest(raw) != seen:
            raise stale_error(target, raw)
        return FileChange(target, raw, raw, status)

    def _locate(self, path: str) -> ToolPath:
        target = locate(path, self._context)
        if os.path.islink(target.path):
            raise ToolError(f"{target.path} is a symbolic link. Name the file it leads to: {target.real}.")
        return target


def _require_unchanged(change: FileChange) -> None:
    status = stat_regular_file(change.target)
    if (status is None) != (change.before is None):
        what = "was removed" if status is None else "appeared"
        raise ToolError(f"{change.target.path} {what} meanwhile. Nothing was written. Look again.")
    if change.before is not None and fingerprint(change.target) != digest(change.before):
        raise stale_error(change.target, read_whole(change.target))


def _store(change: FileChange) -> None:
    expected = None if change.before is None else digest(change.before)
    if change.after is None:
        assert expected is not None, "a file that is removed was read"
        _remove(change.target, expected)
        return
    replace_file(change.target, change.after, expected)
    if change.mode is not None:
        with suppress(OSError):  # the content is what matters
            os.chmod(change.target.real, change.mode)


def _undo(change: FileChange) -> bool:
    """Put a stored file back, unless somebody changed it since. Returns whether it is as it was."""
    try:
        if change.before is None:
            assert change.after is not None
            _remove(change.target, digest(change.after))
            return True
        replace_file(change.target, change.before, None if change.after is None else digest(change.after))
        if change.status is not None:
            os.chmod(change.target.real, stat.S_IMODE(change.status.st_mode))
    except (ToolError, ConcurrentChangeError, OSError):
        return False
    return True


def _remove(target: ToolPath, expected: str) -> None:
    try:
        if fingerprint(target) != expected:
            raise ConcurrentChangeError
        os.unlink(target.real)
    except OSError as error:
        raise to_tool_error(error, "remove", target.path) from None
