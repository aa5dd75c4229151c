"""The command `bobstay`: the first look at the arguments, before anything costly is imported."""

import sys

from bobstay.version import __version__

COMMANDS = {
    "serve": "start the console: watch, steer and approve agents in the browser",
    "token": "make, list and revoke tokens for programs that use the console",
    "reindex": "make the console's tables anew from the logs",
    "sessions": "list the sessions kept on this machine",
    "permissions": "explain a decision; list, add and remove rules",
    "auth": "store, list and forget keys of model providers",
    "doctor": "look whether everything is in place",
    "trust": "show, give or take back trust in a folder",
    "help": "show this help",
}
"""Sub-commands, each in the module of its name, imported only when it is called."""


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Do what `arguments` ask for; return the exit code."""
    first = arguments[0] if arguments else ""
    if first in ("--version", "-v"):
        sys.stdout.write(f"{__version__} (bobstay)\n")
        return 0
    if first in ("--help", "-h", "help"):
        from bobstay.cli.help_text import usage

        sys.stdout.write(usage(COMMANDS))
        return 0
    _hide_keys()
    if first in COMMANDS:
        from importlib import import_module

        return int(import_module(f"bobstay.cli.{first}").run(arguments[1:]))
    from bobstay.cli.print_command import run as print_mode

    return print_mode(arguments)


def _hide_keys() -> None:
    """Keep the keys out of what other programs of this user, such as the agent's commands, can read of this process."""
    from bobstay.config.secret_variables import holds_secret, secret_in_argument
    from bobstay.system.process_memory import blank_arguments, blank_environment

    blank_environment(holds_secret)
    blank_arguments(secret_in_argument)
