"""How the shell is called so that it runs a command as it stands and tells where it ended."""

import fcntl
import os
import re
import signal
from pathlib import Path

from bobstay.system.child_process import find_program
from bobstay.tools.base import ToolError

SETTINGS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "TERM": "dumb",
}
"""A command has nobody to ask and no screen to draw on."""
PREPARED = frozenset(("BASH_ENV", "ENV", "PROMPT_COMMAND"))
"""Variables that would make a shell run something before the command."""
_LONGEST_ARGUMENT = 100_000
_HIGH = 200
"""Descriptors from here on are out of the way of those that scripts choose for themselves."""
_LINGER = (
    "; { set +f -- /proc/[0-9]*; for __ in 1 2 3 4 5 6 7 8; do [ $# -gt 2 ] || break; read -rt 0.02 <> <(:) || :; "
    "set -- /proc/[0-9]*; done; } 2>/dev/null"
)
"""Waits up to 0.16 s while there are processes beside the shell and the first one of its process namespace."""
_NEEDED_BY = {
    "gh": ("GH_TOKEN", "GITHUB_TOKEN"),
    "glab": ("GITLAB_TOKEN",),
    "aws": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    "terraform": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "ARM_CLIENT_SECRET", "GOOGLE_CREDENTIALS"),
    "az": ("AZURE_CLIENT_SECRET",),
    "npm": ("NPM_TOKEN", "NODE_AUTH_TOKEN"),
    "twine": ("TWINE_PASSWORD",),
    "psql": ("PGPASSWORD",),
}
"""Programs that read their credentials from the environment without being told to."""
_SETS_TRAP = re.compile(r"\btrap\b")


def exit_words(code: int) -> str:
    """What an exit code means, for a reader."""
    if code >= 0:
        return f"Exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"Exit code {128 - code} (ended by {name})"


def shell_arguments(command: str, path: str, descriptor: int, output: Path, *, contained: bool = False) -> list[str]:
    """The shell and its arguments. When it ends it writes the directory it stands in to `descriptor`.

    In a sandbox all else ends with the shell, so there it gives what is about to end a moment: `tee` behind `>( )`.

    The command itself is not altered, so its line numbers and messages stay true. One too long for an argument goes
    to a file beside `output`.

    Raises:
        ToolError: there is no shell.
    """
    tell = f"{{ pwd -P >&{descriptor}; }} 2>/dev/null"
    shell = find_program("bash", path) or find_program("bash", "/bin:/usr/bin:/usr/local/bin")
    if not shell:
        if not os.access("/bin/sh", os.X_OK):
            raise ToolError("There is neither bash nor /bin/sh on this machine, so no command can be run.")
        tell = f"{{ pwd -P >/dev/fd/{descriptor}; }} 2>/dev/null"
    before = f"trap '{tell}{_LINGER if contained and shell else ''}' EXIT"
    if contained:
        before = f"ulimit -c 0; {before}"
    if shell and _SETS_TRAP.search(command):  # it may replace ours, so each change of directory is told
        before += "".join(
            f'; {name}() {{ builtin {name} "$@" && {{ [ $BASH_SUBSHELL != 0 ] || {tell}; }}; }}'
            for name in ("cd", "pushd", "popd")
        )
    options = ["--noprofile", "--norc"] if shell else []
    name = "bash" if shell else "sh"
    if not _is_long(command):
        text = f'{before}; __command=$1; shift; eval "$__command"'
        return [shell or "/bin/sh", *options, "-c", text, name, command]
    text = f'{before}; __command=$1; shift; . "$__command"'
    return [shell or "/bin/sh", *options, "-c", text, name, _script(command, output)]


def remove_script(command: str, output: Path) -> None:
    """Remove the file of a command that was too long for an argument: it is remembered without its secrets."""
    if _is_long(command):
        output.with_suffix(".sh").unlink(missing_ok=True)


def _is_long(command: str) -> bool:
    return len(command) > _LONGEST_ARGUMENT // 4 and len(os.fsencode(command)) > _LONGEST_ARGUMENT


def _script(command: str, output: Path) -> str:
    """A file with a command too long to be an argument."""
    path = output.with_suffix(".sh")
    os.makedirs(path.parent, mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(os.fsencode(command))
    return str(path)


def out_of_the_way(descriptor: int) -> int:
    """Move a descriptor out of the way of scripts that choose numbers for their own."""
    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except OSError:
        return descriptor
    os.close(descriptor)
    return high


def last_directory(told: bytes) -> str:
    """The directory the shell told last, or "" if it told none."""
    lines = told.split(b"\n")
    return os.fsdecode(lines[-2]) if len(lines) > 1 and lines[-2].startswith(b"/") else ""


def withheld_note(command: str, withheld: frozenset[str]) -> str:
    """A line about the variables a command names, or its program needs, that it was not given; "" if there are none."""
    words = frozenset(re.findall(r"\w+", command)) if withheld else frozenset()
    needed = {name for program, names in _NEEDED_BY.items() if program in words for name in names}
    missing = sorted(withheld & (words | needed))
    if not missing:
        return ""
    return (
        f"(Not given to commands, because it may hold a secret: {', '.join(missing)}. A person can pass it by "
        "name with `passVariables` in the settings.)"
    )
