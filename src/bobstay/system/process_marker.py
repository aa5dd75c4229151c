"""A mark that a process keeps when it clears its environment, changes its session and gives up its pipes.

It is a soft limit on the resident set: Linux has ignored that limit since version 2.4.30, passes it on to every child,
and shows it in /proc. A program would have to change it on purpose. The number is made of the parts of the mark in the
environment, so that it can be told from either whose a process is: eight digits for the process that started it, six
for the session, three for the call.
"""

import os
import sys
import zlib
from collections.abc import Generator
from contextlib import contextmanager

FIRST = "4"
"""All tags begin so: far above any memory there is, and below what the system takes for unlimited."""
_WIDTHS = (8, 6, 3)
_FIELD = b"Max resident set"


def tag_of(mark: str) -> str:
    """The digits for a mark of the form `process:session:call`; fewer for one with fewer parts; "" for none."""
    parts = mark.rpartition("/")[2].split(":") if mark else []
    digits = [f"{zlib.crc32(part.encode()) % 10**width:0{width}d}" for part, width in zip(parts, _WIDTHS, strict=False)]
    return FIRST + "".join(digits) if digits else ""


@contextmanager
def worn(mark: str) -> Generator[None, None, None]:
    """What is started within this wears the tag of `mark`. Does nothing but on Linux."""
    tag = tag_of(mark)
    if len(tag) != 1 + sum(_WIDTHS) or not sys.platform.startswith("linux"):
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_RSS)
    try:
        resource.setrlimit(resource.RLIMIT_RSS, (int(tag), hard))
    except (ValueError, OSError):
        yield  # somebody limits this limit: then there are the other ways to know a process
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_RSS, (soft, hard))


def tag_worn_by(pid: int) -> str:
    """The tag of a process, or ""."""
    try:
        handle = os.open(f"/proc/{pid}/limits", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        text = os.read(handle, 4096)
    except OSError:
        return ""
    finally:
        os.close(handle)
    value = text.partition(_FIELD)[2].split(None, 1)[:1]
    found = value[0].decode(errors="replace") if value else ""
    return found if len(found) == 1 + sum(_WIDTHS) and found.isdigit() and found.startswith(FIRST) else ""


def wears(pid: int, mark: str) -> bool:
    """Whether a process wears the tag of `mark`, or of one of its calls if `mark` names only the process."""
    tag = tag_of(mark)
    return bool(tag) and tag_worn_by(pid).startswith(tag)
