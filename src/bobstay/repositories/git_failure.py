"""Errors of running git, and how callers get their own kind instead."""

from typing import Any, Literal, Protocol, TypeAlias

GitProblem: TypeAlias = Literal["not_supported", "invalid", "not_found", "conflict", "wrong_state", "unavailable"]


class GitError(Exception):
    """Git did not do what was asked. The message says what happened, why, and what to do."""

    def __init__(self, code: GitProblem, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.details = details


class Failure(Protocol):
    """Makes the error to raise: `GitError`, or the caller's own kind, such as an error of an API."""

    def __call__(self, code: GitProblem, message: str, **details: Any) -> Exception: ...
