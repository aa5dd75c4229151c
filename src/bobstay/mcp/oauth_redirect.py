"""Redirect listener: receives the one request by which a browser returns from signing in, on this machine only."""

import asyncio
import secrets
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

PATH = "/callback"
MAX_HEAD = 16_384
HEAD_SECONDS = 10.0
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>bobstay</title></head>
<body style="font-family: sans-serif; margin: 4em auto; max-width: 32em"><h1>{title}</h1><p>{text}</p></body></html>"""


class SignInRefused(Exception):  # noqa: N818 - it names what happened
    """The authorization server sent the browser back with an error; the text is its code."""


class Redirected(Struct, frozen=True):
    """The parameters of the redirect."""

    code: str
    state: str
    iss: str | None = None


class RedirectListener:
    """Requests with another `state` than the expected one are turned away, and the wait goes on."""

    def __init__(self, server: asyncio.Server, port: int) -> None:
        self.port = port
        self._server = server
        self._state = ""
        self._result: asyncio.Future[Redirected] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, port: int = 0) -> "RedirectListener":
        """Listen on `port` if it is free, else on any."""
        made: list[RedirectListener] = []

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await made[0]._serve(reader, writer)  # noqa: SLF001 - the class itself

        try:
            server = await asyncio.start_server(accept, "127.0.0.1", port, limit=MAX_HEAD)
        except OSError:
            server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=MAX_HEAD)
        made.append(cls(server, server.sockets[0].getsockname()[1]))
        return made[0]

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATH}"

    def expect(self, state: str) -> None:
        """Wait for the redirect that carries this state."""
        self._state = state

    async def wait(self, seconds: float) -> Redirected:
        """Return what the browser brought.

        Raises:
            TimeoutError: nobody came.
            SignInRefused: the authorization server refused.
        """
        return await asyncio.wait_for(self._result, seconds)

    async def close(self) -> None:
        self._server.close()
        if not self._result.done():
            self._result.cancel()
        elif not self._result.cancelled():
            self._result.exception()  # nobody may have waited for it

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_SECONDS)
            status, title, text = self._answer(head.decode("latin-1"))
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            writer.close()
            return
        body = PAGE.format(title=title, text=text).encode()
        headers = (
            f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
            "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
        )
        writer.write(headers.encode() + body)
        try:
            await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    def _answer(self, head: str) -> tuple[str, str, str]:
        """Return status, title and text of the page. No text of the request is shown."""
        lines = head.split("\r\n")
        method, _, rest = lines[0].partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        host = next((line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")), "")
        if method != "GET" or target.path != PATH or host not in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            return "404 Not Found", "Nothing here", "This address only receives the end of a sign-in."
        fields = {name: values[0] for name, values in parse_qs(target.query, max_num_fields=50).items()}
        state = fields.get("state", "")
        if not self._state or not secrets.compare_digest(state.encode(), self._state.encode()):
            return "400 Bad Request", "Not expected", "This does not belong to the sign-in that is under way."
        if self._result.done():
            return "400 Bad Request", "Already done", "This sign-in is already complete."
        if not fields.get("code"):
            self._result.set_exception(SignInRefused(fields.get("error", "no code was returned")[:100]))
            return "200 OK", "Not signed in", "The sign-in was refused. You can close this page."
        self._result.set_result(Redirected(fields["code"], state, fields.get("iss")))
        return "200 OK", "Signed in", "bobstay received the sign-in. You can close this page."
