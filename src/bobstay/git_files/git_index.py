"""Parses git's index without git: the mode and the name of each entry."""

from collections.abc import Iterator
from struct import unpack_from

_STATUS = 40
"""Bytes of an entry before its hash: ten numbers, of which the mode is the seventh."""
_MODE_AT = 24
_EXTENDED = 0x4000
_LENGTH = 0xFFF
"""The length of the name in an entry's flags; all bits are set if it is longer than they can say."""


class BadIndex(ValueError):  # noqa: N818 - it names a kind of index
    """An index that git cannot read either, or in a format that is not known here."""


def index_entries(content: bytes, hash_size: int = 20, *, complete: bool = True) -> Iterator[tuple[bytes, bytes]]:
    """Yield mode and name of each entry, as git reads them: it does not check that a name is as long as the flags say.

    If `complete`, the index must hold every entry itself: a shared part, or entries that stand for directories, are an
    error after the last entry.

    Raises:
        BadIndex, ValueError, IndexError, struct.error: it cannot be read.
    """
    signature, version, count = unpack_from(">4sII", content)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise BadIndex(signature)
    at = 12
    name = b""
    for _ in range(count):
        begins = at + _STATUS + hash_size + 2
        mode = content[at + _MODE_AT : at + _MODE_AT + 4]
        flags = unpack_from(">H", content, begins - 2)[0]
        begins += 2 if flags & _EXTENDED else 0
        kept, begins = _kept(content, begins, len(name)) if version == 4 else (0, begins)
        end = begins + (flags & _LENGTH) - kept
        if flags & _LENGTH == _LENGTH:
            end = content.find(b"\0", begins)
            end = end if end >= 0 else len(content)
        if end < begins:
            raise BadIndex(flags)
        name = name[:kept] + content[begins:end]
        yield mode, (name + content[end : end + 1]).partition(b"\0")[0]
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8
    if complete:
        _check_rest(content, at, hash_size)


def _kept(content: bytes, at: int, length: int) -> tuple[int, int]:
    """How many bytes of the previous name are kept, and where the rest of the name begins."""
    byte = content[at]
    cut = byte & 127
    while byte & 128:
        at += 1
        byte = content[at]
        cut = ((cut + 1) << 7) | (byte & 127)
    if cut > length:
        raise BadIndex(cut)
    return length - cut, at + 1


def _check_rest(content: bytes, at: int, hash_size: int) -> None:
    """Check that exactly extensions and a checksum follow the entries; otherwise they were misread."""
    while at < len(content) - hash_size:
        kind, size = unpack_from(">4sI", content, at)
        if not kind.isupper():
            raise BadIndex(kind)  # a required extension changes what the entries mean
        at += 8 + size
    if at != len(content) - hash_size:
        raise BadIndex(at)
