"""`bobstay mcp serve`: offers the tools and sessions of bobstay to other programs."""

import asyncio
import os
import sys

from bobstay.cli.flag_parser import UsageError
from bobstay.cli.option_rules import read_options
from bobstay.config.options import Options

USAGE = """\
Usage: bobstay mcp serve [--http [--port PORT] [--token-file FILE]] [flags of bobstay -p]

Serves one client over stdin and stdout; with --http, clients on this machine that send the token, which is printed or
read from FILE. Tools and sessions work in the current folder and the folders of --add-dir. What the rules
there and --allowedTools do not allow is denied, unless the client can ask a person (elicitation).
"""
MAX_TOKEN_LENGTH = 512
MIN_TOKEN_LENGTH = 16


def run(arguments: list[str]) -> int:
    """Return 0 after a regular end, 1 on failure, 2 for an invalid command line."""
    if {"--help", "-h"} & set(arguments):
        sys.stdout.write(USAGE)
        return 0
    try:
        own, rest = _split(arguments)
        return _serve(_read_options(rest), own)
    except UsageError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def _read_options(arguments: list[str]) -> Options:
    options = read_options(arguments, os.environ, terminal=False)
    if options.prompt is not None or options.continue_ or options.resume is not None or options.session_id is not None:
        raise UsageError("bobstay mcp serve takes no prompt, and continues no session: its clients do that.")
    return options


def _serve(options: Options, own: dict[str, str]) -> int:
    from bobstay.assembly.build_session import StartError
    from bobstay.config.environment import Environment

    cwd = os.path.realpath(options.cwd or os.getcwd())
    environment = Environment.read()
    try:
        if "--http" in own:
            token = _read_token(own.get("--token-file", ""))
            port = int(own.get("--port", "0"))
            from bobstay.mcp_server.serve_mcp_http import serve_http

            asyncio.run(serve_http(options, environment, cwd, _say, port=port, token=token))
        else:
            from bobstay.mcp_server.serve_mcp import serve_stdio

            asyncio.run(serve_stdio(options, environment, cwd, _say))
    except StartError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"The server cannot start: {error.strerror or error}.\n")
        return 1
    return 0


def _split(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """Separate the flags of this command from those of a session."""
    own: dict[str, str] = {}
    others: list[str] = []
    rest = list(reversed(arguments))
    while rest:
        argument = rest.pop()
        name, equals, value = argument.partition("=")
        if argument == "--http":
            own[argument] = ""
        elif name in ("--port", "--token-file"):
            if not equals and not rest:
                raise UsageError(f"{name} needs a value.")
            own[name] = value if equals else rest.pop()
        else:
            others.append(argument)
    port = own.get("--port", "0")
    if not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise UsageError("--port is a number below 65536.")
    if own and "--http" not in own:
        raise UsageError("--port and --token-file are for --http.")
    return own, others


def _read_token(file: str) -> str:
    from bobstay.system.safe_read import read_regular

    if not file:
        return ""
    data = read_regular(file, MAX_TOKEN_LENGTH + 1)
    token = (data or b"").decode("latin-1").strip()
    if not MIN_TOKEN_LENGTH <= len(token) <= MAX_TOKEN_LENGTH or not (token.isascii() and token.isprintable()):
        raise UsageError(f"{file} has no token: one line of {MIN_TOKEN_LENGTH} or more printable ASCII characters.")
    return token


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
