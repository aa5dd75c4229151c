"""A server with sessions and file routes only, called without a network, so that requests can be hostile."""

import asyncio
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.applications import Starlette

from bobstay.config.environment import Environment
from bobstay.model.session_events import SessionConfig
from bobstay.server.api import blobs_routes, diff_routes, files_routes, worktrees_routes
from bobstay.server.api.dispatch import make_route
from bobstay.server.auth.principal import OWNER, Principal
from bobstay.server.files.session_directory import WORKTREES
from bobstay.server.root_directories import RootDirectories
from bobstay.server.runner import Runner
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.stream_publisher import StreamPublisher
from bobstay.server.workers.worker import WorkerError
from bobstay.server.worktrees import Worktrees
from bobstay.sessions.log_store import LogStore
from tests.kit.consoles import console_options, partial_services
from tests.kit.environments import PATH
from tests.kit.http_exchange import HttpReply
from tests.kit.watched_sessions import WatchedSessions, new_registry


class _Authentication:
    async def admit(self, connection: Any, scope: Any) -> Principal:
        return OWNER


def _no_agents(id: str, epoch: int, session: OpenSession) -> Any:
    raise WorkerError("nobody works here")


class FilesHost(WatchedSessions):
    """`work` is the directory of its sessions; `outside` lies beside the allowed root."""

    def __init__(self, folder: Path) -> None:
        folder = folder.resolve()
        self.root = folder / "root"
        self.work = self.root / "work"
        self.outside = folder / "outside"
        self.home = folder / "home"
        for directory in (self.work, self.outside, self.home):
            directory.mkdir(parents=True, exist_ok=True)
        variables = {"HOME": str(self.home), "BOBSTAY_HOME": str(self.root / "bobstay"), "PATH": PATH}
        self.environment = Environment.read(variables)
        self.hub = Hub()
        store = LogStore(str(self.environment.paths.sessions))
        self.watch(new_registry(store, StreamPublisher(self.hub)), store)
        options = console_options(self.root)
        self.roots = RootDirectories(options, self.environment.paths)
        self.services = partial_services(
            options,
            self.environment,
            registry=self.registry,
            roots=self.roots,
            worktrees=Worktrees(os.path.join(self.environment.paths.bobstay, WORKTREES), self.environment.children),
            auth=_Authentication(),
            runner=Runner(self.registry, _no_agents),
        )
        endpoints = (
            *files_routes.ENDPOINTS,
            *diff_routes.ENDPOINTS,
            *worktrees_routes.ENDPOINTS,
            *blobs_routes.ENDPOINTS,
        )
        self.app = Starlette(routes=[make_route(endpoint, self.services) for endpoint in endpoints])

    def session(self, cwd: Path | None = None, **config: Any) -> OpenSession:
        return self.registry.create(str(cwd or self.work), SessionConfig(**config))

    async def get(self, path: str, /, headers: dict[str, str] | None = None, **query: Any) -> HttpReply:
        return await self.ask("GET", path, urlencode(query).encode(), headers)

    async def post(self, path: str, body: dict[str, Any]) -> HttpReply:
        headers = {"content-type": "application/json"}
        return await self.ask("POST", path, b"", headers, msgspec.json.encode(body))

    async def ask(
        self, method: str, path: str, query: bytes = b"", headers: dict[str, str] | None = None, body: bytes = b""
    ) -> HttpReply:
        """`query` goes to the server as it is."""
        scope = {
            "type": "http",
            "method": method,
            "path": "/api/v1" + path,
            "raw_path": ("/api/v1" + path).encode(),
            "root_path": "",
            "scheme": "http",
            "query_string": query,
            "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
            "app": self.app,
        }
        sent: list[dict[str, Any]] = []
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if not waiting:
                await asyncio.Event().wait()  # the client stays
            return waiting.pop()

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        begin = next(message for message in sent if message["type"] == "http.response.start")
        found = {name.decode(): value.decode() for name, value in begin["headers"]}
        return HttpReply(begin["status"], found, b"".join(message.get("body", b"") for message in sent))
