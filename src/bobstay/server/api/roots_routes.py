"""Directories sessions may work in, over HTTP: list them, add one, remove one that was added."""

import asyncio
import os

from msgspec import Struct

from bobstay.server.added_roots import write_roots
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import AllowedRoots, bounds_of, is_own

MOST = 100


class Root(Struct, frozen=True):
    path: str
    added: bool
    """By a person in the page, who can remove it again."""


class Roots(Struct, frozen=True):
    roots: tuple[Root, ...]


class RootPath(Struct, frozen=True, forbid_unknown_fields=True):
    path: str


async def list_roots(call: ApiCall) -> Roots:
    """List the directories sessions may work in, with all below them."""
    added = set(call.console.added_roots)
    return Roots(tuple(Root(path, path in added) for path in bounds_of(call.console).roots))


async def add_root(call: ApiCall) -> Roots:
    """Let sessions work in one more directory."""
    real = await asyncio.to_thread(_checked, call.body.path, bounds_of(call.console))
    added = call.console.added_roots
    if len(added) >= MOST:
        raise ApiError("invalid", f"At most {MOST} directories can be added.", field="path")
    return await _kept(call, (*(one for one in added if one != real), real))


async def remove_root(call: ApiCall) -> Roots:
    """Take back a directory that was added."""
    if call.body.path not in call.console.added_roots:
        raise ApiError("not_found", "This directory was not added here.")
    return await _kept(call, tuple(one for one in call.console.added_roots if one != call.body.path))


def _checked(given: str, bounds: AllowedRoots) -> str:
    path = os.path.expanduser(given)
    if "\0" in path or not path.startswith("/"):
        raise ApiError("invalid", "Enter an absolute path.", field="path")
    real = os.path.realpath(path)
    if is_own(real, bounds):
        raise ApiError("forbidden", "This directory belongs to the system or to the server itself.", field="path")
    if not os.path.isdir(real):
        raise ApiError("not_found", f"There is no directory {path[:500]}.", field="path")
    return real


async def _kept(call: ApiCall, roots: tuple[str, ...]) -> Roots:
    try:
        write_roots(call.console.config.state, roots)
    except OSError as error:
        raise ApiError("storage", f"The list of directories cannot be written: {error.strerror}.") from error
    call.console.added_roots = roots
    return await list_roots(call)


ENDPOINTS = (
    Endpoint("GET", "/roots", list_roots, "admin", returns=Roots),
    Endpoint("POST", "/roots", add_root, "admin", RootPath, None, Roots, 201, ("not_found", "storage")),
    Endpoint("DELETE", "/roots", remove_root, "admin", RootPath, None, Roots, 200, ("not_found", "storage")),
)
