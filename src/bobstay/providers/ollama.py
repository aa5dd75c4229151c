"""Speaks to Ollama: Chat Completions, and a look at the context window it has given the model.

Ollama cuts a prompt that is too long from the front without a word, and its Chat Completions cannot be told the
window to use. So the window is asked for once, while the first answer comes, and what cannot fit is not sent.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.event import MessageDone, Noted
from bobstay.model.live_events import MessageBegan
from bobstay.model.message import Image, ToolReply
from bobstay.providers.base import SMALL_WINDOW, Chunk, ProviderError, Request
from bobstay.providers.chat_completions import Chat
from bobstay.providers.http_client import HttpClient

_DEFAULT_WINDOW = 4_096
"""What Ollama gives a model where nothing says otherwise and its machine is small."""
_SECONDS = 3.0
_LIMIT = 1024 * 1024
_BYTES_PER_TOKEN = 6
"""More than any text has on average, so that only what certainly does not fit is held back."""


class _Loaded(Struct):
    name: str = ""
    model: str = ""
    context_length: int | None = None


class _Running(Struct):
    models: list[_Loaded] | None = None


class _Shown(Struct):
    parameters: str | None = None


class Ollama(Chat):
    def __init__(
        self, http: HttpClient, *, base_url: str, api_key: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(http, base_url=base_url, api_key=api_key, headers=headers, name="ollama")
        self._root = base_url.rstrip("/").removesuffix("/v1")
        self._windows: dict[str, int] = {}
        """Tokens by model; 0 where it could not be found out."""

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        self._check_size(request)
        looking: asyncio.Task[int] | None = None
        try:
            async with aclosing(super().stream(request)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, MessageBegan) and request.model not in self._windows:
                        # The model is loaded by now, so that Ollama knows the window, and nobody waits for the answer.
                        looking = asyncio.create_task(self._window(request.model))
                    if isinstance(chunk, MessageDone) and looking is not None:
                        window = self._windows[request.model] = await looking
                        if 0 < window < SMALL_WINDOW:
                            yield Noted(_too_small(request.model, window), "warning")
                    yield chunk
        finally:
            if looking is not None:
                looking.cancel()

    def _check_size(self, request: Request) -> None:
        window = self._windows.get(request.model, 0)
        tokens = (len(self.body(request)) - _image_bytes(request)) // _BYTES_PER_TOKEN if window else 0
        if tokens > window:
            raise ProviderError(
                f"The prompt has at least {tokens:,} tokens and would be cut. {_too_small(request.model, window)}",
                kind="prompt_too_long",
            )

    async def _window(self, model: str) -> int:
        """The window of a model that is loaded; 0 if Ollama does not say."""
        try:
            async with asyncio.timeout(_SECONDS):
                running = msgspec.json.decode(await self._get("/api/ps"), type=_Running)
                loaded = next((each for each in running.models or () if _is(each, model)), None)
                if loaded is None:
                    return 0
                # Older versions do not tell; then what the model's own file says counts.
                return loaded.context_length or await self._configured(model) or _DEFAULT_WINDOW
        except (TimeoutError, ProviderError, msgspec.DecodeError, RecursionError, UnicodeError):
            return 0

    async def _configured(self, model: str) -> int:
        body = msgspec.json.encode({"model": model})
        reply = await self._http.post(f"{self._root}/api/show", self._headers, body)
        shown = msgspec.json.decode(await reply.read(_LIMIT), type=_Shown)
        for line in (shown.parameters or "").splitlines():
            name, _, value = line.strip().partition(" ")
            if name == "num_ctx" and value.strip().isdecimal():
                return int(value)
        return 0

    async def _get(self, path: str) -> bytes:
        headers: dict[str, Any] = {key: value for key, value in self._headers.items() if key != "content-type"}
        reply = await self._http.get(self._root + path, headers)
        return await reply.read(_LIMIT)


def _image_bytes(request: Request) -> int:
    """What images take in the body: their size says nothing about how many tokens they are."""
    total = 0
    for message in request.messages:
        for block in message.blocks:
            parts = block.content if isinstance(block, ToolReply) else (block,)
            total += sum(len(part.data) for part in parts if isinstance(part, Image))
    return total


def _is(loaded: _Loaded, model: str) -> bool:
    return bool({loaded.name, loaded.model} & {model, f"{model}:latest"})


def _too_small(model: str, window: int) -> str:
    return (
        f"Ollama runs {model} with a context window of {window:,} tokens and forgets the beginning of what is longer. "
        "Start it with OLLAMA_CONTEXT_LENGTH=32768 ollama serve (or more, as your memory allows), "
        "or set num_ctx in the model's Modelfile."
    )
