"""The real `bobstay serve`: every route is authenticated, and `bobstay token` works while it runs."""

import asyncio
import http.client
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bobstay.server.api.endpoints import AT_ROOT, ENDPOINTS
from bobstay.server.compat import compat_rest, compat_sse
from bobstay.server.db.database_engines import FILE
from tests.kit.served_console import ServedConsole
from tests.kit.waiting import DEADLINE

ROUTES = [
    *((endpoint.method, f"/api/v1{endpoint.path}") for endpoint in ENDPOINTS),
    *((endpoint.method, endpoint.path) for endpoint in AT_ROOT),
    *((endpoint.method, f"/api{endpoint.path}") for endpoint in (*compat_rest.ENDPOINTS, *compat_sse.ENDPOINTS)),
]
SOCKETS = ("/api/v1/ws", "/api/v1/workers/w/pty", "/ws/app", "/ws/session/s/worker/w", "/ws/agent")
NOBODY_ASKED = {
    *("/api/v1/auth/exchange", "/api/v1/auth/login", "/api/v1/auth/logout", "/api/v1/health", "/health"),
}
"""What may answer those who show nothing."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedConsole]:
    with ServedConsole(tmp_path_factory.mktemp("served"), BOBSTAY_MODEL="demo") as running:
        yield running


def ask(served: ServedConsole, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
    """The status, and the code of the error if there is one."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=DEADLINE)
    try:
        body = None if method in ("GET", "DELETE") else "{}"
        kind = {} if body is None else {"Content-Type": "application/json"}
        connection.request(method, path, body, {**kind, **headers})
        answer = connection.getresponse()
        content = answer.read()
        if answer.status < 400:
            return answer.status, ""
        error = json.loads(content)["error"]
        # The seeds' own routes say it in their own spelling.
        return answer.status, error["code"] if isinstance(error, dict) else "words"
    finally:
        connection.close()


def test_the_server_says_how_it_is_opened_and_stopped(served: ServedConsole) -> None:
    assert served.process is not None
    assert served.process.stdout is not None
    assert served.process.stdout.readline() == "Open it in a browser; the link works once. Ctrl+C stops the server.\n"


def test_every_route_there_is_stands_behind_the_doors(served: ServedConsole) -> None:
    """FM-40, FM-41: by name (Host), by page (Origin), and by person; for all routes, those of tomorrow too."""
    ours = f"http://127.0.0.1:{served.port}"
    assert len(ROUTES) > 60
    for method, pattern in ROUTES:
        path = re.sub(r"\{[^}]*\}", "x", pattern)
        evil = {"Host": f"evil.example:{served.port}", "Origin": f"http://evil.example:{served.port}"}
        assert ask(served, method, path, {**evil, "Cookie": served.cookie}) == (421, "bad_host"), path
        elsewhere = {"Origin": "https://evil.example", "Cookie": served.cookie}
        assert ask(served, method, path, elsewhere) == (403, "bad_origin"), path
        if path not in NOBODY_ASKED:
            for shown in ({}, {"Origin": ours}, {"Cookie": served.cookie}, {"Authorization": "Bearer bst_no"}):
                status, _ = ask(served, method, path, shown)
                # A body that will not do may be seen before the person: that says nothing.
                assert status in (401, 422), (method, path, shown, status)


async def test_every_socket_there_is_stands_behind_the_doors(served: ServedConsole) -> None:
    """FM-41, FM-42: each of them."""
    ours, theirs = f"http://127.0.0.1:{served.port}", "https://evil.example"
    cookie = {"Cookie": served.cookie}
    for path in SOCKETS:
        assert await _refused(served, path, theirs, cookie) == 403, path
        assert await _refused(served, path, "null", cookie) == 403, path
        assert await _refused(served, path, None, cookie) == 401, path
        assert await _refused(served, path, ours, {}) == 401, path


async def _refused(served: ServedConsole, path: str, origin: str | None, headers: dict[str, str]) -> int:
    try:
        address = f"ws://127.0.0.1:{served.port}{path}"
        async with connect(address, origin=origin, additional_headers=headers, proxy=None):  # type: ignore[arg-type] # a NewType of str
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def bobstay(served: ServedConsole, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "bobstay", "token", *arguments],
        check=True,
        env={**served.variables, "PATH": os.environ["PATH"]},
        cwd=served.folder,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    return done.stdout.strip()


async def test_fm_46_a_token_revoked_on_the_command_line_loses_its_socket_within_a_second(
    served: ServedConsole,
) -> None:
    """FM-46: the whole way, from one process to the other."""
    secret = await asyncio.to_thread(bobstay, served, "create", "--scope", "read")
    bearer = {"Authorization": f"Bearer {secret}"}
    id = (await asyncio.to_thread(bobstay, served, "list")).split()[0]
    async with (
        connect(f"ws://127.0.0.1:{served.port}/api/v1/ws", additional_headers=bearer, proxy=None) as socket,
        connect(f"ws://127.0.0.1:{served.port}/ws/app", additional_headers=bearer, proxy=None) as other,
    ):
        await socket.recv()
        closings = [asyncio.create_task(_closed(each)) for each in (socket, other)]
        await asyncio.to_thread(bobstay, served, "revoke", id)
        async with asyncio.timeout(DEADLINE):
            assert [await closing for closing in closings] == [4001, 4001]
    assert ask(served, "GET", "/api/v1/sessions", bearer) == (401, "unauthorized")


async def _closed(socket: object) -> int:
    try:
        while True:
            await socket.recv()  # type: ignore[attr-defined] # any client connection
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else 0


def test_what_happens_at_the_doors_is_in_the_audit(tmp_path: Path) -> None:
    with ServedConsole(tmp_path, BOBSTAY_MODEL="demo") as served:
        assert ask(served, "POST", "/api/v1/auth/exchange", {}) == (422, "invalid")
        assert served.raw("POST", "/auth/exchange", {"code": "wrong"})[0] == 401
        made = served.post("/auth/codes", {"label": "phone"})
    with closing(sqlite3.connect(served.folder / "bobstay" / "server" / FILE)) as tables:
        rows = tables.execute("SELECT who, what, detail FROM audit ORDER BY id").fetchall()
    assert [row[:2] for row in rows if row[1].startswith("auth.")] == [
        ("owner", "auth.entered"),
        ("", "auth.bad_code"),
        ("owner", "auth.code_made"),
    ]
    assert made["code"] not in repr(rows)
