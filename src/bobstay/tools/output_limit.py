"""Keeps what a tool gave within bounds: head and tail for the model, the whole in a file it may look into."""

import errno
import os
from pathlib import Path

from bobstay.model.message import Image, ReplyPart, Text

_NOTE = 500
"""Characters kept free for the words about what was left out."""
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def bound(
    content: str | tuple[ReplyPart, ...], cap: int, spill: Path, call_id: str
) -> tuple[tuple[ReplyPart, ...], str]:
    """Return parts whose text is at most about `cap` characters, and the path of the file with the whole, or "".

    Texts that together are too long become one, in the place of the first; images pass.
    """
    parts = (Text(content),) if isinstance(content, str) else content
    texts = [part.text for part in parts if isinstance(part, Text)]
    if sum(map(len, texts)) <= cap:
        return tuple(Text(printable(part.text)) if isinstance(part, Text) else part for part in parts), ""
    whole = texts[0] if len(texts) == 1 else "\n".join(texts)
    path, trouble = _save(whole, spill, call_id)
    images: tuple[ReplyPart, ...] = tuple(part for part in parts if isinstance(part, Image))
    before = next(index for index, part in enumerate(parts) if isinstance(part, Text))
    return (*images[:before], Text(_shortened(whole, cap, path, trouble)), *images[before:]), path


def printable(text: str) -> str:
    """`text` without what cannot be sent: NUL is made visible, halves of surrogate pairs are replaced."""
    text = text.replace("\0", "␀")
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\N{REPLACEMENT CHARACTER}" if "\ud800" <= letter <= "\udfff" else letter for letter in text)
    return text


def _shortened(text: str, cap: int, path: str, trouble: str) -> str:
    room = max(cap - _NOTE, cap // 2, 2)
    head_end = _line_end(text, room * 3 // 5)
    tail_start = _line_start(text, len(text) - (room - room * 3 // 5))
    gone = tail_start - head_end
    lines = text.count("\n", head_end, tail_start)
    where = (
        f"The whole output ({len(text):,} characters) is in {path}: read a part of that file or search in it."
        if path
        else f"The whole output could not be saved ({trouble}), so that part is lost: ask for less at a time."
    )
    note = f"[... {gone:,} characters ({lines:,} line breaks) left out here. {where} ...]"
    return f"{printable(text[:head_end])}\n\n{note}\n\n{printable(text[tail_start:])}"


def _line_end(text: str, limit: int) -> int:
    """Where to end the head: after the last line that fits, unless that would give up much."""
    found = text.rfind("\n", limit * 4 // 5, limit)
    return limit if found < 0 else found


def _line_start(text: str, start: int) -> int:
    found = text.find("\n", start, start + (len(text) - start) // 5)
    return start if found < 0 else found + 1


def _save(text: str, spill: Path, call_id: str) -> tuple[str, str]:
    """Keep `text` in a file. Return its path, or "" and what went wrong."""
    try:
        return save(text, spill, call_id), ""
    except OSError as error:
        return "", error.strerror or str(error)


def save(content: str | bytes, spill: Path, stem: str, suffix: str = ".txt") -> str:
    """Write `content` whole to a new file that only its owner may read, and return its path.

    Raises:
        OSError: it could not be written; no half a file is left behind.
    """
    path, descriptor = _new_file(spill, "".join(letter for letter in stem[:80] if letter in _SAFE) or "output", suffix)
    try:
        with open(descriptor, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
    except OSError:
        os.unlink(path)
        raise
    return path


def _new_file(folder: Path, stem: str, suffix: str) -> tuple[str, int]:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for number in range(1, 1000):
        path = os.path.join(folder, f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
    raise FileExistsError(errno.EEXIST, "too many files of that name", str(folder))
