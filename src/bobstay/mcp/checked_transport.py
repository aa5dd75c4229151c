"""Checks what a server lists before the SDK reads it: one bad entry must not lose the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from bobstay.mcp.clean_text import clean_line
from bobstay.mcp.schema_check import OPEN_SCHEMA, BadSchema, check_schema

if TYPE_CHECKING:
    from types import TracebackType

    from mcp.client._transport import ReadStream, TransportStreams
    from mcp.shared.message import SessionMessage

MAX_ENTRIES = 5_000
"""Entries of one page of a list."""
_LISTS = {"tools": "name", "prompts": "name", "resources": "uri", "resourceTemplates": "uriTemplate"}


class ConnectionWatch:
    """What happens on a connection: when it ends, and what the server sends that makes no sense."""

    def __init__(self, ended: Callable[[], None]) -> None:
        self.has_ended = False
        self.garbage = ""
        """The first thing the server sent that is no message."""
        self._ended = ended
        self.problems: dict[str, str] = {}
        """Why entries of the server's lists are left out or changed, by what they are about."""

    def end(self) -> None:
        if not self.has_ended:
            self.has_ended = True
            self._ended()


@asynccontextmanager
async def watch_transport(
    transport: AbstractAsyncContextManager[TransportStreams], watch: ConnectionWatch
) -> AsyncGenerator[TransportStreams]:
    """Open a transport whose lists are checked, and whose end is noticed."""
    async with transport as (read_stream, write_stream):
        yield _CheckedStream(read_stream, watch), write_stream


class _CheckedStream:
    def __init__(self, inner: ReadStream[SessionMessage | Exception], watch: ConnectionWatch) -> None:
        self._inner = inner
        self._watch = watch

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return await self._next(self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> ReadStream[SessionMessage | Exception]:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self._next(self._inner.__anext__())

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)

    async def _next(self, waiting: Awaitable[SessionMessage | Exception]) -> SessionMessage | Exception:
        try:
            item = await waiting
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._watch.end()
            raise
        return self._check(item)

    def _check(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, Exception):
            if not self._watch.garbage:
                self._watch.garbage = clean_line(_input_of(item), 200)
            return item
        result = getattr(item.message, "result", None)
        if isinstance(result, dict):
            for key, identity in _LISTS.items():
                if isinstance(result.get(key), list):
                    result[key] = _check_list(key, identity, result[key], self._watch.problems)
        return item


def _input_of(error: Exception) -> str:
    """The text that is no message, as far as the parser tells it."""
    errors = getattr(error, "errors", None)
    details: Any = errors(include_url=False, include_context=False) if callable(errors) else []
    return str(details[0].get("input", "")) if details else str(error)


def _check_list(kind: str, identity: str, entries: list[Any], problems: dict[str, str]) -> list[Any]:
    kept: list[Any] = []
    for entry in entries[:MAX_ENTRIES]:
        name = entry.get(identity) if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name or len(name) > 4_000:
            problems[f"an entry of its {kind}"] = f"it has no {identity}"
        elif kind == "tools":
            kept.append(_check_tool(name, entry, problems))
        elif kind == "prompts":
            kept.append(_check_prompt(name, entry))
        else:
            kept.append(_check_resource(identity, name, entry))
    if len(entries) > MAX_ENTRIES:
        problems[f"its {kind}"] = f"only the first {MAX_ENTRIES} are used"
    return kept


def _check_tool(name: str, entry: dict[str, Any], problems: dict[str, str]) -> dict[str, Any]:
    """Keep what is used of a tool. The schema of its output is not: a result that does not fit is still a result."""
    try:
        schema = check_schema(entry.get("inputSchema"))
    except BadSchema as error:
        problems[f"its tool {clean_line(name, 80)!r}"] = f"{error}; the tool is offered without a schema"
        schema = OPEN_SCHEMA
    found: dict[str, Any] = {"name": name, "inputSchema": schema, **_texts(entry, "title", "description")}
    annotations = entry.get("annotations")
    if isinstance(annotations, dict):
        hints = {key: value for key, value in annotations.items() if key.endswith("Hint") and isinstance(value, bool)}
        found["annotations"] = {**hints, **_texts(annotations, "title")}
    meta = entry.get("_meta")
    if isinstance(meta, dict):
        found["_meta"] = meta
    return found


def _check_prompt(name: str, entry: dict[str, Any]) -> dict[str, Any]:
    arguments = entry.get("arguments")
    named = [
        {"name": each["name"], "required": each.get("required") is True, **_texts(each, "description")}
        for each in (arguments if isinstance(arguments, list) else [])[:100]
        if isinstance(each, dict) and isinstance(each.get("name"), str)
    ]
    return {"name": name, "arguments": named, **_texts(entry, "title", "description")}


def _check_resource(identity: str, name: str, entry: dict[str, Any]) -> dict[str, Any]:
    texts = _texts(entry, "name", "title", "description", "mimeType")
    return {identity: name, "name": name, **texts}


def _texts(entry: dict[str, Any], *keys: str) -> dict[str, str]:
    return {key: entry[key] for key in keys if isinstance(entry.get(key), str)}
