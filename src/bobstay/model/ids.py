"""Identifiers and timestamps, made without `uuid` and `datetime`, which are slow to import."""

import os
import time


def new_id() -> str:
    """Return a random (version 4) UUID in its usual form."""
    return uuid_of(os.urandom(16))


def uuid_of(data: bytes) -> str:
    """Return 16 bytes in the form of a version 4 UUID."""
    raw = bytearray(data)
    raw[6] = (raw[6] & 0x0F) | 0x40
    raw[8] = (raw[8] & 0x3F) | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_uuid(text: str) -> bool:
    """Tell whether `text` has the shape of a UUID: hexadecimal digits in groups of 8-4-4-4-12."""
    groups = text.split("-")
    if [len(group) for group in groups] != [8, 4, 4, 4, 12]:
        return False
    return all(digit in "0123456789abcdefABCDEF" for digit in "".join(groups))


def timestamp(seconds: float | None = None) -> str:
    """Return a moment (now, unless given) as ISO 8601 in UTC with milliseconds."""
    moment = time.time() if seconds is None else seconds
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))
    return f"{whole}.{int(moment * 1000) % 1000:03d}Z"
