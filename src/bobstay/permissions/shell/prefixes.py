"""What may stand before the command that matters, as far as an allow rule may look: little, and all of it exact."""

from collections.abc import Iterator

from bobstay.permissions.shell.expand import Seen
from bobstay.permissions.shell.syntax import Word
from bobstay.permissions.shell.tables import names

SAFE_VARIABLES = names(
    "CI COLUMNS DEBUG FORCE_COLOR GOARCH GOOS LANG LC_ALL LC_CTYPE NODE_ENV NO_COLOR PYTHONUNBUFFERED "
    "RUST_BACKTRACE RUST_LOG TERM TZ"
)
TRANSPARENT = names("timeout time nice nohup stdbuf command builtin noglob xargs")
"""Wrappers an allow rule looks through, where their own arguments are plain."""
EXEC_WRAPPERS = names(
    "env sudo doas setsid ionice watch flock strace ltrace parallel exec eval source . trap chroot xargs "
    "busybox ssh nsenter unshare script su runuser"
)
"""They run what they are given: an allow rule with a wildcard never covers them."""
SHELLS = names("sh bash dash zsh ksh ash rbash")
MOST = 12
"""Prefixes looked past; a command behind more of them is not looked at."""
FED = Seen("", "", dynamic=True, splits=True)
"""The arguments `xargs` adds from its input."""


def is_harmless_assignment(word: Word) -> bool:
    name, _, _ = word.source.partition("=")
    return name in SAFE_VARIABLES and word.literal and not _is_path(word.value.partition("=")[2])


def _is_path(value: str) -> bool:
    """`TZ=/home/x` makes a program read that file; `TZ=Europe/Rome` does not."""
    return value.startswith(("/", ":", ".", "~")) or ".." in value


def harmless(words: list[Seen]) -> Iterator[list[Seen]]:
    """The command itself, then what is left as each harmless prefix is taken off."""
    yield words
    timed = False
    for _ in range(MOST):
        if len(words) < 2:
            return
        taken = 1 if timed and _is_timed_variable(words[0]) else _length(words)
        if taken == 0 or taken >= len(words) or any(word.dynamic or word.glob for word in words[: taken + 1]):
            return
        timed = words[0].value == "time"
        fed = words[0].value == "xargs"
        words = words[taken:]
        if fed:
            words = [*words, FED]
        yield words


def _is_timed_variable(word: Seen) -> bool:
    """`time` is a word of the grammar, so variables may follow it."""
    name, equals, _ = word.source.partition("=")
    return bool(equals) and name in SAFE_VARIABLES and not _is_path(word.value.partition("=")[2])


def _length(words: list[Seen]) -> int:
    values = [word.value for word in words]
    match values[0]:
        case "nohup" | "noglob" | "command" | "builtin" | "xargs":
            return 0 if values[1].startswith("-") else 1
        case "time":
            return 2 if values[1] == "-p" else 0 if values[1].startswith("-") else 1
        case "nice":
            return _nice_length(values)
        case "timeout":
            return _timeout_length(values)
        case "stdbuf":
            plain = [value[:2] in ("-i", "-o", "-e") and value[2:].isalnum() for value in values[1:]]
            count = plain.index(False) if False in plain else len(plain)
            return count + 1 if count else 0
        case _:
            return 0


def _nice_length(values: list[str]) -> int:
    option = values[1]
    if not option.startswith("-"):
        return 1
    if option == "-n" and len(values) > 2 and values[2].lstrip("-").isdigit():
        return 3
    number = option.removeprefix("--adjustment=").removeprefix("-n").lstrip("-")
    return 2 if number.isdigit() else 0


def _timeout_length(values: list[str]) -> int:
    position = 1
    while position < len(values) and values[position].startswith("-"):
        option = values[position]
        if option in ("-k", "-s"):
            position += 2
        elif option.startswith(("--signal=", "--kill-after=")) or option in ("--preserve-status", "--foreground", "-v"):
            position += 1
        else:
            return 0
    if position >= len(values):
        return 0
    return position + 1 if is_duration(values[position]) else 0


def is_duration(text: str) -> bool:
    number = text[:-1] if text[-1:] in ("s", "m", "h", "d") else text
    return number.isascii() and number.replace(".", "", 1).isdigit()
