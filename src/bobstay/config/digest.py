"""Computes digests of files and folders, bounded in size; symbolic links are part of the digest."""

import os
import stat
from collections.abc import Iterator, Mapping

from bobstay.system.safe_read import open_regular, read_up_to

MAX_FILES = 4_000
MAX_BYTES = 64 << 20


class DigestLimitError(Exception):
    """The limit of files or bytes is exceeded; the text says where."""


class Digests:
    """Collects the digests of files, by a name that a person understands."""

    def __init__(self, folder: str, known: Mapping[str, bytes] | None = None) -> None:
        """`known` is content that was already read, by path: the bytes that are checked must be the bytes used."""
        self.folder = folder
        self.by_name: dict[str, str] = {}
        self._known = known or {}
        self._bytes = 0

    def add_file(self, path: str, name: str = "") -> bytes:
        """Add the file at `path` if it exists, and return its content."""
        name = name or self.name_of(path)
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            return b""
        link = f"{os.readlink(path)}:" if stat.S_ISLNK(status.st_mode) else ""
        content = self._known.get(path)
        if content is None:
            content = self._read(path, name)
        self._add(name, link.encode(errors="surrogateescape"), content if content is not None else b"\0no file")
        return content or b""

    def add_text(self, name: str, text: bytes) -> None:
        """Add text that is not a whole file."""
        self._add(name, b"", text)

    def add_tree(self, path: str) -> None:
        """Add every file below a folder. Links to folders are added but not followed."""
        if os.path.islink(path):
            self._add(self.name_of(path), b"link", os.readlink(path).encode(errors="surrogateescape"))
        for file in _list_files(os.path.realpath(path)):
            self.add_file(file, self.name_of(os.path.join(path, os.path.relpath(file, os.path.realpath(path)))))

    def _add(self, name: str, kind: bytes, content: bytes) -> None:
        from hashlib import sha256

        if len(self.by_name) >= MAX_FILES:
            raise DigestLimitError(f"more than {MAX_FILES} files would have to be checked (at {name})")
        self.by_name[name] = sha256(b"%d:%s%s" % (len(kind), kind, content)).hexdigest()

    def name_of(self, path: str) -> str:
        relative = os.path.relpath(path, self.folder)
        return path if relative.startswith("../..") else relative

    def _read(self, path: str, name: str) -> bytes | None:
        try:
            descriptor = open_regular(path)
        except OSError:
            return None
        try:
            size = os.fstat(descriptor).st_size
            self._bytes += size
            if self._bytes > MAX_BYTES:
                raise DigestLimitError(f"more than {MAX_BYTES >> 20} MiB would have to be checked (at {name})")
            return read_up_to(descriptor, size)
        except OSError:
            return None
        finally:
            os.close(descriptor)


def _list_files(folder: str) -> Iterator[str]:
    for directory, subfolders, files in os.walk(folder):
        subfolders.sort()
        links = (name for name in subfolders if os.path.islink(os.path.join(directory, name)))
        for name in sorted([*files, *links]):
            yield os.path.join(directory, name)


def digest_files(paths: list[str]) -> dict[str, str]:
    """Return the digest of each existing file, by path. Raises `DigestLimitError`."""
    digests = Digests("/")
    for path in paths:
        digests.add_file(path, path)
    return digests.by_name
