"""A process tag that survives when a process clears its environment, changes its session and closes its pipes.

It is a soft limit on the resident set: Linux has ignored that limit since version 2.4.30, passes it on to every child,
and shows it in /proc. A program would have to change it on purpose. The number is computed from the parts of the mark
in the environment, so that either identifies the owner: eight digits for the process that started it, six for the
session, three for the call.
"""

import os
import sys
import zlib
from collections.abc import Generator
from contextlib import contextmanager

FIRST = "4"
"""First digit of all tags: far above any real memory size, and below what the system takes for unlimited."""
_WIDTHS = (8, 6, 3)
_FIELD = b"Max resident set"


def tag_of(mark: str) -> str:
    """Return the digits for a mark of the form `process:session:call`; fewer if parts are missing; "" for no mark."""
    parts = mark.rpartition("/")[2].split(":") if mark else []
    digits = [f"{zlib.crc32(part.encode()) % 10**width:0{width}d}" for part, width in zip(parts, _WIDTHS, strict=False)]
    return FIRST + "".join(digits) if digits else ""


@contextmanager
def tag_children(mark: str) -> Generator[None, None, None]:
    """Give the tag of `mark` to every process started within this block. Does nothing on other systems than Linux."""
    tag = tag_of(mark)
    if len(tag) != 1 + sum(_WIDTHS) or not sys.platform.startswith("linux"):
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_RSS)
    try:
        resource.setrlimit(resource.RLIMIT_RSS, (int(tag), hard))
    except (ValueError, OSError):
        yield  # the limit cannot be changed here: processes are then found by the other ways
        return
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_RSS, (soft, hard))


def read_tag(pid: int) -> str:
    """Return the tag of a process, or ""."""
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


def has_tag(pid: int, mark: str) -> bool:
    """Whether a process has the tag of `mark`, or of one of its calls if `mark` names only the process."""
    tag = tag_of(mark)
    return bool(tag) and read_tag(pid).startswith(tag)
