"""Starts the server and says where it is; stops it in good order when asked to."""

import asyncio
import gc
import logging
import os
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from msgspec.structs import replace

from bobstay.config.environment import Environment
from bobstay.server.auth.auth_settings import AuthSettings, OpenBindError, check_bind
from bobstay.server.auth.host_names import BadAddress
from bobstay.server.auth.private_files import NotPrivate, opening_page
from bobstay.server.build_console import Built, build
from bobstay.server.console import Config
from bobstay.server.db.database_errors import DatabaseProblem
from bobstay.server.state_lock import StateLock, TakenError
from bobstay.server.streams.socket_protocol import listening_socket
from bobstay.server.streams.stream_server import StreamServer, server_options
from bobstay.version import __version__

log = logging.getLogger(__name__)
CUT_OFF = (OSError, TakenError, OpenBindError, BadAddress, NotPrivate, DatabaseProblem)


class ServeError(Exception):
    """The server cannot be started. The text is for a person."""


class Certificate:
    """The files of a certificate; both empty means no TLS."""

    def __init__(self, certificate: str = "", key: str = "") -> None:
        self.certificate = certificate
        self.key = key

    def __bool__(self) -> bool:
        return bool(self.certificate)


def serve(
    config: Config,
    environment: Environment,
    certificate: Certificate,
    *,
    insecure: bool = False,
    say: Callable[[str], object],
    browse: Callable[[str], object] | None = None,
) -> int:
    """Run until stopped. `say` is told the address, `browse` the page that leads a browser to it.

    Raises:
        ServeError
    """
    try:
        check_bind(config.host, tls=bool(certificate), insecure=insecure)
        lock = StateLock.take(config.state)
    except CUT_OFF as error:
        raise ServeError(_words(error)) from error
    try:
        with _listening(config) as listener, asyncio.Runner(loop_factory=_loop) as runner:
            return runner.run(_run(config, environment, certificate, listener, lock, say, browse))
    except CUT_OFF as error:
        raise ServeError(_words(error)) from error
    finally:
        lock.release()


async def _run(
    config: Config,
    environment: Environment,
    certificate: Certificate,
    listener: socket.socket,
    lock: StateLock,
    say: Callable[[str], object],
    browse: Callable[[str], object] | None,
) -> int:
    _raise_file_limit()
    _listen_to_signals()
    port: int = listener.getsockname()[1]
    config = replace(config, port=port)
    built = await build(config, environment, AuthSettings.of(config, tls=bool(certificate)))
    lock.note(built.console.doors.address())
    server = _Server(built, certificate, say, browse)
    try:
        await server.serve(sockets=[listener])
    finally:
        server.tidy()
    return 0


class _Server(StreamServer):
    """Says where it is once it is there."""

    def __init__(
        self,
        built: Built,
        certificate: Certificate,
        say: Callable[[str], object],
        browse: Callable[[str], object] | None,
    ) -> None:
        options = server_options(built.streams.timing)
        if certificate:
            options |= {"ssl_certfile": certificate.certificate, "ssl_keyfile": certificate.key or None}
        settings = uvicorn.Config(built.app, lifespan="on", log_config=None, proxy_headers=False, **options)
        super().__init__(settings, built.console.hub)
        self._console = built.console
        self._say = say
        self._browse = browse
        self._page = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.started:
            return
        gc.freeze()  # what is there by now stays: looking through it each time would hold everybody up for 50 ms
        log.info("bobstay %s serves port %d", __version__, self._console.config.port)
        doors = self._console.doors
        address = doors.address(await doors.start_code())
        self._say(address)
        if self._browse is not None:
            self._page = opening_page(self._console.config.state, address)
            self._browse(self._page)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        # uvicorn would let the signal end the process once more; it was obeyed, and the exit code says so.
        self._captured_signals.clear()

    def tidy(self) -> None:
        """Remove the page that led the browser here: it held a code."""
        if self._page and os.path.exists(self._page):
            os.unlink(self._page)


def _listening(config: Config) -> socket.socket:
    try:
        return listening_socket(config.host, config.port)
    except OSError as error:
        reason = f"Cannot listen on {config.host}:{config.port}: {error.strerror}. Choose another port with --port."
        raise OSError(error.errno, reason) from None


def _loop() -> asyncio.AbstractEventLoop:
    """A faster loop where there is one: with many clients the loop itself is most of the work."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _raise_file_limit() -> None:
    """Every session and every client is an open file: take as many as the system gives."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (OSError, ValueError):
        return


def _listen_to_signals() -> None:
    """What this process ignores (after `nohup`, or `&` in a script) the programs in its terminals would ignore too.

    A handler that does nothing is the same to us, but nobody inherits it.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _pass_over)


def _pass_over(_number: int, _frame: FrameType | None) -> None:
    """Nothing: see above."""


def _words(error: BaseException) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
