"""Finds how long a server asked us to wait, in any of the places servers put it."""

import re
import time
from typing import Any

LONGEST = 86_400.0
"""Seconds; whoever asks for more is not taken at their word."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SAID = re.compile(r"(?:try again|retry) in ((?:\d+(?:\.\d+)?(?:ms|h|m|s)\s*)+)", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def retry_after(headers: dict[str, str], content: Any, message: str) -> float | None:
    """Seconds to wait, or None where nothing was said. The plainest statement counts."""
    found = _from_headers(headers)
    if found is None:
        found = _from_details(content)
    if found is None and (said := _SAID.search(message)):
        found = duration(said[1])
    if found is None:
        found = _from_budgets(headers)
    return None if found is None else min(max(found, 0.0), LONGEST)


def duration(text: str) -> float | None:
    """Read such texts as `20ms`, `6m0s` and `1.5s`."""
    parts = _DURATION.findall(text)
    if not parts:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def _from_headers(headers: dict[str, str]) -> float | None:
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "").strip()
    seconds = _number(text)
    if seconds is not None or not text:
        return seconds
    until = _moment(text)
    if until is None:
        return None
    # The server's own clock, where it tells it: ours may be wrong.
    now = _moment(headers.get("date", ""))
    return until - (time.time() if now is None else now)


def _from_details(content: Any) -> float | None:
    """Google's RetryInfo, and the reset time OpenRouter passes on."""
    error = content.get("error") if isinstance(content, dict) else None
    if not isinstance(error, dict):
        return None
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and isinstance(detail.get("retryDelay"), str):
            return duration(detail["retryDelay"])
    metadata = error.get("metadata")
    passed_on = metadata.get("headers") if isinstance(metadata, dict) else None
    reset = passed_on.get("X-RateLimit-Reset") if isinstance(passed_on, dict) else None
    milliseconds = _number(str(reset)) if reset is not None else None
    return None if milliseconds is None else milliseconds / 1000 - time.time()


def _from_budgets(headers: dict[str, str]) -> float | None:
    """OpenAI tells of each budget when it is full again; the ones used up are those to wait for."""
    waits = [
        wait
        for budget in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{budget}", "0").strip() == "0"
        and (wait := duration(headers.get(f"x-ratelimit-reset-{budget}", ""))) is not None
    ]
    return max(waits, default=None)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _moment(text: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
