"""The HTTP client, against real sockets."""

import asyncio
import contextlib
import gc
import weakref

import pytest

from bobstay.http.client import HttpClient
from bobstay.http.http_error import HttpError
from bobstay.http.sse_splitter import SseEvents
from tests.kit.sockets import Serve, listening
from tests.kit.waiting import DEADLINE
from tests.modelserver import Gate, ModelServer, Say, Step


def saying(*answers: bytes, then_close: bool = True) -> Serve:
    """Answer each request on a connection with the next of `answers`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
        if not then_close:
            await reader.read()

    return serve


async def body_of(answer: bytes, http: HttpClient, *, limit: int = 1_000_000) -> bytes:
    async with listening(saying(answer)) as address:
        reply = await http.get(f"http://{address}/")
        return await reply.read(limit)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\ntrailer: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    ],
    ids=["length", "chunks", "until closed", "old", "after continue", "after hints"],
)
async def test_a_body_is_read_whichever_way_it_is_delimited(answer: bytes, http: HttpClient) -> None:
    assert await body_of(answer, http) == b"hello"


async def test_status_and_headers_are_there_before_the_body(server: ModelServer, http: HttpClient) -> None:
    gate = Gate()
    token = server.play("slow", Step(blocks=[Say("x")], gate=gate, gate_after=1, headers={"X-Mixed-Case": "Yes"}))
    body = b'{"stream":true,"messages":[{"role":"user","content":"%b"}]}' % token.encode()
    reply = await http.post(f"{server.url}/v1/messages?beta=true", {"x-a": "b"}, body)
    assert reply.status == 200
    assert reply.headers["x-mixed-case"] == "Yes"
    gate.open()
    names = [name async for name, _ in SseEvents(reply)]
    assert names[0] == "message_start"
    assert names[-1] == "message_stop"
    asked = server.requests[0]
    assert (asked.method, asked.path, asked.query, asked.raw) == ("POST", "/v1/messages", "beta=true", body)
    assert asked.headers["x-a"] == "b"
    assert asked.headers["accept-encoding"] == "identity"


async def test_any_status_is_an_answer_and_not_an_exception(http: HttpClient) -> None:
    async with listening(saying(b"HTTP/1.1 529 Overloaded\r\ncontent-length: 2\r\n\r\n{}")) as address:
        reply = await http.post(f"http://{address}/", {}, b"{}")
        assert (reply.status, await reply.read()) == (529, b"{}")


async def test_a_connection_is_used_again(server: ModelServer, http: HttpClient) -> None:
    for _ in range(3):
        reply = await http.get(f"{server.url}/nowhere")
        assert (await reply.read()).startswith(b"{")
    assert server.connections == 1


async def test_a_connection_whose_answer_is_about_to_end_is_waited_for(http: HttpClient) -> None:
    connections = 0
    end = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n")
        await end.wait()
        writer.write(b"0\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nagain")

    async with listening(serve) as address:
        first = await http.get(f"http://{address}/")
        assert await first.read_some() == b"he"
        first.release()
        second = asyncio.create_task(http.get(f"http://{address}/"))
        await asyncio.sleep(0)
        end.set()
        assert (await (await second).read(), connections) == (b"again", 1)


async def test_a_released_answer_that_does_not_end_holds_nobody(http: HttpClient) -> None:
    """The callback for activity references the whole request with its messages."""

    class Watching:
        def on_activity(self) -> None: ...

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n")
        await asyncio.Event().wait()

    async with listening(serve) as address:
        watching = Watching()
        reply = await http.post(f"http://{address}/", {}, b"", watching.on_activity)
        assert await reply.read_some() == b"he"
        reply.release()
        known = weakref.ref(watching)
        del watching
        gc.collect()
        assert known() is None


async def test_requests_at_the_same_time_have_connections_of_their_own(server: ModelServer, http: HttpClient) -> None:
    gate = Gate()
    token = server.play("wait", Step(blocks=[Say("x")], gate=gate))
    body = b'{"messages":[{"role":"user","content":"%b"}]}' % token.encode()
    asking = [asyncio.create_task(http.post(f"{server.url}/v1/messages", {}, body)) for _ in range(3)]
    await server.requested(3)
    gate.open()
    for reply in await asyncio.gather(*asking):
        assert b'"text":"x"' in await reply.read()
    assert server.connections == 3


async def test_a_connection_the_server_dropped_is_replaced_without_a_word(http: HttpClient) -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
    seen: list[bytes] = []

    async def drops_the_second(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        if len(seen) == 1:
            # Take the second request on this connection, and hang up without a byte.
            seen.append(await reader.readuntil(b"\r\n\r\n"))

    async with listening(drops_the_second) as address:
        for _ in range(2):
            reply = await http.post(f"http://{address}/", {}, b"")
            assert await reply.read() == b"hi"
    assert len(seen) == 3


async def test_a_fresh_connection_that_is_dropped_is_an_error_and_is_not_tried_again(http: HttpClient) -> None:
    count = 0

    async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        await reader.readuntil(b"\r\n\r\n")

    async with listening(hangs_up) as address:
        with pytest.raises(HttpError) as caught:
            await http.post(f"http://{address}/", {}, b"")
    assert caught.value.kind == "connection"
    assert count == 1


async def test_a_kept_connection_that_breaks_after_the_first_byte_is_not_tried_again(http: HttpClient) -> None:
    good = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
    async with listening(saying(good, b"HTTP/1.1 2")) as address:
        await (await http.get(f"http://{address}/")).read()
        with pytest.raises(HttpError) as caught:
            await http.post(f"http://{address}/", {}, b"")
    assert caught.value.kind == "connection"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n50\r\nhe",
    ],
)
async def test_an_answer_cut_short_is_an_error_and_never_a_silent_end(answer: bytes, http: HttpClient) -> None:
    with pytest.raises(HttpError) as caught:
        await body_of(answer, http)
    assert caught.value.kind == "connection"


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnot a number\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 2\r\n\r\nxx",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 300_000 + b"\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ],
    ids=["no http", "bad chunk", "damaged gzip", "packed another way", "endless head", "another protocol"],
)
async def test_what_is_not_proper_http_is_a_protocol_error(answer: bytes, http: HttpClient) -> None:
    with pytest.raises(HttpError) as caught:
        await body_of(answer, http)
    assert caught.value.kind == "protocol"


ENDLESS = {
    "a header": (b"HTTP/1.1 200 OK\r\nx: ", b"y" * 65_536),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 10_000),
    "interim responses": (b"", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" * 1_000),
    "trailers": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nx: ", b"y" * 65_536),
    "the size of a chunk": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;x=", b"y" * 65_536),
}


@pytest.mark.parametrize("endless", ENDLESS)
async def test_nothing_around_a_body_may_be_endless(endless: str, http: HttpClient) -> None:
    """Of a line that has not ended yet the parser says nothing."""
    begin, more = ENDLESS[endless]
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(begin)
        try:
            while True:
                writer.write(more)
                await writer.drain()
        finally:
            ended.set()

    async with listening(serve) as address:
        with pytest.raises(HttpError, match="too many headers") as caught:
            await (await http.get(f"http://{address}/")).read()
        assert caught.value.kind == "protocol"
        await asyncio.wait_for(ended.wait(), DEADLINE)


async def test_a_trailer_does_not_replace_a_header(http: HttpClient) -> None:
    head = b"HTTP/1.1 200 OK\r\nx: early\r\ntransfer-encoding: chunked\r\n\r\n"
    async with listening(saying(head + b"2\r\nhi\r\n0\r\nx: late\r\n\r\n")) as address:
        reply = await http.get(f"http://{address}/")
        assert (await reply.read(), reply.headers["x"]) == (b"hi", "early")


async def test_a_redirect_is_an_answer_and_the_key_goes_nowhere_else(server: ModelServer, http: HttpClient) -> None:
    moved = f"HTTP/1.1 307 Moved\r\nlocation: {server.url}/\r\ncontent-length: 0\r\n\r\n".encode()
    async with listening(saying(moved)) as address:
        reply = await http.post(f"http://{address}/", {"x-api-key": "secret"}, b"{}")
        assert (reply.status, await reply.read()) == (307, b"")
    assert not server.requests


async def test_bytes_nobody_asked_for_never_become_part_of_the_next_answer(http: HttpClient) -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
    forged = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged"
    async with listening(saying(answer + forged, then_close=False)) as address:
        for _ in range(2):
            assert await (await http.get(f"http://{address}/")).read() == b"hi"


async def test_read_takes_no_more_than_its_limit(http: HttpClient) -> None:
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n" + b"x" * 100_000
    assert await body_of(answer, http, limit=10) == b"x" * 10


async def test_a_slow_reader_makes_the_server_wait(http: HttpClient) -> None:
    total, sent, stuck = 64 * 1024 * 1024, 0, asyncio.Event()

    async def floods(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % total)
        while sent < total:
            writer.write(b"x" * 65_536)
            sent += 65_536
            try:
                await asyncio.wait_for(writer.drain(), 0.5)
            except TimeoutError:
                stuck.set()
                await writer.drain()

    async with listening(floods) as address:
        reply = await http.get(f"http://{address}/")
        await asyncio.wait_for(stuck.wait(), 20)
        assert sent < total
        assert len(await reply.read(total + 1)) == total


async def test_cancelling_the_reader_closes_the_connection(server: ModelServer, http: HttpClient) -> None:
    token = server.play("pings", Step(stall="pings"))
    body = b'{"stream":true,"messages":[{"role":"user","content":"%b"}]}' % token.encode()
    reply = await http.post(f"{server.url}/v1/messages", {}, body)
    first = asyncio.Event()

    async def read() -> None:
        async for _ in SseEvents(reply):
            first.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for(first.wait(), 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.left(1)


async def test_cancelling_before_the_first_byte_closes_the_connection(server: ModelServer, http: HttpClient) -> None:
    token = server.play("silent", Step(stall="silent"))
    body = b'{"stream":true,"messages":[{"role":"user","content":"%b"}]}' % token.encode()
    task = asyncio.create_task(http.post(f"{server.url}/v1/messages", {}, body))
    await server.requested(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.left(1)


async def test_a_closed_client_leaves_no_connection_that_still_sends(http: HttpClient) -> None:
    """The answer came early and ends the connection, so that the rest of the body is of no use."""
    body = bytes(64 * 1024 * 1024)
    closed: asyncio.Event = asyncio.Event()
    received: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await closed.wait()
        size = 0
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 20):
                size += len(data)
        received.set_result(size)

    async with listening(serve) as address:
        assert (await http.post(f"http://{address}/", {}, body)).status == 413
        await http.close()
        closed.set()
        assert await asyncio.wait_for(received, DEADLINE) < len(body)


async def test_nobody_listening_is_a_connection_error_that_names_the_address(http: HttpClient) -> None:
    with pytest.raises(HttpError, match=r"127\.0\.0\.1:9") as caught:
        await http.get("http://127.0.0.1:9/")
    assert caught.value.kind == "unreachable"


@pytest.mark.parametrize(
    "url", ["ftp://x/", "nonsense", "http://", "http://x:99999/", "http://x/a b", "http://x/\r\nX: y"]
)
async def test_a_bad_url_is_refused_and_not_retried(url: str, http: HttpClient) -> None:
    with pytest.raises(HttpError) as caught:
        await http.get(url)
    assert caught.value.kind == "invalid_request"


async def test_a_newline_at_the_end_of_a_key_is_forgiven(server: ModelServer, http: HttpClient) -> None:
    await (await http.post(f"{server.url}/v1/messages", {"x-api-key": "secret\n"}, b"{}")).read()
    assert server.requests[0].headers["x-api-key"] == "secret"


@pytest.mark.parametrize("value", ["a\r\nx-evil: 1", "a\0b", "kéy"])
async def test_a_header_that_cannot_be_sent_is_refused_without_showing_it(value: str, http: HttpClient) -> None:
    with pytest.raises(HttpError) as caught:
        await http.get("http://127.0.0.1:9/", {"x-api-key": value})
    assert caught.value.kind == "invalid_request"
    assert value not in str(caught.value)


async def test_connecting_takes_no_longer_than_allowed() -> None:
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with listening(deaf) as address:
        client = HttpClient(connect_timeout=0.05)
        with pytest.raises(HttpError) as caught:
            await client.get(f"https://{address}/")  # the TLS handshake never comes to an end
        await client.close()
    assert caught.value.kind == "timeout"
