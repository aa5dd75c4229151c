"""Says why a connection or a call failed, in one sentence."""

import asyncio
from typing import Any

from bobstay.mcp.clean_text import clean_line

_MAX_LENGTH = 600


def describe_failure(error: BaseException) -> str:
    """Describe an error by its innermost cause; groups of errors by their first one."""
    found = innermost(error)
    if isinstance(found, TimeoutError | asyncio.TimeoutError):
        return "it took too long"
    if isinstance(found, OSError) and found.strerror:
        return clean_line(f"{found.strerror}: {found.filename}" if found.filename else found.strerror, _MAX_LENGTH)
    if type(found).__name__ == "ValidationError":
        return f"it sent an answer that is not valid ({_first_problem(found)})"
    return clean_line(str(found) or type(found).__name__, _MAX_LENGTH)


def innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def is_authentication_failure(error: BaseException) -> bool:
    """Whether authentication failed, such as by a token that cannot be refreshed.

    That is an error of the SDK's own authentication, or one with the attribute `needs_authentication`.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(is_authentication_failure(each) for each in error.exceptions)
    is_of_sdk = any(kind.__module__.startswith("mcp.client.auth") for kind in type(error).__mro__)
    return is_of_sdk or getattr(error, "needs_authentication", False) is True


def _first_problem(error: BaseException) -> str:
    errors = getattr(error, "errors", None)
    details: Any = errors(include_url=False, include_input=False, include_context=False) if callable(errors) else []
    if not details:
        return clean_line(str(error), 200)
    where = ".".join(str(step) for step in details[0].get("loc", ()))
    return clean_line(f"{where}: {details[0].get('msg', '')}", 200)
