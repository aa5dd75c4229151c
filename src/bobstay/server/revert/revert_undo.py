"""Undoes a revert: restores the previous bytes, if the file was not changed meanwhile."""

import asyncio
import os
from collections import OrderedDict

from msgspec import Struct

from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import SessionDirectory
from bobstay.server.files.working_changes import file_version
from bobstay.server.revert import confined_write

MOST = 200


class UndoStep(Struct, frozen=True):
    """One file as it was before the revert."""

    path: str
    kept: str
    """The copy of its bytes; empty if there was no file."""
    mode: int = 0o644


class Undo(Struct, frozen=True):
    cwd: str
    steps: tuple[UndoStep, ...]
    versions: tuple[str, ...]
    """Version of each file after the revert: a file that has changed since is not restored."""


class Undos:
    """Reverts that can be undone, by token; only the newest, and only until the server ends."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Undo] = OrderedDict()

    def add(self, token: str, directory: SessionDirectory, steps: tuple[UndoStep, ...]) -> None:
        versions = tuple(file_version(directory, step.path)[0] for step in steps)
        self._known[token] = Undo(directory.path, steps, versions)
        while len(self._known) > MOST:
            self._known.popitem(last=False)

    async def undo(self, token: str, directory: SessionDirectory) -> tuple[str, ...]:
        """Undo a revert; returns the restored paths.

        Raises:
            ApiError: not_found, or conflict if a file was changed meanwhile.
        """
        known = self._known.get(token)
        if known is None or known.cwd != directory.path:
            raise ApiError("not_found", "This can no longer be undone. A copy of the file is kept on the server.")
        await asyncio.to_thread(_restore, known, directory)
        del self._known[token]
        return tuple(step.path for step in known.steps)


def _restore(known: Undo, directory: SessionDirectory) -> None:
    pairs = list(zip(known.steps, known.versions, strict=True))
    for step, version in pairs:
        confined_write.check_version(directory, step.path, version)
    for step, version in pairs:
        if not step.kept:
            confined_write.remove_file(directory, step.path, version=version)
            continue
        try:
            with open(step.kept, "rb") as file:
                data = file.read(confined_write.MOST + 1)
        except OSError as error:
            raise ApiError("storage", f"The copy of {step.path} cannot be read: {error.strerror}.") from error
        confined_write.create_folders(directory, step.path)
        confined_write.write_file(directory, step.path, data, step.mode, over=version)


def file_mode(directory: SessionDirectory, path: str) -> int:
    """The permissions of a file, or the default ones if there is no file."""
    try:
        with directory.file(path) as handle:
            return os.fstat(handle).st_mode & 0o777
    except ApiError:
        return 0o644
