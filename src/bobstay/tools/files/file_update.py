"""The steps every change of a file goes through: the model must know it, and it must still be what the model knows."""

import os
from collections.abc import Callable

from msgspec import Struct

from bobstay.tools.base import Context, ToolError
from bobstay.tools.files.atomic_write import ChangedMeanwhile, put, require_writable
from bobstay.tools.files.file_content import Content, decode, digest, visible, with_plain_newlines
from bobstay.tools.files.file_reading import read_whole
from bobstay.tools.files.numbered_lines import numbered
from bobstay.tools.files.tool_path import ToolPath, status_of

_HEAD = 20


class Present(Struct, frozen=True):
    """A file as it is on the disk now, which is also as the model knows it."""

    hash: str
    content: Content


def load(place: ToolPath, context: Context, snippet: Callable[[str], str] | None = None) -> Present:
    """Read an existing file that is about to be changed. `snippet` picks what to show of it if it is stale.

    Raises:
        ToolError: the model never read it, it changed since, or it cannot be read.
    """
    known = require_known(place, context)
    require_writable(place, status_of(place))
    raw = read_whole(place)
    if (found := digest(raw)) != known:
        raise stale(place, raw, snippet)
    return Present(found, decode(raw))


def require_known(place: ToolPath, context: Context) -> str:
    """The hash under which the model knows an existing file.

    Raises:
        ToolError: it never saw the file.
    """
    known = context.files.known(place.real)
    if known is None:
        raise ToolError(
            f"{place.path} exists but has not been read in this session. Read it first, then change it. "
            "Nothing was written."
        )
    return known


def store(place: ToolPath, data: bytes, expected: str | None, snippet: Callable[[str], str] | None = None) -> str:
    """Write `data` if the file still has the hash `expected` (None: is still missing); return the new hash.

    Raises:
        ToolError: it changed in the meantime, or the system refused. The file is then untouched.
    """
    try:
        return put(place, data, expected)
    except ChangedMeanwhile:
        try:
            raw = read_whole(place)
        except ToolError:
            raise ToolError(
                f"{place.path} was removed or replaced while it was to be changed. Nothing was written. Look again."
            ) from None
        raise stale(place, raw, snippet) from None


def stale(place: ToolPath, raw: bytes | None, snippet: Callable[[str], str] | None = None) -> ToolError:
    """The error for a file that is no longer as the model saw it, with a look at what it is now."""
    shown = ""
    if raw is not None:
        text = decode(raw).text
        shown = (snippet(text) if snippet else "") or _head(text)
    now = f" It now reads, in part:\n{shown}\n" if shown else " "
    return ToolError(
        f"{place.path} has changed since it was last read (by a person, a formatter or a command). "
        f"Nothing was written.{now}Read it again, then make the change to what it holds now."
    )


def encoded(content: Content, text: str, place: ToolPath) -> bytes:
    """`text` in the encoding of the file it shall go to.

    Raises:
        ToolError: that encoding lacks one of the characters.
    """
    try:
        return content.encode(text)
    except UnicodeEncodeError as error:
        raise ToolError(
            f"{place.path} is encoded in {content.encoding}, which has no {text[error.start]!r}. Nothing was written. "
            "Use other characters, or convert the file first (iconv in the shell)."
        ) from None


def require_text(text: str, name: str) -> str:
    """`text`, if it can be written to a file at all.

    Raises:
        ToolError: it holds half a surrogate pair.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolError(f"{name} holds half of a surrogate pair, which is no character. Send it whole.") from None
    return text


def links_note(status: os.stat_result | None) -> str:
    """A word about other names of a replaced file, which keep the old content."""
    if status is None or status.st_nlink < 2:
        return ""
    return f" Note: the file had {status.st_nlink} hard links; its other names still hold the old content."


def may_look(place: ToolPath, context: Context) -> bool:
    """Whether the file may be looked at before permission is given: what the model knows, or may see anyway."""
    if context.files.known(place.real) is not None:
        return True
    roots = [os.path.realpath(directory).rstrip("/") for directory in context.directories]
    return any(place.real.startswith(f"{root}/") for root in roots)


def _head(text: str) -> str:
    lines = with_plain_newlines(visible(text[:8192])).split("\n")
    return numbered(lines[:_HEAD], 1)
