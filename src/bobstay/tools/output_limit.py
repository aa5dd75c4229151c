"""Limits the output of a tool: head and tail for the model, the full text in a spill file."""

import errno
import os
from pathlib import Path

from bobstay.model.message import Image, ReplyPart, Text

_NOTE = 500
"""Characters reserved for the note about what was left out."""
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def limit_output(
    content: str | tuple[ReplyPart, ...], cap: int, spill: Path, call_id: str
) -> tuple[tuple[ReplyPart, ...], str]:
    """Return parts with at most about `cap` characters of text, and the path of the file with the full text, or "".

    Texts that are too long together are merged into the first; images pass unchanged.
    """
    parts = (Text(content),) if isinstance(content, str) else content
    texts = [part.text for part in parts if isinstance(part, Text)]
    if sum(map(len, texts)) <= cap:
        return tuple(Text(make_printable(part.text)) if isinstance(part, Text) else part for part in parts), ""
    whole = texts[0] if len(texts) == 1 else "\n".join(texts)
    path, trouble = _save(whole, spill, call_id)
    images: tuple[ReplyPart, ...] = tuple(part for part in parts if isinstance(part, Image))
    before = next(index for index, part in enumerate(parts) if isinstance(part, Text))
    return (*images[:before], Text(_shorten(whole, cap, path, trouble)), *images[before:]), path


def make_printable(text: str) -> str:
    """Make `text` safe to send: NUL becomes visible, lone surrogates are replaced."""
    text = text.replace("\0", "␀")
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\N{REPLACEMENT CHARACTER}" if "\ud800" <= letter <= "\udfff" else letter for letter in text)
    return text


def _shorten(text: str, cap: int, path: str, trouble: str) -> str:
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
    return f"{make_printable(text[:head_end])}\n\n{note}\n\n{make_printable(text[tail_start:])}"


def _line_end(text: str, limit: int) -> int:
    """Where to end the head: after the last line that fits, unless that would lose much."""
    newline = text.rfind("\n", limit * 4 // 5, limit)
    return limit if newline < 0 else newline


def _line_start(text: str, start: int) -> int:
    newline = text.find("\n", start, start + (len(text) - start) // 5)
    return start if newline < 0 else newline + 1


def _save(text: str, spill: Path, call_id: str) -> tuple[str, str]:
    """Save `text` to a file. Return its path, or "" and the error."""
    try:
        return save_output(text, spill, call_id), ""
    except OSError as error:
        return "", error.strerror or str(error)


def save_output(content: str | bytes, spill: Path, stem: str, suffix: str = ".txt") -> str:
    """Write `content` to a new file that only its owner can read, and return its path.

    Raises:
        OSError: it could not be written; no partial file is left behind.
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
