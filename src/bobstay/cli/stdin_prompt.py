"""Reads the prompt of print mode from the command line, a pipe, or both."""

import os
import select
import stat
import sys

from bobstay.cli.flag_parser import UsageError

FIRST_BYTE_TIMEOUT = 3.0
"""Seconds to wait for the first byte of a pipe if there is a prompt already: nothing may ever be written to it."""
LIMIT = 10 * 1024 * 1024


def read_prompt(argument: str | None, descriptor: int = 0) -> str:
    """Return the prompt.

    Raises:
        UsageError: there is none, or it is too long.
    """
    from_pipe = (
        "" if _is_terminal(descriptor) else _read_pipe(descriptor, wait=FIRST_BYTE_TIMEOUT if argument else None)
    )
    prompt = "\n".join(part for part in (argument or "", from_pipe) if part.strip())
    if not prompt:
        raise UsageError(
            "Error: Input must be provided either through stdin or as a prompt argument when using --print"
        )
    return prompt


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor) or stat.S_ISDIR(os.fstat(descriptor).st_mode)
    except OSError:
        # A closed descriptor provides no input.
        return True


def _read_pipe(descriptor: int, wait: float | None) -> str:
    ready, _, _ = select.select([descriptor], [], [], wait)
    if not ready:
        sys.stderr.write(
            f"Warning: nothing came on stdin within {FIRST_BYTE_TIMEOUT:g} s; continuing without it. "
            "If nothing will come, use: < /dev/null\n"
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
