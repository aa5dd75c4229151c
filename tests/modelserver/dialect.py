"""The interface of a vendor's dialect: reads requests and writes answers."""

from collections.abc import Iterator
from typing import Any, Protocol

from msgspec import Struct

from tests.modelserver.script import Step, Turn


class ModelRequest(Struct):
    """A received request."""

    method: str
    path: str
    """Without the query."""
    query: str
    headers: dict[str, str]
    """Names in lower case."""
    body: Any
    raw: bytes
    at: float
    """`time.monotonic()` when the request was complete."""
    scenario: str = ""
    step: int = -1


class Frame(Struct):
    """A piece of a stream, written at once."""

    data: bytes
    ends_block: bool = False


class Refusal(Struct, frozen=True):
    """Why the real server would not answer a request."""

    message: str
    status: int = 400
    error_type: str = ""
    """The vendor's name of the error; that of the status if empty."""


class Dialect(Protocol):
    name: str
    content_type: str
    """Of streams."""

    def owns(self, request: ModelRequest) -> bool:
        """Whether this is a model request in this dialect."""
        ...

    def refusal(self, request: ModelRequest) -> Refusal | None:
        """Return the error of the real server for a request that it refuses; None if it would answer."""
        ...

    def turns(self, request: ModelRequest) -> list[Turn]: ...

    def streams(self, request: ModelRequest) -> bool: ...

    def frames(self, request: ModelRequest, step: Step) -> Iterator[Frame]:
        """Yield the whole stream of a successful answer; exactly one frame per block has `ends_block`."""
        ...

    def whole(self, request: ModelRequest, step: Step) -> Any:
        """Return the answer to a request without streaming."""
        ...

    def error(self, status: int, error_type: str, message: str) -> Any:
        """Return the JSON body of an error response."""
        ...

    def error_frame(self, status: int, error_type: str, message: str) -> bytes:
        """Return the same error inside a stream."""
        ...

    def ping(self) -> bytes:
        """Return a keep-alive event."""
        ...

    def head(self) -> dict[str, str]:
        """Return the headers of every answer, such as the request id."""
        ...

    def error_head(self, status: int, error_type: str) -> dict[str, str]:
        """Return further headers of an error response."""
        ...

    def extra(self, request: ModelRequest) -> Any:
        """Return the JSON answer of another endpoint of this vendor, or None."""
        ...
