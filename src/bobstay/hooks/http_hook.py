"""Runs one HTTP hook: sends the event to its URL and reads the answer."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from bobstay.hooks.hook_settings import HttpHook

HttpPost: TypeAlias = Callable[[str, dict[str, str], bytes], Awaitable[tuple[int, bytes]]]
"""Posts a body to a URL; returns status and body of the answer. Raises `OSError` if there is none."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class NoAnswerError(Exception):
    """There was no valid answer; the text says why."""


async def post_hook(hook: HttpHook, payload: bytes, post: HttpPost, variables: Mapping[str, str]) -> bytes:
    """Return the body of an answer with a success status.

    Raises:
        TimeoutError: it took longer than the hook's timeout.
        NoAnswerError: no connection, or another status.
    """
    headers = {"content-type": "application/json"}
    for name, value in hook.headers.items():
        headers[name.lower()] = substitute_variables(value, hook.variables, variables)
    try:
        async with asyncio.timeout(hook.timeout):
            status, body = await post(hook.url, headers, payload)
    except OSError as error:
        if isinstance(error, TimeoutError):
            raise
        raise NoAnswerError(str(error)) from error
    if not 200 <= status < 300:
        raise NoAnswerError(f"{hook.url[:200]} answered with status {status}")
    return body


def substitute_variables(text: str, allowed: frozenset[str], variables: Mapping[str, str]) -> str:
    """Replace the allowed variables with their values; all others become empty."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return variables.get(name, "") if name in allowed else ""

    return _VARIABLE.sub(value, text)
