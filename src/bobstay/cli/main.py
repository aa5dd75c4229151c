"""Entry point of the command `bobstay`: dispatches sub-commands before anything costly is imported."""

import sys

from bobstay.version import __version__

COMMANDS = {
    "serve": "start the console: watch, steer and approve agents in the browser",
    "token": "create, list and revoke tokens for programs that use the console",
    "reindex": "rebuild the console's tables from the logs",
    "sessions": "list the sessions stored on this machine",
    "permissions": "explain a decision; list, add and remove rules",
    "mcp": "add, list and remove MCP servers; sign in to them; offer bobstay as one",
    "auth": "store, list and remove keys of model providers",
    "doctor": "check the installation",
    "trust": "show, grant or revoke trust in a folder",
    "plugin": "add, list, enable, disable and remove plugins",
    "help": "show this help",
}
"""Sub-commands, each in the module `<name>_command`, imported only when it is called."""


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command; return the exit code."""
    first = arguments[0] if arguments else ""
    if first in ("--version", "-v"):
        sys.stdout.write(f"{__version__} (bobstay)\n")
        return 0
    if first in ("--help", "-h", "help"):
        from bobstay.cli.help_text import build_usage

        sys.stdout.write(build_usage(COMMANDS))
        return 0
    _blank_keys()
    if first in COMMANDS:
        from importlib import import_module

        return int(import_module(f"bobstay.cli.{first}_command").run(arguments[1:]))
    _load_msgspec()
    from bobstay.cli.print_command import run as print_mode

    return print_mode(arguments)


def _blank_keys() -> None:
    """Blank keys in the memory of this process that other programs of this user, such as commands, could read."""
    from bobstay.config.secret_variables import find_secret_in_argument, has_secret
    from bobstay.system.process_memory import blank_arguments, blank_environment

    blank_environment(has_secret)
    blank_arguments(find_secret_in_argument)


def _load_msgspec() -> None:
    """Load msgspec without `typing_extensions`: it takes only what Python has too, and that costs 15 of our modules."""
    if "typing_extensions" in sys.modules:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment] # makes the import fail, as msgspec expects it to
    try:
        __import__("msgspec")
    finally:
        del sys.modules["typing_extensions"]
