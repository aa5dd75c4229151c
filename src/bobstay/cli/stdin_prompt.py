"""The prompt of print mode: from the command line, from a pipe, or from both."""

import os
import select
import stat
import sys

from bobstay.cli.flag_parser import UsageError

PATIENCE = 3.0
"""Seconds to wait for the first byte of a pipe when there is a prompt already: nobody may ever write to it."""
LIMIT = 10 * 1024 * 1024


def prompt_from(argument: str | None, descriptor: int = 0) -> str:
    """Return what to work on.

    Raises:
        UsageError: there is nothing, or too much.
    """
    piped = "" if _is_terminal(descriptor) else _piped(descriptor, wait=PATIENCE if argument else None)
    prompt = "\n".join(part for part in (argument or "", piped) if part.strip())
    if not prompt:
        raise UsageError(
            "Error: Input must be provided either through stdin or as a prompt argument when using --print"
        )
    return prompt


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor) or stat.S_ISDIR(os.fstat(descriptor).st_mode)
    except OSError:
        # Closed: as good as nobody there.
        return True


def _piped(descriptor: int, wait: float | None) -> str:
    ready, _, _ = select.select([descriptor], [], [], wait)
    if not ready:
        sys.stderr.write(
            f"Warning: nothing came on stdin within {PATIENCE:g} s; going on without it. "
            "To say that nothing will come, use: < /dev/null\n"
        )
        return ""
    pieces: list[bytes] = []
    size = 0
    while piece := _read(descriptor):
        size += len(piece)
        if size > LIMIT:
            raise UsageError(
                f"Error: more than {LIMIT // 1024 // 1024} MB came on stdin. Save it as a file and name that."
            )
        pieces.append(piece)
    return b"".join(pieces).decode(errors="replace").strip("\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError as error:
        raise UsageError(f"Error: stdin cannot be read: {error.strerror}") from error
