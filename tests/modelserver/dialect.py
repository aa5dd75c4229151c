"""What the server asks of each vendor's file: read a request, write an answer."""

from collections.abc import Iterator
from typing import Any, Protocol

from msgspec import Struct

from tests.modelserver.script import Step, Turn


class Asked(Struct):
    """A request as it came."""

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


class Dialect(Protocol):
    name: str

    def owns(self, asked: Asked) -> bool:
        """Is this a request for a model's answer in this dialect?"""
        ...

    def refusal(self, asked: Asked) -> Refusal | None:
        """What the real server would say to a request it does not accept; None if it would answer."""
        ...

    def turns(self, asked: Asked) -> list[Turn]: ...

    def streams(self, asked: Asked) -> bool: ...

    def frames(self, asked: Asked, step: Step) -> Iterator[Frame]:
        """The whole stream of a good answer; exactly one frame per block has `ends_block`."""
        ...

    def whole(self, asked: Asked, step: Step) -> Any:
        """The answer to a request that wants no stream."""
        ...

    def error(self, status: int, error_type: str, message: str) -> Any:
        """The JSON body of an error answer."""
        ...

    def error_frame(self, status: int, error_type: str, message: str) -> bytes:
        """The same inside a stream."""
        ...

    def ping(self) -> bytes:
        """An event without meaning."""
        ...

    def head(self) -> dict[str, str]:
        """Headers every answer has, such as the request id."""
        ...

    def extra(self, asked: Asked) -> Any:
        """The JSON answer to another endpoint of this vendor, or None."""
        ...
