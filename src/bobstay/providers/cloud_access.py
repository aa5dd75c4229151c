"""Access to models in a cloud: what adds the credentials to requests, and renews those that were refused."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from importlib.util import find_spec
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from bobstay.providers.base import Chunk, ProviderError, Request

P = ParamSpec("P")
R = TypeVar("R")


class CloudVariables(Protocol):
    """What the provider registry knows from variables and settings."""

    @property
    def values(self) -> Mapping[str, str]: ...
    @property
    def headers(self) -> Mapping[str, str]:
        """For Anthropic, or the gateway in its place."""
        ...

    @property
    def added(self) -> Mapping[str, Mapping[str, str]]:
        """Headers that the settings add, by provider."""
        ...

    @property
    def learn_secrets(self) -> Callable[[Mapping[str, str]], None] | None: ...

    def get(self, *names: str) -> str:
        """Return the first of these that is set."""
        ...


class CloudAccess(Protocol):
    async def headers(self, url: str, body: bytes) -> dict[str, str]:
        """Return the headers that authorise a request. Never blocks the event loop.

        Raises:
            ProviderError: There are no credentials. The text says what to do.
        """
        ...

    def forget(self) -> bool:
        """Forget what was refused, so that it is looked up again; returns whether that may help."""
        ...


class FixedAccess:
    """The same headers for every request: a token that a person set, or none for a gateway that adds its own."""

    def __init__(self, headers: dict[str, str]) -> None:
        self._headers = headers

    async def headers(self, url: str, body: bytes) -> dict[str, str]:
        return self._headers

    def forget(self) -> bool:
        return False


class LearnedSecrets:
    """Tells the redactor about each credential once, under a name of its own: earlier ones stay secret."""

    def __init__(self, learn: Callable[[Mapping[str, str]], None] | None) -> None:
        self._learn = learn
        self._known: set[str] = set()

    def add(self, name: str, value: str) -> None:
        if self._learn is None or not value or value in self._known:
            return
        self._known.add(value)
        self._learn({f"{name} {len(self._known)}": value})


async def run_apart(function: Callable[P, R], *arguments: P.args, **named: P.kwargs) -> R:
    """Run what blocks in a thread of its own.

    Not in one of the loop's: a program that waits for a person to sign in would keep this one from ending.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[R] = loop.create_future()

    def settle(result: R | None, error: BaseException | None) -> None:
        if done.done():
            return  # nobody waits any more
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(cast("R", result))

    def run() -> None:
        result, failure = None, None
        try:
            result = function(*arguments, **named)
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name="credentials", daemon=True).start()
    return await done


class MissingExtra(ValueError):  # noqa: N818 - the name says what happened
    """A provider needs a package that is not installed. The text has the command that installs it."""


def require_package(module: str, package: str, extra: str, what: str) -> None:
    """Check that a package is there, without importing it.

    Raises:
        MissingExtra
    """
    try:
        found = find_spec(module)
    except ModuleNotFoundError:  # not even its parent is there
        found = None
    if found is None:
        raise MissingExtra(
            f"{what} needs the package {package}, which is not installed. "
            f"Install it with: pip install 'bobstay[{extra}]'"
        )


async def stream_renewing(
    open_stream: Callable[[Request], AsyncIterator[Chunk]], request: Request, access: CloudAccess
) -> AsyncIterator[Chunk]:
    """Stream an answer; if the credentials are refused before it begins, once more with new ones.

    They may have been renewed elsewhere meanwhile, as by `aws sso login` in another terminal.
    """
    begun = False
    try:
        async with aclosing(cast("Any", open_stream(request))) as chunks:
            async for chunk in chunks:
                begun = True
                yield chunk
    except ProviderError as error:
        if error.kind != "authentication" or begun or not access.forget():
            raise
    else:
        return
    async with aclosing(cast("Any", open_stream(request))) as chunks:
        async for chunk in chunks:
            yield chunk
