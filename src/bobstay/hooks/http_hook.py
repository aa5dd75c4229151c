"""Sends an event to the address of an HTTP hook and reads the answer."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from bobstay.hooks.hook_settings import HttpHook

Post: TypeAlias = Callable[[str, dict[str, str], bytes], Awaitable[tuple[int, bytes]]]
"""Sends a body to an address; gives status and body of the answer. Raises `OSError` if there is none."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class NoAnswerError(Exception):
    """The address gave no answer that counts; the text says why."""


async def ask(hook: HttpHook, given: bytes, post: Post, variables: Mapping[str, str]) -> bytes:
    """Return the body of an answer with a status of success.

    Raises:
        TimeoutError: it took longer than the hook may.
        NoAnswerError: no connection, or another status.
    """
    headers = {"content-type": "application/json"}
    for name, value in hook.headers.items():
        headers[name.lower()] = filled(value, hook.variables, variables)
    try:
        async with asyncio.timeout(hook.timeout):
            status, body = await post(hook.url, headers, given)
    except OSError as error:
        if isinstance(error, TimeoutError):
            raise
        raise NoAnswerError(str(error)) from error
    if not 200 <= status < 300:
        raise NoAnswerError(f"{hook.url[:200]} answered with status {status}")
    return body


def filled(text: str, allowed: frozenset[str], variables: Mapping[str, str]) -> str:
    """Put in the variables that may go out; all others become empty."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return variables.get(name, "") if name in allowed else ""

    return _VARIABLE.sub(value, text)
