"""Errors of the API: a code for programs, a message for people, and an HTTP status each."""

from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from bobstay.sessions.log import (
    BadSessionId,
    EntryMissing,
    LogError,
    LogFull,
    SessionBusy,
    SessionExists,
    SessionMissing,
)

Code: TypeAlias = Literal[
    "bad_request",
    "invalid_json",
    "unauthorized",
    "bad_code",
    "forbidden",
    "bad_host",
    "bad_origin",
    "not_found",
    "method_not_allowed",
    "conflict",
    "wrong_state",
    "already_answered",
    "input_changed",
    "busy_elsewhere",
    "too_large",
    "unsupported_media_type",
    "range_not_satisfiable",
    "invalid",
    "too_many",
    "not_supported",
    "cannot_start",
    "storage",
    "unavailable",
    "internal",
]
CODES: tuple[str, ...] = get_args(Code)

STATUS: dict[str, int] = {
    "bad_request": 400,
    "invalid_json": 400,
    "unauthorized": 401,
    "bad_code": 401,
    "forbidden": 403,
    "bad_origin": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "conflict": 409,
    "wrong_state": 409,
    "already_answered": 409,
    "input_changed": 409,
    "busy_elsewhere": 409,
    "too_large": 413,
    "unsupported_media_type": 415,
    "range_not_satisfiable": 416,
    "bad_host": 421,
    "invalid": 422,
    "not_supported": 422,
    "cannot_start": 422,
    "too_many": 429,
    "internal": 500,
    "storage": 507,
    "unavailable": 503,
}


class Problem(Struct, frozen=True):
    code: Code
    message: str
    details: dict[str, Any] = {}


class ProblemBody(Struct, frozen=True):
    """The body of every unsuccessful response."""

    error: Problem


class ApiError(Exception):
    """Ends a request. `message` says what happened, why, and what to do."""

    def __init__(self, code: Code, message: str, **details: Any) -> None:
        super().__init__(message)
        self.problem = Problem(code, message, details)

    @property
    def status(self) -> int:
        return STATUS[self.problem.code]


def error_of_log(error: LogError) -> ApiError:
    """The API error for an error of a log."""
    match error:
        case SessionMissing() | EntryMissing() | BadSessionId():
            return ApiError("not_found", str(error))
        case SessionBusy():
            return ApiError("busy_elsewhere", str(error))
        case SessionExists():
            return ApiError("conflict", str(error))
        case LogFull():
            return ApiError("storage", str(error))
        case _:
            return ApiError("storage", str(error))
