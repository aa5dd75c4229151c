"""`bobstay serve`: starts the console's server."""

import argparse
import os
import sys
from typing import Any

from bobstay.cli.database_url import database_url, restart_without_password

KEPT_LOGS = 5
LOG_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def run(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    restart_without_password(arguments, options.db)
    try:
        options.db = database_url(options.db, options.db_file)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    from bobstay.config.environment import Environment
    from bobstay.server.serve_console import Certificate, ServeError, serve

    environment = Environment.read()
    _configure_logging(options.log_level, os.path.join(environment.paths.bobstay, "server"))
    try:
        return serve(
            _build_config(options, environment.paths.bobstay),
            environment,
            Certificate(options.tls_certificate, options.tls_key),
            insecure=options.insecure,
            say=_print_address,
            browse=None if options.no_browser or not _has_browser() else _open_browser,
        )
    except ServeError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bobstay serve", description="Start the console and print its address.")
    port = os.environ.get("PORT") or "3001"  # a string, so that argparse validates it like the option
    parser.add_argument("--port", type=_port, default=port, metavar="PORT", help="default: 3001 or $PORT")
    parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1, reachable from this machine only")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument("--db", default="", metavar="URL", help="postgresql://… instead of SQLite in the state folder")
    parser.add_argument("--db-file", metavar="FILE", help="a file that contains that URL; or $BOBSTAY_DB")
    parser.add_argument(
        "--root",
        action="append",
        default=[],
        type=_folder,
        metavar="DIR",
        help="sessions may work below it; repeatable",
    )
    parser.add_argument(
        "--max-running", type=int, default=8, metavar="N", help="sessions running at the same time; default: 8"
    )
    parser.add_argument(
        "--idle", type=float, default=900, metavar="SECONDS", help="stop an idle agent after; default: 900"
    )
    parser.add_argument(
        "--archive-after", type=float, default=0, metavar="DAYS", help="compress archived sessions after"
    )
    parser.add_argument(
        "--engine", action="append", default=[], type=_engine, metavar="NAME=COMMAND", help="an external agent"
    )
    parser.add_argument(
        "--own-login", action="store_true", help="pass no keys to external agents: they log in themselves"
    )
    parser.add_argument(
        "--questions",
        choices=("permission", "hook"),
        default="permission",
        help="how questions of external agents reach people; default: permission",
    )
    parser.add_argument("--public-url", action="append", default=[], metavar="URL", help="behind a reverse proxy")
    parser.add_argument(
        "--user-header", default="", metavar="NAME", help="header in which a trusted proxy names the user"
    )
    parser.add_argument(
        "--trusted-proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="address or network; default: this machine; repeatable",
    )
    parser.add_argument("--tls-certificate", default="", metavar="FILE")
    parser.add_argument("--tls-key", default="", metavar="FILE")
    parser.add_argument("--insecure", action="store_true", help="accept other machines without TLS")
    parser.add_argument("--log-level", default="warning", choices=("debug", "info", "warning", "error"))
    return parser


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65_535):
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a port: give a number from 0 to 65535 (--port or $PORT)"
        )
    return int(text)


def _folder(text: str) -> str:
    path = os.path.realpath(os.path.expanduser(text))
    if not os.path.isdir(path):
        raise argparse.ArgumentTypeError(f"there is no folder {text[:200]!r}: make it first, or name another")
    return path


def _engine(text: str) -> tuple[str, tuple[str, ...]]:
    import shlex

    name, sign, command = text.partition("=")
    try:
        arguments = tuple(shlex.split(command))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text[:200]!r} cannot be read: {error}") from None
    if not sign or not name.strip() or not arguments:
        raise argparse.ArgumentTypeError(f"{text[:200]!r} is not NAME=COMMAND, such as claude=/opt/claude/bin/claude")
    if name.strip() == "native":
        raise argparse.ArgumentTypeError("native is the name of the built-in engine: choose another")
    return name.strip(), arguments


def _build_config(options: Any, home: str) -> Any:
    from bobstay.server.server_options import ServerOptions

    engines: dict[str, tuple[str, ...]] = {"claude": ("claude",), "bobstay": (sys.executable, "-m", "bobstay")}
    engines |= dict(options.engine)
    return ServerOptions(
        state=os.path.join(home, "server"),
        host=options.host,
        port=options.port,
        database=options.db,
        roots=tuple(options.root),
        most_running=max(options.max_running, 1),
        idle_seconds=options.idle,
        engines=engines,
        archive_after_days=options.archive_after,
        pass_keys=not options.own_login,
        questions=options.questions,
        public_urls=tuple(options.public_url),
        user_header=options.user_header,
        proxies=tuple(options.trusted_proxy),
    )


def _print_address(address: str) -> None:
    sys.stdout.write(f"bobstay console: {address}\n")
    sys.stdout.write("Open it in a browser; the link works once. Ctrl+C stops the server.\n")
    sys.stdout.flush()


def _open_browser(page: str) -> None:
    import webbrowser

    webbrowser.open(f"file://{page}")


def _has_browser() -> bool:
    return sys.stdout.isatty() and (sys.platform == "darwin" or bool(os.environ.get("DISPLAY")))


def _configure_logging(level: str, folder: str) -> None:
    """Log to the terminal at the requested level, and to a rotating file at least at level info."""
    import logging
    from logging.handlers import RotatingFileHandler

    terminal = logging.StreamHandler()
    terminal.setLevel(level.upper())
    os.makedirs(folder, 0o700, exist_ok=True)
    os.chmod(folder, 0o700)
    path = os.path.join(folder, "server.log")
    for name in (path, *(f"{path}.{number}" for number in range(1, KEPT_LOGS + 1))):
        if os.path.isfile(name) and not os.path.islink(name):
            os.chmod(name, 0o600)  # it may be from an earlier version or a loose umask

    class PrivateFileHandler(RotatingFileHandler):
        def _open(self) -> Any:
            return open(os.open(self.baseFilename, LOG_FLAGS, 0o600), self.mode, encoding=self.encoding)

    file = PrivateFileHandler(path, maxBytes=10_000_000, backupCount=KEPT_LOGS, delay=True)
    file.setLevel(min(logging.INFO, terminal.level))
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=min(logging.INFO, terminal.level), handlers=[terminal, file], format=form)
    for noisy in ("aiosqlite", "alembic", "asyncio", "watchfiles", "uvicorn"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
