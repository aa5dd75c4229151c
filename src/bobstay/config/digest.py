"""Digests of files and folders as they are found, bounded in size, without ever following a link unnoticed."""

import os
import stat
from collections.abc import Iterator, Mapping

MOST_FILES = 4_000
MOST_BYTES = 64 << 20
_PIECE = 1 << 20


class TooMuch(Exception):  # noqa: N818 - it names a state, not an event
    """There is more than can be looked at; the text says where."""


class Digests:
    """Collects the digest of each file that counts, by a name a person understands."""

    def __init__(self, folder: str, known: Mapping[str, bytes] | None = None) -> None:
        """`known` is content already read: what is judged must be what is used."""
        self.folder = folder
        self.found: dict[str, str] = {}
        self._known = known or {}
        self._bytes = 0

    def file(self, path: str, name: str = "") -> bytes:
        """Note the file at `path` if there is one; return what it says, as far as a text would."""
        name = name or self.name_of(path)
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            return b""
        link = f"{os.readlink(path)}:" if stat.S_ISLNK(status.st_mode) else ""
        content = self._known.get(path)
        if content is None:
            content = self._read(path, name)
        self.note(name, link.encode(errors="surrogateescape"), content if content is not None else b"\0no file")
        return content or b""

    def text(self, name: str, text: bytes) -> None:
        """Note something that is no whole file."""
        self.note(name, b"", text)

    def tree(self, path: str) -> None:
        """Note every file below a folder. Links to folders are noted, not entered."""
        if os.path.islink(path):
            self.note(self.name_of(path), b"link", os.readlink(path).encode(errors="surrogateescape"))
        for file in _walk(os.path.realpath(path)):
            self.file(file, self.name_of(os.path.join(path, os.path.relpath(file, os.path.realpath(path)))))

    def note(self, name: str, kind: bytes, content: bytes) -> None:
        from hashlib import sha256

        if len(self.found) >= MOST_FILES:
            raise TooMuch(f"more than {MOST_FILES} files would have to be checked (at {name})")
        self.found[name] = sha256(b"%d:%s%s" % (len(kind), kind, content)).hexdigest()

    def name_of(self, path: str) -> str:
        relative = os.path.relpath(path, self.folder)
        return path if relative.startswith("../..") else relative

    def _read(self, path: str, name: str) -> bytes | None:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            self._bytes += status.st_size
            if self._bytes > MOST_BYTES:
                raise TooMuch(f"more than {MOST_BYTES >> 20} MiB would have to be checked (at {name})")
            pieces: list[bytes] = []
            left = status.st_size
            while left > 0 and (piece := os.read(descriptor, min(left, _PIECE))):
                pieces.append(piece)
                left -= len(piece)
            return b"".join(pieces)
        except OSError:
            return None
        finally:
            os.close(descriptor)


def _walk(folder: str) -> Iterator[str]:
    for place, inner, files in os.walk(folder):
        inner.sort()
        for name in sorted([*files, *(each for each in inner if os.path.islink(os.path.join(place, each)))]):
            yield os.path.join(place, name)


def digests_of(paths: list[str]) -> dict[str, str]:
    """The digest of each file that is there, by path. Raises `TooMuch`."""
    digests = Digests("/")
    for path in paths:
        digests.file(path, path)
    return digests.found
