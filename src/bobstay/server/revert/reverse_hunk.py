"""Reverts one hunk in the bytes of a file. Pure: if the file does not match the hunk, nothing is guessed."""

from itertools import pairwise

from bobstay.server.files.git_diff_parser import RawHunk


class HunkMismatch(ValueError):  # noqa: N818 - reads as what happened
    """The file does not contain the new side of the hunk, or the hunk is incomplete."""


def revert_hunk(data: bytes, hunk: RawHunk) -> bytes:
    """`data` as it was before `hunk`.

    Raises:
        DoesNotFit
    """
    old, new = _sides(hunk)
    if not new and data:  # the hunk emptied the file, which has other content now
        raise HunkMismatch
    lines = data.split(b"\n")
    # A hunk without new lines names the line before it.
    first = hunk.new_start - 1 if hunk.new_lines else hunk.new_start
    if first < 0 or first > len(lines):
        raise HunkMismatch
    start = sum(len(line) + 1 for line in lines[:first])
    for before, after in ((old, new), (_with_returns(old), _with_returns(new))):
        if data[start : start + len(after)] == after and _ends(data, start + len(after), hunk):
            return data[:start] + before + data[start + len(after) :]
    raise HunkMismatch


def _sides(hunk: RawHunk) -> tuple[bytes, bytes]:
    """The bytes before and after the change."""
    old: list[bytes] = []
    new: list[bytes] = []
    last: tuple[list[bytes], ...] = ()
    for line in hunk.body:
        sign, content = line[:1], line[1:] + b"\n"
        if sign == b"\\":  # the line before it has no newline
            for side in last:
                side[-1] = side[-1].removesuffix(b"\n")
            continue
        last = {b" ": (old, new), b"-": (old,), b"+": (new,)}.get(sign, ())
        for side in last:
            side.append(content)
    if (len(old), len(new)) != (hunk.old_lines, hunk.new_lines):
        raise HunkMismatch
    return b"".join(old), b"".join(new)


def _with_returns(side: bytes) -> bytes:
    """Git may show a file without the carriage returns it has on disk (`core.autocrlf`)."""
    return side.replace(b"\n", b"\r\n")


def _ends(data: bytes, end: int, hunk: RawHunk) -> bool:
    """A hunk whose new side has no newline at its end must be the end of the file."""
    open_ended = any(before[:1] != b"-" and after[:1] == b"\\" for before, after in pairwise(hunk.body))
    return end == len(data) if open_ended else end <= len(data)
