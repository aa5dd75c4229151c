"""Transport of the SDK over a channel of our own: one JSON-RPC message at a time, as bytes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


class ChannelClosedError(Exception):
    """The other side is gone, or broke the rules. The text says why."""


class MessageChannel(Protocol):
    async def receive(self) -> bytes | None:
        """Return the next message; None after the last one. Raises `ChannelClosedError`."""
        ...

    async def send(self, message: bytes) -> None:
        """Raises `ChannelClosedError`."""
        ...

    async def close(self) -> None: ...


@asynccontextmanager
async def open_channel(channel: MessageChannel) -> AsyncGenerator[TransportStreams]:
    """Connect a channel to the streams of an SDK session. The channel is closed at the end."""
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    async def forward_received() -> None:
        async with to_session:
            while (data := await channel.receive()) is not None:
                try:
                    message: SessionMessage | Exception = SessionMessage(
                        jsonrpc_message_adapter.validate_json(data, by_name=False)
                    )
                except ValueError as error:
                    message = error
                try:
                    await to_session.send(message)
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return

    async def forward_sent() -> None:
        async with from_session:
            async for message in from_session:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                await channel.send(data)

    async def until_closed(forward: Callable[[], Awaitable[None]]) -> None:
        try:
            await forward()
        except ChannelClosedError:
            pass  # the channel keeps the reason; the session sees its stream end
        finally:
            to_session.close()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(until_closed, forward_received)
        tasks.start_soon(until_closed, forward_sent)
        try:
            yield from_server, to_server
        finally:
            with anyio.CancelScope(shield=True):
                await channel.close()
            tasks.cancel_scope.cancel()
            for stream in (to_session, from_server, to_server, from_session):
                stream.close()
