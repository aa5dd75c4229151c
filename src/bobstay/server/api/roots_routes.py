"""Directories that sessions may work in, over HTTP: list, add and remove them."""

import asyncio
import os

from msgspec import Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.errors import ApiError
from bobstay.server.files.session_directory import AllowedRoots, is_hidden

MOST = 100


class Root(Struct, frozen=True):
    path: str
    added: bool
    """Whether it was added by a person and can be removed again."""


class Roots(Struct, frozen=True):
    roots: tuple[Root, ...]


class RootPath(Struct, frozen=True, forbid_unknown_fields=True):
    path: str


async def list_roots(call: ApiCall) -> Roots:
    """List the directories in which, and below which, sessions may work."""
    added = set(call.services.roots.added)
    return Roots(tuple(Root(path, path in added) for path in call.services.roots.allowed().roots))


async def add_root(call: ApiCall) -> Roots:
    """Allow sessions to work in another directory."""
    real = await asyncio.to_thread(_check_root, call.body.path, call.services.roots.allowed())
    added = call.services.roots.added
    if len(added) >= MOST:
        raise ApiError("invalid", f"At most {MOST} directories can be added.", field="path")
    return await _save_roots(call, (*(one for one in added if one != real), real))


async def remove_root(call: ApiCall) -> Roots:
    """Remove a directory that was added."""
    if call.body.path not in call.services.roots.added:
        raise ApiError("not_found", "This directory was not added here.")
    return await _save_roots(call, tuple(one for one in call.services.roots.added if one != call.body.path))


def _check_root(given: str, bounds: AllowedRoots) -> str:
    path = os.path.expanduser(given)
    if "\0" in path or not path.startswith("/"):
        raise ApiError("invalid", "Enter an absolute path.", field="path")
    real = os.path.realpath(path)
    if is_hidden(real, bounds):
        raise ApiError("forbidden", "This directory belongs to the system or to the server itself.", field="path")
    if not os.path.isdir(real):
        raise ApiError("not_found", f"There is no directory {path[:500]}.", field="path")
    return real


async def _save_roots(call: ApiCall, roots: tuple[str, ...]) -> Roots:
    try:
        call.services.roots.save_added(roots)
    except OSError as error:
        raise ApiError("storage", f"The list of directories cannot be written: {error.strerror}.") from error
    return await list_roots(call)


ENDPOINTS = (
    Endpoint("GET", "/roots", list_roots, "admin", returns=Roots),
    Endpoint("POST", "/roots", add_root, "admin", RootPath, None, Roots, 201, ("not_found", "storage")),
    Endpoint("DELETE", "/roots", remove_root, "admin", RootPath, None, Roots, 200, ("not_found", "storage")),
)
