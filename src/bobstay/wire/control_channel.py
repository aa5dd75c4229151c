"""Control requests to the host, and the frames that answer its own requests."""

import asyncio
from collections.abc import Callable
from typing import Any

from bobstay.model.ids import new_id
from bobstay.wire.wire_frames import Frame


class ControlError(Exception):
    """The host answered a request with an error, or can no longer answer. The text is the host's."""


class ControlChannel:
    """Pending requests to the host, by id, until they are answered or withdrawn, or the host is gone."""

    def __init__(self, send: Callable[[Frame], None]) -> None:
        self._send = send
        self._open: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._closed = False

    async def request(self, body: Frame) -> dict[str, Any]:
        """Send a request to the host and wait for its answer. Cancelling withdraws the request.

        Raises:
            ControlError: the host does not know the request, failed, or closed its side.
        """
        if self._closed:
            raise ControlError("the host has closed its input and cannot answer")
        request_id = new_id()
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._open[request_id] = answer
        self._send({"type": "control_request", "request_id": request_id, "request": body})
        try:
            return await answer
        except asyncio.CancelledError:
            if request_id in self._open:
                self._send({"type": "control_cancel_request", "request_id": request_id})
            raise
        finally:
            self._open.pop(request_id, None)

    def resolve(self, frame: Frame) -> None:
        """Resolve the request that a `control_response` of the host answers; an unknown one is dropped."""
        response = frame.get("response")
        if not isinstance(response, dict):
            return
        waiting = self._open.pop(str(response.get("request_id")), None)
        if waiting is None or waiting.done():
            return
        if response.get("subtype") == "error":
            waiting.set_exception(ControlError(str(response.get("error") or "the host gave no reason")))
        else:
            body = response.get("response")
            waiting.set_result(body if isinstance(body, dict) else {})

    def close(self) -> None:
        """Fail all pending requests: the host will not answer any more."""
        self._closed = True
        for waiting in self._open.values():
            if not waiting.done():
                waiting.set_exception(ControlError("the host closed its input before it answered"))
        self._open.clear()


def success(request_id: str, response: Frame | None = None, **extra: Any) -> Frame:
    body: Frame = {"subtype": "success", "request_id": request_id}
    if response is not None:
        body["response"] = response
    return {"type": "control_response", "response": {**body, **extra}}


def failure(request_id: str, error: str, code: str = "") -> Frame:
    body: Frame = {"subtype": "error", "request_id": request_id, "error": error}
    if code:
        body["error_code"] = code
    return {"type": "control_response", "response": body}
