"""Parses how long a server asks to wait before a retry, from headers, error details or the message."""

import re
import time
from typing import Any

MAX_WAIT = 86_400.0
"""Seconds; longer waits are capped."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_IN_MESSAGE = re.compile(r"(?:try again|retry) in ((?:\d+(?:\.\d+)?(?:ms|h|m|s)\s*)+)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_retry_after(headers: dict[str, str], content: Any, message: str) -> float | None:
    """Return the seconds to wait, or None if the server gives none. The most explicit source wins."""
    found = _parse_headers(headers)
    if found is None:
        found = _parse_details(content)
    if found is None and (match := _IN_MESSAGE.search(message)):
        found = parse_duration(match[1])
    if found is None:
        found = _parse_budgets(headers)
    return None if found is None else min(max(found, 0.0), MAX_WAIT)


def parse_duration(text: str) -> float | None:
    """Parse durations such as `20ms`, `6m0s` and `1.5s`."""
    parts = _DURATION.findall(text)
    if not parts:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _parse_headers(headers: dict[str, str]) -> float | None:
    milliseconds = _parse_number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "").strip()
    seconds = _parse_number(text)
    if seconds is not None or not text:
        return seconds
    until = _parse_date(text)
    if until is None:
        return None
    # Relative to the server's clock if it is given: ours may be wrong.
    now = _parse_date(headers.get("date", ""))
    return until - (time.time() if now is None else now)


def _parse_details(content: Any) -> float | None:
    """Read Google's RetryInfo, or the reset time that OpenRouter forwards."""
    error = content.get("error") if isinstance(content, dict) else None
    if not isinstance(error, dict):
        return None
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(detail.get("retryDelay"), str):
            return parse_duration(detail["retryDelay"])
    metadata = error.get("metadata")
    forwarded = metadata.get("headers") if isinstance(metadata, dict) else None
    reset = forwarded.get("X-RateLimit-Reset") if isinstance(forwarded, dict) else None
    milliseconds = _parse_number(str(reset)) if reset is not None else None
    return None if milliseconds is None else milliseconds / 1000 - time.time()


def _parse_budgets(headers: dict[str, str]) -> float | None:
    """Read OpenAI's reset time of each budget; those that are used up have to be waited for."""
    waits = [
        wait
        for budget in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{budget}", "0").strip() == "0"
        and (wait := parse_duration(headers.get(f"x-ratelimit-reset-{budget}", ""))) is not None
    ]
    return max(waits, default=None)


def _parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _parse_date(text: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
