"""The files of the browser's page: the built console where it is there, else the plain page that needs no build."""

import os

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response
from starlette.routing import Match, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from bobstay.server.doors.gatekeeper import Shell

STATIC = os.path.join(os.path.dirname(__file__), "static")
BUILT = os.path.join(STATIC, "web")


class Pages(StaticFiles):
    """A path that is no file is a place inside the page: the page finds it itself."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        try:
            return await super().get_response(path, scope)
        except HTTPException as error:
            if error.status_code != 404 or "." in os.path.basename(path):
                raise
            return FileResponse(os.path.join(str(self.directory), "index.html"))


def page_route() -> Mount:
    folder = BUILT if os.path.exists(os.path.join(BUILT, "index.html")) else STATIC
    files = Pages(directory=folder, html=True)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await files(scope, receive, send)

    return _Elsewhere("/", app=Shell(serve), name="page")


class _Elsewhere(Mount):
    """All that is no part of the API. What is, and is not there, must not be answered with a page."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["path"].startswith(("/api/", "/ws/")):
            return Match.NONE, {}
        return super().matches(scope)
