"""Common steps of every file change: check that the model has read the file and that it has not changed since."""

import os
from collections.abc import Callable

from msgspec import Struct

from bobstay.tools.base import Context, ToolError
from bobstay.tools.files.atomic_write import ConcurrentChangeError, replace_file, require_writable
from bobstay.tools.files.file_content import Content, decode, digest, make_visible, with_plain_newlines
from bobstay.tools.files.file_reading import read_whole
from bobstay.tools.files.numbered_lines import number_snippet
from bobstay.tools.files.tool_path import ToolPath, stat_regular_file

_HEAD = 20


class KnownFile(Struct, frozen=True):
    """The current content of a file, which the model has read."""

    hash: str
    content: Content


def load_known(target: ToolPath, context: Context, snippet: Callable[[str], str] | None = None) -> KnownFile:
    """Read an existing file that is about to change. `snippet` selects what to show if it is stale.

    Raises:
        ToolError: the model has not read it, it changed since, or it cannot be read.
    """
    known = require_known(target, context)
    require_writable(target, stat_regular_file(target))
    raw = read_whole(target)
    if (found := digest(raw)) != known:
        raise stale_error(target, raw, snippet)
    return KnownFile(found, decode(raw))


def require_known(target: ToolPath, context: Context) -> str:
    """The hash of the content the model last saw of an existing file.

    Raises:
        ToolError: the model has not read the file.
    """
    known = context.files.known(target.real)
    if known is None:
        raise ToolError(
            f"{target.path} exists but has not been read in this session. Read it first, then change it. "
            "Nothing was written."
        )
    return known


def store_unchanged(
    target: ToolPath, data: bytes, expected: str | None, snippet: Callable[[str], str] | None = None
) -> str:
    """Write `data` if the file still has the hash `expected` (None: does not exist); return the new hash.

    Raises:
        ToolError: it changed in the meantime, or the system refused. The file is then unchanged.
    """
    try:
        return replace_file(target, data, expected)
    except ConcurrentChangeError:
        try:
            raw = read_whole(target)
        except ToolError:
            raise ToolError(
                f"{target.path} was removed or replaced while it was to be changed. Nothing was written. Look again."
            ) from None
        raise stale_error(target, raw, snippet) from None


def stale_error(target: ToolPath, raw: bytes | None, snippet: Callable[[str], str] | None = None) -> ToolError:
    """The error for a file that changed since the model read it, with an excerpt of its current content."""
    shown = ""
    if raw is not None:
        text = decode(raw).text
        shown = (snippet(text) if snippet else "") or _head(text)
    now = f" It now reads, in part:\n{shown}\n" if shown else " "
    return ToolError(
        f"{target.path} has changed since it was last read (by a person, a formatter or a command). "
        f"Nothing was written.{now}Read it again, then make the change to what it contains now."
    )


def encode_for(content: Content, text: str, target: ToolPath) -> bytes:
    """Encode `text` in the encoding of the file.

    Raises:
        ToolError: that encoding lacks one of the characters.
    """
    try:
        return content.encode(text)
    except UnicodeEncodeError as error:
        raise ToolError(
            f"{target.path} is encoded in {content.encoding}, which has no {text[error.start]!r}. Nothing was written. "
            "Use other characters, or convert the file first (iconv in the shell)."
        ) from None


def require_text(text: str, name: str) -> str:
    """Return `text` if it can be encoded.

    Raises:
        ToolError: it contains a lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ToolError(f"{name} contains half of a surrogate pair, which is not a character. Send it whole.") from None
    return text


def describe_hard_links(status: os.stat_result | None) -> str:
    """A note that other hard links of a replaced file keep the old content, or ""."""
    if status is None or status.st_nlink < 2:
        return ""
    return f" Note: the file had {status.st_nlink} hard links; its other names still hold the old content."


def can_inspect(target: ToolPath, context: Context) -> bool:
    """Whether the file may be inspected before approval: the model has read it, or it is in a working directory."""
    if context.files.known(target.real) is not None:
        return True
    roots = [os.path.realpath(directory).rstrip("/") for directory in context.directories]
    return any(target.real.startswith(f"{root}/") for root in roots)


def _head(text: str) -> str:
    lines = with_plain_newlines(make_visible(text[:8192])).split("\n")
    return number_snippet(lines[:_HEAD], 1)
