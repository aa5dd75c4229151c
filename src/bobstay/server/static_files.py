"""Serves the static files of the page: the built console if there is one, else the plain page that needs no build."""

import asyncio
import hashlib
import os
import re
import stat

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match, Mount
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketClose

from bobstay.server.auth.auth_middleware import PublicStaticFiles

STATIC = os.path.join(os.path.dirname(__file__), "static")
BUILT = os.path.join(STATIC, "web")
INDEX = "index.html"
WORKER = "sw.js"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/vnd.microsoft.icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
"""Media types by extension, because the system's own table differs between machines."""
IMMUTABLE_CACHE = "public, max-age=31536000, immutable"
ASSETS = "assets/"
_HASHED = re.compile(r"assets/(?:.*/)?[^/]+-[\w-]{8,}\.[\w.]+")
"""File names that contain a hash of the content, so that they can be cached forever."""
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
"""Encodings in which the build may have compressed files, the smallest first."""


def page_route(folder: str = "") -> Mount:
    return _PageMount("/", app=PublicStaticFiles(StaticFiles(folder or _folder())), name="page")


class StaticFiles:
    """Serves the files of one folder. Other paths get the index file, whose script routes them in the browser."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.realpath(folder)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
            return
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        headers = Headers(scope=scope)
        found = await asyncio.to_thread(self._find, scope["path"].lstrip("/"), headers)
        answer = Response(status_code=304) if _has_current_copy(found.tag, headers) else Response(found.content)
        if scope["method"] == "HEAD":
            # Content-Length stays that of the file.
            answer.body = b""
        for name, value in found.headers.items():
            answer.headers[name] = value
        await answer(scope, receive, send)

    def _find(self, path: str, headers: Headers) -> "_File":
        path = path or INDEX
        if (content := self._read(path)) is None:
            if not _is_page_path(path, headers.get("accept", "")):
                raise HTTPException(404)
            path = INDEX
            if (content := self._read(path)) is None:
                raise HTTPException(404)
        hashed = _HASHED.fullmatch(path) is not None
        described = {
            "content-type": TYPES.get(os.path.splitext(path)[1], "application/octet-stream"),
            "cache-control": IMMUTABLE_CACHE if hashed else "no-cache",
        }
        if path == WORKER:
            described["service-worker-allowed"] = "/"
        if hashed:
            # Only hashed files are served compressed: a compressed copy of another may come from an earlier build.
            described["vary"] = "Accept-Encoding"
            for name, ending in _ENCODINGS:
                if _accepts(name, headers.get("accept-encoding", "")) and (packed := self._read(path + ending)):
                    described["content-encoding"] = name
                    content = packed
                    break
        # Computed from the content, since all files of an installed package may have the same modification time.
        tag = described["etag"] = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        return _File(content, tag, described)

    def _read(self, path: str) -> bytes | None:
        """The content of a file in the folder; None if it does not exist or a link leads outside."""
        try:
            full = os.path.realpath(os.path.join(self._folder, path))
            if not full.startswith(self._folder + os.sep) or not stat.S_ISREG(os.stat(full).st_mode):
                return None
            with open(full, "rb") as file:
                return file.read()
        except (OSError, ValueError):
            return None


class _File(Struct):
    content: bytes
    tag: str
    headers: dict[str, str]


class _PageMount(Mount):
    """Everything outside the API. A missing API route must not be answered with the page."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["path"].startswith(("/api/", "/ws/")):
            return Match.NONE, {}
        return super().matches(scope)


def _folder() -> str:
    return BUILT if os.path.exists(os.path.join(BUILT, INDEX)) else STATIC


def _is_page_path(path: str, accept: str) -> bool:
    """Whether a path is a route of the page, not a missing file.

    A route may end like a file, as in `/sessions/1/files/main.py`; a browser that opens it accepts HTML.
    """
    if path.startswith(ASSETS):
        return False
    return "." not in os.path.basename(path) or "text/html" in accept


def _accepts(encoding: str, accepted: str) -> bool:
    for each in accepted.lower().split(","):
        name, _, weight = each.partition(";")
        if name.strip() == encoding:
            return re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight) is None
    return False


def _has_current_copy(tag: str, headers: Headers) -> bool:
    """Whether the client's cached copy is current."""
    known = headers.get("if-none-match", "")
    return known.strip() == "*" or tag in (each.strip().removeprefix("W/") for each in known.split(","))
