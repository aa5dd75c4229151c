"""Short paths for Unix sockets in deep folders: the system accepts only about a hundred bytes."""

import os
from collections.abc import Generator
from contextlib import contextmanager

LONGEST = 100


@contextmanager
def short_path(path: str) -> Generator[str, None, None]:
    """Provide a short alias of `path` while the block runs; `path` itself if none is needed or possible."""
    if len(os.fsencode(path)) <= LONGEST or not os.path.isdir("/proc/self/fd"):
        yield path
        return
    folder, name = os.path.split(path)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{name}"
    finally:
        os.close(handle)
