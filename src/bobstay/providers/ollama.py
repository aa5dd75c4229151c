"""Adapter for Ollama: Chat Completions, with a check of the model's context window.

Ollama silently drops the beginning of a prompt that is too long, and its Chat Completions API cannot set the window.
So the window is queried once, during the first answer, and prompts that cannot fit are not sent.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec
from msgspec import Struct

from bobstay.http.client import HttpClient
from bobstay.http.http_error import HttpError
from bobstay.model.event import MessageDone, Noted
from bobstay.model.live_events import MessageBegan
from bobstay.model.message import Image, ToolReply
from bobstay.providers.base import SMALL_WINDOW, Chunk, ProviderError, Request
from bobstay.providers.chat_completions import Chat

_DEFAULT_WINDOW = 4_096
"""Ollama's default window on a small machine."""
_TIMEOUT = 3.0
_MAX_SIZE = 1024 * 1024
_BYTES_PER_TOKEN = 6
"""More than any text has on average, so that only prompts that certainly do not fit are refused."""


class _LoadedModel(Struct):
    name: str = ""
    model: str = ""
    context_length: int | None = None


class _RunningModels(Struct):
    models: list[_LoadedModel] | None = None


class _ModelDetails(Struct):
    parameters: str | None = None


class Ollama(Chat):
    def __init__(
        self, http: HttpClient, *, base_url: str, api_key: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(http, base_url=base_url, api_key=api_key, headers=headers, name="ollama")
        self._root = base_url.rstrip("/").removesuffix("/v1")
        self._windows: dict[str, int] = {}
        """Tokens by model; 0 if unknown."""

    async def stream(self, request: Request) -> AsyncGenerator[Chunk, None]:
        self._check_size(request)
        query: asyncio.Task[int] | None = None
        try:
            async with aclosing(super().stream(request)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, MessageBegan) and request.model not in self._windows:
                        # The model is loaded by now, so Ollama knows the window, and the query delays nothing.
                        query = asyncio.create_task(self._find_window(request.model))
                    if isinstance(chunk, MessageDone) and query is not None:
                        window = self._windows[request.model] = await query
                        if 0 < window < SMALL_WINDOW:
                            yield Noted(_small_window_message(request.model, window), "warning")
                    yield chunk
        finally:
            if query is not None:
                query.cancel()

    def _check_size(self, request: Request) -> None:
        window = self._windows.get(request.model, 0)
        tokens = (len(self.body(request)) - _image_bytes(request)) // _BYTES_PER_TOKEN if window else 0
        if tokens > window:
            why = _small_window_message(request.model, window)
            raise ProviderError(
                f"The prompt has at least {tokens:,} tokens and would be cut. {why}", kind="prompt_too_long"
            )

    async def _find_window(self, model: str) -> int:
        """Return the window of a loaded model; 0 if Ollama does not report it."""
        try:
            async with asyncio.timeout(_TIMEOUT):
                running = msgspec.json.decode(await self._get("/api/ps"), type=_RunningModels)
                loaded = next((each for each in running.models or () if _is_model(each, model)), None)
                if loaded is None:
                    return 0
                # Older versions do not report it; then the model's own file counts.
                return loaded.context_length or await self._read_configured_window(model) or _DEFAULT_WINDOW
        except (TimeoutError, HttpError, msgspec.DecodeError, RecursionError, UnicodeError):
            return 0

    async def _read_configured_window(self, model: str) -> int:
        body = msgspec.json.encode({"model": model})
        reply = await self._http.post(f"{self._root}/api/show", self._headers, body)
        shown = msgspec.json.decode(await reply.read(_MAX_SIZE), type=_ModelDetails)
        for line in (shown.parameters or "").splitlines():
            name, _, value = line.strip().partition(" ")
            if name == "num_ctx" and value.strip().isdecimal():
                return int(value)
        return 0

    async def _get(self, path: str) -> bytes:
        headers: dict[str, Any] = {key: value for key, value in self._headers.items() if key != "content-type"}
        reply = await self._http.get(self._root + path, headers)
        return await reply.read(_MAX_SIZE)


def _image_bytes(request: Request) -> int:
    """Return the bytes of images in the body: their size is unrelated to their token count."""
    total = 0
    for message in request.messages:
        for block in message.blocks:
            parts = block.content if isinstance(block, ToolReply) else (block,)
            total += sum(len(part.data) for part in parts if isinstance(part, Image))
    return total


def _is_model(loaded: _LoadedModel, model: str) -> bool:
    return bool({loaded.name, loaded.model} & {model, f"{model}:latest"})


def _small_window_message(model: str, window: int) -> str:
    return (
        f"Ollama runs {model} with a context window of {window:,} tokens and drops the beginning of longer prompts. "
        "Start it with OLLAMA_CONTEXT_LENGTH=32768 ollama serve (or more, as your memory allows), "
        "or set num_ctx in the model's Modelfile."
    )
