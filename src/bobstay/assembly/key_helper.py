"""API key helper: runs the user's command that prints a key for Anthropic, and caches the key."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any, cast

from bobstay.hooks.command_hook import run_command, shell
from bobstay.providers.base import Chunk, Provider, ProviderError, Request
from bobstay.redaction.redactor import Redactor

TTL = 300.0
"""Seconds a key is cached, unless CLAUDE_CODE_API_KEY_HELPER_TTL_MS is set."""
TIMEOUT = 30.0
"""Seconds the command may take."""
MAX_KEY_LENGTH = 20_000
SETTING = "apiKeyHelper"


class KeyHelper:
    def __init__(self, command: str, redactor: Redactor, *, cwd: str, environment: Mapping[str, str]) -> None:
        """`environment` is the user's own, including secrets: the command is theirs and may need them.

        `redactor` redacts each key it prints, under a name of its own.
        """
        self._redactor = redactor
        self._command = command
        self._cwd = cwd
        self._environment = environment
        ttl = environment.get("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "")
        self._ttl = int(ttl) / 1000 if ttl.isascii() and ttl.isdigit() else TTL
        self._key = ""
        self._fetched_at = 0.0
        self._count = 0
        self._lock = asyncio.Lock()

    async def key(self, refused: str = "") -> str:
        """Return the key to use now. If the cached key is `refused`, a new one is fetched.

        Raises:
            ProviderError: the command failed.
        """
        async with self._lock:
            if not self._key or self._key == refused or time.monotonic() - self._fetched_at >= self._ttl:
                self._key = await self._fetch()
                self._fetched_at = time.monotonic()
                self._count += 1
                self._redactor.add_secrets({f"{SETTING} {self._count}": self._key})
            return self._key

    async def _fetch(self) -> str:
        try:
            ran = await run_command(
                shell(self._command), b"", cwd=self._cwd, environment=self._environment, limit=TIMEOUT, mark=SETTING
            )
        except OSError as error:
            raise _helper_error(f"could not be started ({error.strerror})") from error
        if ran.code is None:
            raise _helper_error(f"took longer than {TIMEOUT:g} s")
        key = ran.stdout.strip()
        if ran.code != 0:
            raise _helper_error(f"ended with code {ran.code}: {' '.join(ran.stderr.split())[:300]}")
        if not key or len(key) > MAX_KEY_LENGTH or len(key.split()) != 1:
            raise _helper_error("did not print a key, alone on one line")
        return key


def _helper_error(what: str) -> ProviderError:
    return ProviderError(f"The command of {SETTING} in the settings {what}.", kind="authentication")


class KeyHelperProvider:
    """A provider whose key comes from a helper. After a refused key, a new one is fetched once."""

    def __init__(self, name: str, helper: KeyHelper, make: Callable[[str], Provider]) -> None:
        self.name = name
        self._helper = helper
        self._make = make
        self._made: tuple[str, Provider] | None = None

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        refused = ""
        while True:
            key = await self._helper.key(refused)
            begun = False
            try:
                async with aclosing(cast("Any", self._provider_with(key).stream(request))) as chunks:
                    async for chunk in chunks:
                        begun = True
                        yield chunk
            except ProviderError as error:
                if error.kind != "authentication" or begun or refused:
                    raise
                refused = key
            else:
                return

    async def close(self) -> None:
        if self._made is not None:
            await self._made[1].close()

    def _provider_with(self, key: str) -> Provider:
        if self._made is None or self._made[0] != key:
            self._made = (key, self._make(key))
        return self._made[1]
