"""Undoes a rejection: puts back the bytes that were taken, if nobody has written to the file meanwhile."""

import asyncio
import os
from collections import OrderedDict

from msgspec import Struct

from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import SessionDirectory
from bobstay.server.files.working_changes import version_of
from bobstay.server.revert import confined_write

MOST = 200


class UndoStep(Struct, frozen=True):
    """One file as it was before the rejection."""

    path: str
    kept: str
    """The copy of its bytes; empty if there was no file."""
    mode: int = 0o644


class Undo(Struct, frozen=True):
    cwd: str
    steps: tuple[UndoStep, ...]
    versions: tuple[str, ...]
    """Of each file after the rejection: one that has changed since is left alone."""


class Undos:
    """What can be undone, by a token; of this run of the server, the newest only."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Undo] = OrderedDict()

    def add(self, token: str, place: SessionDirectory, steps: tuple[UndoStep, ...]) -> None:
        versions = tuple(version_of(place, step.path)[0] for step in steps)
        self._known[token] = Undo(place.path, steps, versions)
        while len(self._known) > MOST:
            self._known.popitem(last=False)

    async def undo(self, token: str, place: SessionDirectory) -> tuple[str, ...]:
        """Restore; returns the paths.

        Raises:
            ApiError: not_found, or conflict where a file was changed meanwhile.
        """
        known = self._known.get(token)
        if known is None or known.cwd != place.path:
            raise ApiError("not_found", "This can no longer be undone. A copy of the file is kept on the server.")
        await asyncio.to_thread(_restore, known, place)
        del self._known[token]
        return tuple(step.path for step in known.steps)


def _restore(known: Undo, place: SessionDirectory) -> None:
    pairs = list(zip(known.steps, known.versions, strict=True))
    for step, version in pairs:
        confined_write.check_version(place, step.path, version)
    for step, version in pairs:
        if not step.kept:
            confined_write.remove(place, step.path, version=version)
            continue
        try:
            with open(step.kept, "rb") as file:
                data = file.read(confined_write.MOST + 1)
        except OSError as error:
            raise ApiError("storage", f"The copy of {step.path} cannot be read: {error.strerror}.") from error
        confined_write.make_folders(place, step.path)
        confined_write.put(place, step.path, data, step.mode, over=version)


def mode_of(place: SessionDirectory, path: str) -> int:
    """The permissions of a file, or the usual ones where there is none."""
    try:
        with place.file(path) as handle:
            return os.fstat(handle).st_mode & 0o777
    except ApiError:
        return 0o644
