"""Takes one hunk back out of a file's bytes. Pure: where the file is not what the hunk says, nothing is guessed."""

from itertools import pairwise

from bobstay.server.files.git_diff_parser import RawHunk


class DoesNotFit(ValueError):  # noqa: N818 - reads as what happened
    """The file does not hold what the hunk added, or the hunk is not whole."""


def without(data: bytes, hunk: RawHunk) -> bytes:
    """`data` as it was before `hunk`.

    Raises:
        DoesNotFit
    """
    old, new = _sides(hunk)
    if not new and data:  # such a hunk left nothing: now there is something, of which it says nothing
        raise DoesNotFit
    lines = data.split(b"\n")
    # Before the first line nothing is cut off; a hunk without lines of its own names the line before it.
    first = hunk.new_start - 1 if hunk.new_lines else hunk.new_start
    if first < 0 or first > len(lines):
        raise DoesNotFit
    start = sum(len(line) + 1 for line in lines[:first])
    for plain, gone in ((old, new), (_with_returns(old), _with_returns(new))):
        if data[start : start + len(gone)] == gone and _ends(data, start + len(gone), hunk):
            return data[:start] + plain + data[start + len(gone) :]
    raise DoesNotFit


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
        raise DoesNotFit
    return b"".join(old), b"".join(new)


def _with_returns(side: bytes) -> bytes:
    """Git may show a file without the carriage returns it has on disk (`core.autocrlf`)."""
    return side.replace(b"\n", b"\r\n")


def _ends(data: bytes, end: int, hunk: RawHunk) -> bool:
    """A hunk whose new side has no newline at its end must be the end of the file."""
    open_ended = any(before[:1] != b"-" and after[:1] == b"\\" for before, after in pairwise(hunk.body))
    return end == len(data) if open_ended else end <= len(data)
