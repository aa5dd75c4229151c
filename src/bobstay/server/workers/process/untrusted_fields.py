"""Reads fields of untrusted JSON objects: a value of the wrong type counts as empty."""

from typing import Any

MOST = 2**53


def text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def count(data: dict[str, Any], key: str) -> int:
    """A non-negative integer, or zero."""
    value = data.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST else 0


def amount(data: dict[str, Any], *keys: str) -> float:
    """The first of these that is a non-negative number, or zero."""
    for key in keys:
        value = data.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST:
            return float(value)
    return 0.0


def record(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    return value if isinstance(value, dict) else {}
