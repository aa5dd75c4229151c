"""The proxy of a sandbox with network access: listed hosts only (H5-8)."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bobstay.permissions.sandbox.launch import Sandbox
from bobstay.permissions.sandbox.mount_plan import SandboxSpec
from bobstay.permissions.sandbox.proxy import Proxy, ProxyRefusal, ProxyRequest, parse, permits
from tests.kit.waiting import DEADLINE


@pytest.fixture
async def host() -> AsyncIterator[int]:
    """A web server that returns the request it received."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = b"got " + head.replace(b"\r\n", b"|")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def ask(domains: tuple[str, ...], request: bytes) -> bytes:
    """The proxy's response to a request."""
    proxy = Proxy(domains)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    await proxy.serve(listener)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        async with asyncio.timeout(DEADLINE):
            return await reader.read()
    finally:
        writer.close()
        proxy.close()


async def test_a_listed_host_is_reached_with_a_request_of_its_own_form(host: int) -> None:
    request = f"GET http://127.0.0.1:{host}/a?b=c HTTP/1.1\r\nHost: elsewhere\r\nProxy-Authorization: x\r\nA: b\r\n\r\n"
    answer = await ask((f"127.0.0.1:{host}",), request.encode())
    assert f"GET /a?b=c HTTP/1.1|Host: 127.0.0.1:{host}|Connection: close|A: b||".encode() in answer


async def test_a_tunnel_leads_to_a_listed_host(host: int) -> None:
    request = f"CONNECT 127.0.0.1:{host} HTTP/1.1\r\n\r\nGET /x HTTP/1.0\r\n\r\n"
    answer = await ask((f"127.0.0.1:{host}",), request.encode())
    assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")


@pytest.mark.parametrize(
    "target",
    [
        "evil.org:443",
        "169.254.169.254:80",
        "a.org.evil.org:443",
        "xa.org:443",
        "a.org:22",
        "127.0.0.1:443",
        "[::1]:443",
    ],
)
async def test_an_unlisted_host_is_refused_with_the_reason(target: str) -> None:
    answer = await ask(("a.org", "*.b.org"), f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 403 Forbidden")
    assert b"allowedDomains" in answer


@pytest.mark.parametrize("name", ["localhost", "2130706433", "0x7f.1", "127.1"])
async def test_a_listed_name_that_leads_inside_is_refused(name: str) -> None:
    """A name may be made to point to the machine itself, or to the metadata service of a cloud."""
    answer = await ask((name,), f"CONNECT {name}:443 HTTP/1.1\r\n\r\n".encode())
    assert answer.startswith((b"HTTP/1.1 403", b"HTTP/1.1 502")), answer


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1",
        b"GET https://a.org/ HTTP/1.1",
        b"GET http://u:p@a.org/ HTTP/1.1",
        b"GET http://a.org:99999/ HTTP/1.1",
        b"CONNECT a.org HTTP/1.1",
        b"CONNECT a.org\0.evil.org:443 HTTP/1.1",
        b"CONNECT a.org%00.evil.org:443 HTTP/1.1",
        b"CONNECT \xc3\xa4.org:443 HTTP/1.1",
        b"CONNECT a.org:443 HTTP/2",
        b"GET http://a.org/ HTTP/1.1\r\nA: b\r\n folded",
        b"GET http://a.org/ HTTP/1.1\r\nA: b\nHost: c",
        b"",
    ],
)
def test_what_is_no_plain_request_to_a_proxy_is_refused(head: bytes) -> None:
    with pytest.raises(ProxyRefusal):
        parse(head + b"\r\n\r\n")


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reading_of_a_request(head: bytes) -> None:
    try:
        found = parse(head + b"\r\n\r\n")
    except ProxyRefusal:
        return
    assert isinstance(found, ProxyRequest)
    assert b"\0" not in found.host.encode()


@pytest.mark.parametrize(
    ("host", "port", "expected"),
    [
        ("a.org", 443, True),
        ("a.org", 80, True),
        ("a.org", 8443, False),
        ("www.a.org", 443, False),
        ("x.b.org", 443, True),
        ("x.y.b.org", 443, True),
        ("b.org", 443, False),
        ("xb.org", 443, False),
        ("c.org", 8443, True),
        ("c.org", 443, False),
    ],
)
def test_hosts_are_compared_by_whole_names(host: str, port: int, expected: bool) -> None:
    assert permits(("A.org.", "*.b.org", "c.org:8443"), host, port) is expected


async def test_a_command_reaches_what_is_listed_and_nothing_else(host: int, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    domains = (f"127.0.0.1:{host}",)
    sandbox = Sandbox(SandboxSpec(root=str(work), home=str(tmp_path), state=str(tmp_path / "state"), domains=domains))
    script = (
        "import os, urllib.request as r\n"
        "os.environ.pop('no_proxy'), os.environ.pop('NO_PROXY')\n"  # it names the loopback, where our host is
        f"proxied = r.ProxyHandler({{'http': os.environ['http_proxy']}})\n"
        f"print(r.build_opener(proxied).open('http://127.0.0.1:{host}/yes').read().decode())\n"
        "for opener, url in ((r.build_opener(proxied), 'http://example.org/'),"
        f" (r.build_opener(r.ProxyHandler({{}})), 'http://127.0.0.1:{host}/direct')):\n"
        "    try:\n        opener.open(url)\n        print('reached')\n"
        "    except OSError as error:\n        print(error)\n"
    )
    python = next(path for path in ("/usr/bin/python3", os.path.realpath(sys.executable)) if os.path.exists(path))
    entry = sandbox.enter([python, "-c", script], cwd=str(work), environment={"PATH": "/usr/bin:/bin", "no_proxy": "x"})
    process = await asyncio.create_subprocess_exec(
        *entry.command, env=entry.environment, pass_fds=entry.keep, stdout=subprocess.PIPE
    )
    entry.release_descriptors()
    async with asyncio.timeout(DEADLINE):
        output, _ = await process.communicate()
    entry.finish()
    sandbox.close()
    lines = output.decode().splitlines()
    assert lines[0].startswith("got GET /yes")
    assert "403" in lines[1]
    assert "refused" in lines[2]
