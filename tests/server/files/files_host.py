"""A server with sessions and file routes only, called without a network, so that requests can be hostile."""

import asyncio
import os
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec import Struct
from starlette.applications import Starlette

from bobstay.config.environment import Environment
from bobstay.model.session_events import SessionConfig
from bobstay.server.api import blobs_routes, diff_routes, files_routes, worktrees_routes
from bobstay.server.api.dispatch import make_route
from bobstay.server.api.services import Services
from bobstay.server.api.session_owner import LocalOwner
from bobstay.server.auth.audit_port import NoAuditLog, Refusals
from bobstay.server.auth.principal import OWNER, Principal
from bobstay.server.files.session_directory import WORKTREES
from bobstay.server.revert.revert_undo import Undos
from bobstay.server.root_directories import RootDirectories
from bobstay.server.runner import Runner
from bobstay.server.server_options import ServerOptions
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_index import NoIndex
from bobstay.server.sessions.session_registry import SessionRegistry
from bobstay.server.streams.hub import Hub
from bobstay.server.streams.stream_publisher import StreamPublisher
from bobstay.server.workers.worker import WorkerError
from bobstay.server.worktrees import Worktrees
from bobstay.sessions.log_store import LogStore

PATH = "/usr/local/bin:/usr/bin:/bin"


class Reply(Struct):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


class _Authentication:
    async def admit(self, connection: Any, scope: Any) -> Principal:
        return OWNER


def _no_agents(id: str, epoch: int, session: OpenSession) -> Any:
    raise WorkerError("nobody works here")


class FilesHost:
    """`work` is the directory of its sessions; `outside` lies beside the allowed root."""

    def __init__(self, folder: Path) -> None:
        folder = folder.resolve()
        self.root = folder / "root"
        self.work = self.root / "work"
        self.outside = folder / "outside"
        self.home = folder / "home"
        for place in (self.work, self.outside, self.home):
            place.mkdir(parents=True, exist_ok=True)
        variables = {"HOME": str(self.home), "BOBSTAY_HOME": str(self.root / "bobstay"), "PATH": PATH}
        self.environment = Environment.read(variables)
        self.hub = Hub()
        self.registry = SessionRegistry(LogStore(self.environment.paths.sessions), StreamPublisher(self.hub), NoIndex())
        options = ServerOptions(state=str(self.root / "bobstay" / "server"), roots=(str(self.root),))
        self.roots = RootDirectories(options, self.environment.paths)
        worktrees = os.path.join(self.environment.paths.bobstay, WORKTREES)
        given: dict[str, Any] = dict.fromkeys(Services.__struct_fields__)
        given |= {"options": options, "environment": self.environment, "registry": self.registry, "roots": self.roots}
        given |= {"auth": _Authentication(), "runner": Runner(self.registry, _no_agents), "undos": Undos()}
        given |= {"audit": NoAuditLog(), "refusals": Refusals(NoAuditLog()), "owners": LocalOwner()}
        given |= {"worktrees": Worktrees(worktrees, self.environment.children)}
        self.services = Services(**given)
        endpoints = (
            *files_routes.ENDPOINTS,
            *diff_routes.ENDPOINTS,
            *worktrees_routes.ENDPOINTS,
            *blobs_routes.ENDPOINTS,
        )
        self.app = Starlette(routes=[make_route(endpoint, self.services) for endpoint in endpoints])

    def session(self, cwd: Path | None = None, **config: Any) -> OpenSession:
        return self.registry.create(str(cwd or self.work), SessionConfig(**config))

    def close(self) -> None:
        for session in self.registry.all_open():
            self.registry.release(session.id)

    async def get(self, path: str, /, headers: dict[str, str] | None = None, **query: Any) -> Reply:
        return await self.ask("GET", path, urlencode(query).encode(), headers)

    async def post(self, path: str, body: dict[str, Any]) -> Reply:
        headers = {"content-type": "application/json"}
        return await self.ask("POST", path, b"", headers, msgspec.json.encode(body))

    async def ask(
        self, method: str, path: str, query: bytes = b"", headers: dict[str, str] | None = None, body: bytes = b""
    ) -> Reply:
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
        return Reply(begin["status"], found, b"".join(message.get("body", b"") for message in sent))


def git(folder: Path, *arguments: str, **environment: str) -> str:
    """Run git as a person would, with a name of its own."""
    settings = {
        "PATH": PATH,
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
        **environment,
    }
    done = subprocess.run(["git", *arguments], cwd=folder, env=settings, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return os.fsdecode(done.stdout)


def repository(folder: Path, **contents: str) -> Path:
    """A repository with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    for name, content in (contents or {"readme": "first\n"}).items():
        (folder / name).write_text(content)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder
