"""Runs one HTTP hook: sends the event to its URL and reads the answer."""

import asyncio
import re
from collections.abc import Mapping

from bobstay.hooks.event_fields import fill_variables
from bobstay.hooks.hook_ports import NoAnswerError
from bobstay.hooks.hook_settings import HttpHook
from bobstay.http.client import HttpClient
from bobstay.http.http_error import HttpError
from bobstay.http.network import Network

_LIMIT = 1 << 20
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


async def post_hook(hook: HttpHook, payload: bytes, network: Network, variables: Mapping[str, str]) -> bytes:
    """Return the body of an answer with a success status.

    Raises:
        TimeoutError: it took longer than the hook's timeout.
        NoAnswerError: no connection, or another status.
    """
    headers = {"content-type": "application/json"}
    for name, value in hook.headers.items():
        headers[name.lower()] = substitute_variables(value, hook.header_variables, variables)
    try:
        # Not the session's client, which may be closed when the last hook is called.
        async with asyncio.timeout(hook.timeout), HttpClient(network) as client:
            reply = await client.post(fill_variables(hook.url, hook.variables), headers, payload)
            body = await reply.read(_LIMIT)
    except HttpError as error:
        raise NoAnswerError(str(error)) from error
    if not 200 <= reply.status < 300:
        raise NoAnswerError(f"{hook.url[:200]} answered with status {reply.status}")
    return body


def substitute_variables(text: str, allowed: frozenset[str], variables: Mapping[str, str]) -> str:
    """Replace the allowed variables with their values; all others become empty."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return variables.get(name, "") if name in allowed else ""

    return _VARIABLE.sub(value, text)
