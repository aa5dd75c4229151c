"""Runs the console's server: binds its socket, prints its address, and shuts it down gracefully."""

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
from bobstay.server.build_console import ConsoleServer, build_console
from bobstay.server.db.database_errors import DatabaseProblem
from bobstay.server.server_options import ServerOptions
from bobstay.server.state_lock import StateLock, StateLockedError
from bobstay.server.streams.socket_protocol import listening_socket
from bobstay.server.streams.stream_server import StreamServer, server_options
from bobstay.version import __version__

log = logging.getLogger(__name__)
START_ERRORS = (OSError, StateLockedError, OpenBindError, BadAddress, NotPrivate, DatabaseProblem)


class ServeError(Exception):
    """The server cannot be started. The text is for people."""


class Certificate:
    """The files of a certificate; both empty means no TLS."""

    def __init__(self, certificate: str = "", key: str = "") -> None:
        self.certificate = certificate
        self.key = key

    def __bool__(self) -> bool:
        return bool(self.certificate)


def serve(
    config: ServerOptions,
    environment: Environment,
    certificate: Certificate,
    *,
    insecure: bool = False,
    say: Callable[[str], object],
    browse: Callable[[str], object] | None = None,
) -> int:
    """Run until stopped. `say` prints the address, `browse` opens the page that redirects a browser to it.

    Raises:
        ServeError
    """
    try:
        check_bind(config.host, tls=bool(certificate), insecure=insecure)
        lock = StateLock.acquire(config.state)
    except START_ERRORS as error:
        raise ServeError(_error_text(error)) from error
    try:
        with _open_listener(config) as listener, asyncio.Runner(loop_factory=_new_event_loop) as runner:
            return runner.run(_run(config, environment, certificate, listener, lock, say, browse))
    except START_ERRORS as error:
        raise ServeError(_error_text(error)) from error
    finally:
        lock.release()


async def _run(
    config: ServerOptions,
    environment: Environment,
    certificate: Certificate,
    listener: socket.socket,
    lock: StateLock,
    say: Callable[[str], object],
    browse: Callable[[str], object] | None,
) -> int:
    _raise_file_limit()
    _reset_ignored_signals()
    port: int = listener.getsockname()[1]
    config = replace(config, port=port)
    built = await build_console(config, environment, AuthSettings.of(config, tls=bool(certificate)))
    lock.write_address(built.services.auth.address())
    server = _Server(built, certificate, say, browse)
    try:
        await server.serve(sockets=[listener])
    finally:
        server.remove_opening_page()
    return 0


class _Server(StreamServer):
    """Prints its address once it accepts connections."""

    def __init__(
        self,
        built: ConsoleServer,
        certificate: Certificate,
        say: Callable[[str], object],
        browse: Callable[[str], object] | None,
    ) -> None:
        options = server_options(built.services.streams.timing)
        if certificate:
            options |= {"ssl_certfile": certificate.certificate, "ssl_keyfile": certificate.key or None}
        settings = uvicorn.Config(built.app, lifespan="on", log_config=None, proxy_headers=False, **options)
        super().__init__(settings, built.services.streams.hub)
        self._services = built.services
        self._say = say
        self._browse = browse
        self._page = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.started:
            return
        gc.freeze()  # objects created until now are permanent: scanning them would pause all requests for 50 ms
        log.info("bobstay %s serves port %d", __version__, self._services.options.port)
        auth = self._services.auth
        address = auth.address(await auth.start_code())
        self._say(address)
        if self._browse is not None:
            self._page = opening_page(self._services.options.state, address)
            self._browse(self._page)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        # uvicorn would raise the signal again; the server already stopped because of it and exits with 0.
        self._captured_signals.clear()

    def remove_opening_page(self) -> None:
        """Remove the page that redirected the browser, because it contains a code."""
        if self._page and os.path.exists(self._page):
            os.unlink(self._page)


def _open_listener(config: ServerOptions) -> socket.socket:
    try:
        return listening_socket(config.host, config.port)
    except OSError as error:
        reason = f"Cannot listen on {config.host}:{config.port}: {error.strerror}. Choose another port with --port."
        raise OSError(error.errno, reason) from None


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop if it is installed: with many clients the event loop is most of the work."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _raise_file_limit() -> None:
    """Raise the limit of open files to the hard limit: every session and every client needs one."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (OSError, ValueError):
        return


def _reset_ignored_signals() -> None:
    """Replace ignored signals (after `nohup`, or `&` in a script), which the programs in terminals would inherit.

    A handler that does nothing has the same effect here, but is not inherited.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _ignore_signal)


def _ignore_signal(_number: int, _frame: FrameType | None) -> None:
    """Do nothing, without SIG_IGN."""


def _error_text(error: BaseException) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
