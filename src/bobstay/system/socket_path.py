"""Names of sockets in the file system, however deep their folder lies: the system takes only about a hundred bytes."""

import os
from collections.abc import Generator
from contextlib import contextmanager

LONGEST = 100


@contextmanager
def short_path(path: str) -> Generator[str, None, None]:
    """Another name of `path` that is short enough, good while the block runs; `path` itself where there is none."""
    if len(os.fsencode(path)) <= LONGEST or not os.path.isdir("/proc/self/fd"):
        yield path
        return
    folder, name = os.path.split(path)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{name}"
    finally:
        os.close(handle)
