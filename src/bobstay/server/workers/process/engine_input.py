"""Input of an engine process: prompts, control requests, and responses to its own requests."""

import asyncio
from typing import Any

from bobstay.model.api_shape import block_json
from bobstay.model.event import InputQueued
from bobstay.model.ids import is_uuid, new_id
from bobstay.server.errors import ApiError
from bobstay.server.workers.process.approval_requests import HOOKS
from bobstay.server.workers.process.engine_process import EngineProcess
from bobstay.sessions.log_codec import to_json
from bobstay.wire.control_channel import ControlChannel, ControlError

ANSWER_TIME = 10.0
"""Seconds an engine may take to answer a control request."""


class EngineInput:
    """`engine` is the current process, if any."""

    def __init__(self) -> None:
        self.engine: EngineProcess | None = None
        self._channel = ControlChannel(self.send)

    @property
    def is_open(self) -> bool:
        return self.engine is not None and not self.engine.ended.done()

    def send(self, frame: dict[str, Any]) -> None:
        """Send a frame. If it cannot be sent, the process is ending, which is reported separately."""
        if self.engine is not None:
            self.engine.write(to_json(frame) + b"\n")

    def greet(self, *, hooked: bool) -> None:
        self._request({"subtype": "initialize", "hooks": HOOKS if hooked else None})

    def interrupt(self) -> None:
        self._request({"subtype": "interrupt"})

    def prompt(self, queued: InputQueued) -> str:
        """Send a prompt; returns the id by which the engine will refer to it."""
        uuid = queued.id if is_uuid(queued.id) else new_id()
        message = {"role": "user", "content": [block_json(block) for block in queued.blocks]}
        self.send({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "", "uuid": uuid})
        return uuid

    async def request_change(self, subtype: str, **fields: str) -> None:
        """Request a change of the engine's state, and wait until it is confirmed.

        Raises:
            ApiError: the engine refuses, or does not answer.
        """
        try:
            async with asyncio.timeout(ANSWER_TIME):
                await self._channel.request({"subtype": subtype, **fields})
        except ControlError as error:
            raise ApiError("invalid", f"The engine refused: {error}") from error
        except TimeoutError:
            raise ApiError("unavailable", "The engine did not answer. Try again, or stop the session.") from None

    def resolve(self, frame: dict[str, Any]) -> None:
        self._channel.resolve(frame)

    def close(self) -> None:
        """The process has ended: fail all pending requests."""
        self.engine = None
        self._channel.close()
        self._channel = ControlChannel(self.send)

    def _request(self, body: dict[str, Any]) -> None:
        """Send a request without waiting for the response."""
        self.send({"type": "control_request", "request_id": new_id(), "request": body})
