"""What can go wrong with a request."""

from typing import Literal, TypeAlias

HttpErrorKind: TypeAlias = Literal["invalid_request", "unreachable", "timeout", "connection", "protocol"]


class HttpError(Exception):
    """There is no usable response. The text says why, and what a person can do about it."""

    def __init__(self, message: str, kind: HttpErrorKind) -> None:
        super().__init__(message)
        self.kind: HttpErrorKind = kind
