"""Stores the directories that people added to the allowed roots, in the server's state."""

import os

import msgspec

NAME = "roots.json"


def read_roots(state: str) -> tuple[str, ...]:
    """The added directories; none if the file cannot be read."""
    try:
        with open(os.path.join(state, NAME), "rb") as file:
            return msgspec.json.decode(file.read(1 << 20), type=tuple[str, ...])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return ()


def write_roots(state: str, roots: tuple[str, ...]) -> None:
    """Raises `OSError`; the file is then unchanged."""
    temporary = os.path.join(state, f"{NAME}.{os.getpid()}.tmp")
    with open(temporary, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(msgspec.json.encode(roots))
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, os.path.join(state, NAME))
