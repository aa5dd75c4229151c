"""A complete console with authentication on a real port, with a scripted model and a small HTTP client."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import uvicorn
from msgspec import Struct

from bobstay.config.environment import Environment
from bobstay.model.event import Envelope
from bobstay.server.auth.principal import SCOPES, Scope
from bobstay.server.build_console import build_console
from bobstay.server.server_options import ServerOptions
from bobstay.server.sessions.session_view import SessionView
from bobstay.server.streams.stream_server import StreamServer, server_options
from bobstay.server.streams.stream_timing import StreamTiming
from tests.deadline import DEADLINE
from tests.modelserver.server import ModelServer

SECRET = "sk-ant-this-is-a-dummy-key-for-tests"


class Reply(Struct):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


class RunningConsole:
    """`async with RunningConsole(model, folder) as server`: all of `bobstay serve` but its command line."""

    def __init__(self, model: ModelServer, folder: Path, **config: Any) -> None:
        self.model = model
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}"
        self.headers: dict[str, str] = {}
        """Of a token that may do everything."""
        config.setdefault("push_to_loopback", True)  # the push services of tests are on this machine
        state = str(folder / "bobstay" / "server")
        self.config = ServerOptions(state=state, port=self.port, roots=(str(folder),), **config)
        variables = {
            "HOME": str(folder),
            "BOBSTAY_HOME": str(folder / "bobstay"),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": SECRET,
            "BOBSTAY_MODEL": "sonnet",
            "PATH": "/usr/local/bin:/usr/bin:/bin",
        }
        self.environment = Environment.read(variables)
        self._changed = asyncio.Condition()

    async def __aenter__(self) -> Self:
        built = await build_console(self.config, self.environment)
        self.built = built
        self.services = built.services
        self.services.registry.listeners.append(self._session_changed)
        options = server_options(StreamTiming.of(self.config.heartbeat))
        settings = uvicorn.Config(built.app, lifespan="on", log_config=None, **options)
        self.server = StreamServer(settings, self.services.streams.hub)
        self._serving = asyncio.create_task(self.server.serve(sockets=[self.socket]))
        async with asyncio.timeout(DEADLINE):
            while not self.server.started:
                assert not self._serving.done(), "the server did not start"
                await asyncio.sleep(0.01)
        self.headers = await self.token(*SCOPES)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.should_exit = True
        await self._serving

    def view(self, session_id: str) -> SessionView:
        return self.services.registry.view(session_id)

    async def until(self, session_id: str, condition: Callable[[SessionView], bool]) -> SessionView:
        """Wait until a session's view is as wanted."""
        async with asyncio.timeout(DEADLINE), self._changed:
            while not condition(self.view(session_id)):
                await self._changed.wait()
        return self.view(session_id)

    async def until_status(self, session_id: str, *statuses: str) -> SessionView:
        return await self.until(session_id, lambda view: view.status in statuses)

    async def launch(self, prompt: str = "", **config: Any) -> str:
        """The id of a new session."""
        reply = await self.post("/api/v1/sessions", {"cwd": str(self.work), "prompt": prompt, **config})
        assert reply.status == 201, reply.body
        return str(reply.json["id"])

    def _session_changed(self, before: SessionView, after: SessionView, envelope: Envelope) -> None:
        asyncio.ensure_future(self._notify())  # noqa: RUF006 - it ends at once

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def token(self, *scopes: Scope) -> dict[str, str]:
        """The header of a new token."""
        _, secret = await self.services.auth.clients.create(
            "token", "ada", scopes, label="test", by="test", lifetime=None
        )
        return {"Authorization": f"Bearer {secret}"}

    async def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        """One request on its own connection; with the token that has all scopes, unless `headers` are given."""
        given = {**(self.headers if headers is None else headers), "Host": self.host, "Connection": "close"}
        raw = b""
        if body is not None:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            given.setdefault("Content-Type", "application/json")
            given["Content-Length"] = str(len(raw))
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items()), "", ""]
        async with asyncio.timeout(DEADLINE):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write("\r\n".join(lines).encode("latin-1") + raw)
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
        return parsed(answer)

    async def get(self, path: str, **more: Any) -> Reply:
        return await self.ask("GET", path, **more)

    async def post(self, path: str, body: Any = None, **more: Any) -> Reply:
        return await self.ask("POST", path, {} if body is None else body, **more)


def parsed(answer: bytes) -> Reply:
    head, _, rest = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        rest = unchunked(rest)
    return Reply(int(first.split()[1]), headers, rest)


def unchunked(raw: bytes) -> bytes:
    pieces: list[bytes] = []
    while raw:
        size, _, raw = raw.partition(b"\r\n")
        length = int(size, 16)
        pieces.append(raw[:length])
        raw = raw[length + 2 :]
    return b"".join(pieces)


@contextmanager
def in_a_thread(model: ModelServer, folder: Path) -> Generator[RunningConsole]:
    """A console with its own event loop in a thread, for blocking clients."""
    ready: threading.Event = threading.Event()
    found: list[Any] = []

    async def run() -> None:
        async with RunningConsole(model, folder) as server:
            stop = asyncio.Event()
            found[:] = [server, asyncio.get_running_loop(), stop]
            ready.set()
            await stop.wait()

    def work() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:  # the thread's boundary: passed on to the caller
            found[:] = [error]
            raise
        finally:
            ready.set()

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(DEADLINE)
    try:
        assert len(found) == 3, found
        yield found[0]
    finally:
        if len(found) == 3:
            found[1].call_soon_threadsafe(found[2].set)
        thread.join(DEADLINE)
