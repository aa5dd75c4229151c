"""Builds the shell command line: runs a command unaltered and reports the directory it ended in."""

import fcntl
import os
import re
import signal
from pathlib import Path

from bobstay.system.child_process import find_program
from bobstay.tools.tool_error import ToolError

NON_INTERACTIVE = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "TERM": "dumb",
}
"""Commands have no person to prompt and no terminal to draw on."""
STARTUP_VARIABLES = frozenset(("BASH_ENV", "ENV", "PROMPT_COMMAND"))
"""Variables that make a shell run code before the command."""
_MAX_ARGUMENT = 100_000
_FIRST_HIGH_DESCRIPTOR = 200
"""Descriptors from here on do not collide with those scripts choose for themselves."""
_WAIT_FOR_CHILDREN = (
    "; { set +f -- /proc/[0-9]*; for __ in 1 2 3 4 5 6 7 8; do [ $# -gt 2 ] || break; read -rt 0.02 <> <(:) || :; "
    "set -- /proc/[0-9]*; done; } 2>/dev/null"
)
"""Waits up to 0.16 s for processes other than the shell and the init process of its PID namespace."""
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
"""Programs that read their credentials from the environment by default."""
_SETS_TRAP = re.compile(r"\btrap\b")


def describe_exit(code: int) -> str:
    """Describe an exit code; negative ones are signals."""
    if code >= 0:
        return f"Exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"Exit code {128 - code} (ended by {name})"


def build_shell_arguments(
    command: str, path: str, descriptor: int, output: Path, *, contained: bool = False
) -> list[str]:
    """Return the shell and its arguments. On exit the shell writes its working directory to `descriptor`.

    In a sandbox everything else ends with the shell, so it first waits briefly for processes that are about to end,
    such as `tee` behind `>( )`.

    The command itself is not altered, so its line numbers and messages stay correct. A command too long for an
    argument goes to a file beside `output`.

    Raises:
        ToolError: no shell is installed.
    """
    report_cwd = f"{{ pwd -P >&{descriptor}; }} 2>/dev/null"
    shell = find_program("bash", path) or find_program("bash", "/bin:/usr/bin:/usr/local/bin")
    if not shell:
        if not os.access("/bin/sh", os.X_OK):
            raise ToolError("There is neither bash nor /bin/sh on this machine, so no command can be run.")
        report_cwd = f"{{ pwd -P >/dev/fd/{descriptor}; }} 2>/dev/null"
    before = f"trap '{report_cwd}{_WAIT_FOR_CHILDREN if contained and shell else ''}' EXIT"
    if contained:
        before = f"ulimit -c 0; {before}"
    if shell and _SETS_TRAP.search(command):  # it may replace our trap, so report each change of directory
        before += "".join(
            f'; {name}() {{ builtin {name} "$@" && {{ [ $BASH_SUBSHELL != 0 ] || {report_cwd}; }}; }}'
            for name in ("cd", "pushd", "popd")
        )
    options = ["--noprofile", "--norc"] if shell else []
    name = "bash" if shell else "sh"
    if not _is_long(command):
        text = f'{before}; __command=$1; shift; eval "$__command"'
        return [shell or "/bin/sh", *options, "-c", text, name, command]
    text = f'{before}; __command=$1; shift; . "$__command"'
    return [shell or "/bin/sh", *options, "-c", text, name, _write_script(command, output)]


def remove_script(command: str, output: Path) -> None:
    """Remove the script file of a long command: it may contain secrets."""
    if _is_long(command):
        output.with_suffix(".sh").unlink(missing_ok=True)


def _is_long(command: str) -> bool:
    return len(command) > _MAX_ARGUMENT // 4 and len(os.fsencode(command)) > _MAX_ARGUMENT


def _write_script(command: str, output: Path) -> str:
    """Write a command too long for an argument to a file, and return its path."""
    path = output.with_suffix(".sh")
    os.makedirs(path.parent, mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(os.fsencode(command))
    return str(path)


def move_descriptor_up(descriptor: int) -> int:
    """Move a descriptor to a high number, so that it does not collide with those scripts choose."""
    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_HIGH_DESCRIPTOR)
    except OSError:
        return descriptor
    os.close(descriptor)
    return high


def parse_last_directory(report: bytes) -> str:
    """The directory the shell reported last, or "" if it reported none."""
    lines = report.split(b"\n")
    return os.fsdecode(lines[-2]) if len(lines) > 1 and lines[-2].startswith(b"/") else ""


def describe_withheld(command: str, withheld: frozenset[str]) -> str:
    """A note on withheld variables that the command names or its program needs; "" if there are none."""
    names_used = frozenset(re.findall(r"\w+", command)) if withheld else frozenset()
    needed = {name for program, names in _NEEDED_BY.items() if program in names_used for name in names}
    missing = sorted(withheld & (names_used | needed))
    if not missing:
        return ""
    return (
        f"(Not given to commands, because it may hold a secret: {', '.join(missing)}. A person can pass it by "
        "name with `passVariables` in the settings.)"
    )
