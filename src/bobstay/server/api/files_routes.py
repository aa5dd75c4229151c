"""Files of a session over HTTP: directory listings, contents, path completion, and directories for new sessions."""

import asyncio
import base64
import os
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace
from starlette.responses import Response

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.errors import Code
from bobstay.server.files.directory_listing import (
    MOST,
    MOST_DIRECTORIES,
    DirectoryListing,
    list_directory,
    suggest_directories,
)
from bobstay.server.files.path_completion import complete_path
from bobstay.server.files.path_names import decode_path, encode_path
from bobstay.server.files.range_response import respond_with_range
from bobstay.server.files.session_directory import AllowedRoots, open_session_directory
from bobstay.server.files.text_content import LOOKED_AT, MOST_BINARY, MOST_TEXT, decode_text, media_type, read_up_to
from bobstay.server.files.working_changes import find_ignored


class FilesQuery(Struct, frozen=True):
    path: str = ""
    """Relative to the session's directory; empty for the directory itself."""
    limit: Annotated[int, Meta(ge=1, le=MOST)] = 1_000
    """Maximum number of entries."""


class FileQuery(Struct, frozen=True):
    path: str
    """Path of the file, relative to the session's directory."""


class FileContent(Struct, frozen=True, omit_defaults=True):
    path: str
    size: int
    modified: float
    kind: Literal["text", "binary"]
    media_type: str
    text: str = ""
    encoding: str = ""
    bom: bool = False
    newline: Literal["none", "lf", "crlf", "cr", "mixed"] = "none"
    base64: str = ""
    """Content of a small binary file."""
    truncated: bool = False
    """Whether the content is incomplete; read the rest by range."""


class CompleteQuery(Struct, frozen=True):
    q: str = ""
    """Letters that must occur in the path in this order."""
    limit: Annotated[int, Meta(ge=1, le=200)] = 20
    """Maximum number of paths."""


class CompleteIn(CompleteQuery, frozen=True, kw_only=True):
    cwd: str
    """The directory to search."""


class Completions(Struct, frozen=True):
    paths: tuple[str, ...]
    """Best first; directories end in a slash."""


class DirectoriesQuery(Struct, frozen=True):
    prefix: str = ""
    """The beginning of the path, as typed."""


class Directories(Struct, frozen=True):
    directories: tuple[str, ...]


async def list_files(call: ApiCall) -> DirectoryListing:
    """List the entries of a directory of a session: directories first, then by name."""
    where, bounds = _where(call)

    def read() -> DirectoryListing:
        with open_session_directory(where, bounds) as directory:
            return list_directory(directory, call.query.path, call.query.limit)

    found = await asyncio.to_thread(read)
    paths = [decode_path(entry.path) for entry in found.entries]
    with open_session_directory(where, bounds) as directory:
        ignored = await find_ignored(directory, call.services.environment.children, paths)
    if not ignored:
        return found
    marked = (replace(entry, ignored=path in ignored) for entry, path in zip(found.entries, paths, strict=True))
    return replace(found, entries=tuple(marked))


async def read_file(call: ApiCall) -> FileContent:
    """Read a file: text with its encoding, or the bytes of a small binary file."""
    where, bounds = _where(call)
    return await asyncio.to_thread(_content, where, bounds, call.query.path)


async def read_raw_file(call: ApiCall) -> Response:
    """Read a file's bytes, all or by range, with headers that prevent a browser from executing them."""
    where, bounds = _where(call)

    def open_it() -> Any:
        with open_session_directory(where, bounds) as directory, directory.file(call.query.path) as handle:
            return open(os.dup(handle), "rb", buffering=0)

    file = await asyncio.to_thread(open_it)
    number = file.fileno()
    about = os.fstat(number)
    media = media_type(os.pread(number, LOOKED_AT, 0))
    return await respond_with_range(
        call.request.headers.get("range"),
        about.st_size,
        lambda start, most: read_up_to(number, most, start),
        file.close,
        media=media,
        name=call.query.path.rpartition("/")[2] or "file",
        tag=f"{about.st_mtime_ns:x}-{about.st_size:x}",
    )


async def complete_file(call: ApiCall) -> Completions:
    """List files and directories of a session whose path contains the given letters in order."""
    where, bounds = _where(call)
    with open_session_directory(where, bounds) as directory:
        found = await complete_path(
            directory, call.services.environment.children, decode_path(call.query.q), call.query.limit
        )
    return Completions(tuple(map(encode_path, found)))


async def complete_in_directory(call: ApiCall) -> Completions:
    """List files whose path contains the given letters in order, in a directory without a session."""
    cwd = call.services.roots.resolve(call.query.cwd)
    with open_session_directory(cwd, call.services.roots.allowed()) as directory:
        found = await complete_path(
            directory, call.services.environment.children, decode_path(call.query.q), call.query.limit
        )
    return Completions(tuple(map(encode_path, found)))


async def list_directories(call: ApiCall) -> Directories:
    """List directories for a new session that begin with the given prefix."""
    bounds = call.services.roots.allowed()
    found = await asyncio.to_thread(lambda: list(suggest_directories(call.query.prefix, bounds)))
    valid = [path for path in dict.fromkeys(found) if _is_text(path)]
    return Directories(tuple(valid[:MOST_DIRECTORIES]))


def _where(call: ApiCall) -> tuple[str, AllowedRoots]:
    return call.services.registry.view(call.path["id"]).cwd, call.services.roots.allowed()


def _content(where: str, bounds: AllowedRoots, path: str) -> FileContent:
    with open_session_directory(where, bounds) as directory, directory.file(path) as handle:
        about = os.fstat(handle)
        data = read_up_to(handle, MOST_TEXT)
    size = max(about.st_size, len(data))
    whole = len(data) >= size
    text = decode_text(data, whole=whole)
    media = media_type(data[:LOOKED_AT])
    if text is None:
        small = whole and size <= MOST_BINARY
        encoded = base64.b64encode(data).decode() if small else ""
        return FileContent(path, size, about.st_mtime, "binary", media, base64=encoded, truncated=not small)
    return FileContent(
        path, size, about.st_mtime, "text", media, text.text, text.encoding, text.bom, text.newline, truncated=not whole
    )


def _is_text(path: str) -> bool:
    """Whether JSON can represent a path. Others are left out, because a client must send the path back unchanged."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


_REFUSALS: tuple[Code, ...] = ("not_found", "forbidden", "invalid")
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/sessions/{id}/files", list_files, query=FilesQuery, returns=DirectoryListing, errors=_REFUSALS),
    Endpoint("GET", "/sessions/{id}/file", read_file, query=FileQuery, returns=FileContent, errors=_REFUSALS),
    Endpoint(
        "GET",
        "/sessions/{id}/file/raw",
        read_raw_file,
        query=FileQuery,
        returns=Response,
        errors=(*_REFUSALS, "range_not_satisfiable"),
        media="application/octet-stream",
    ),
    Endpoint(
        "GET", "/sessions/{id}/complete", complete_file, query=CompleteQuery, returns=Completions, errors=_REFUSALS
    ),
    Endpoint("GET", "/complete", complete_in_directory, query=CompleteIn, returns=Completions, errors=_REFUSALS),
    Endpoint("GET", "/directories", list_directories, query=DirectoriesQuery, returns=Directories),
)
