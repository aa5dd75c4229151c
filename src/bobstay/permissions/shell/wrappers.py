"""Removes the harmless prefixes of a command that allow rules ignore: wrappers with known options, and variables."""

import re
from collections.abc import Iterator

from bobstay.permissions.shell.expansion import ExpandedWord
from bobstay.permissions.shell.getopt import Grammar, leading_options
from bobstay.permissions.shell.name_sets import names
from bobstay.permissions.shell.syntax import Word

SAFE_VARIABLES = names(
    "CI COLUMNS DEBUG FORCE_COLOR GOARCH GOOS LANG LC_ALL LC_CTYPE NODE_ENV NO_COLOR PYTHONUNBUFFERED "
    "RUST_BACKTRACE RUST_LOG TERM TZ"
)
TRANSPARENT = names("timeout time nice nohup stdbuf command builtin noglob xargs")
"""Wrappers that an allow rule ignores, if their own arguments are literal."""
EXEC_WRAPPERS = names(
    "env sudo doas setsid ionice watch flock strace ltrace parallel exec eval source . trap chroot xargs "
    "busybox ssh nsenter unshare script su runuser chrt taskset numactl prlimit setpriv systemd-run pkexec entr "
    "unbuffer fakeroot"
)
"""They run their arguments: an allow rule with a wildcard never covers them."""
SHELLS = names("sh bash dash zsh ksh ash rbash")
_STANDARD = {"help": "", "version": ""}
TIMEOUT = Grammar(
    "fpv",
    "ks",
    long={"foreground": "f", "preserve-status": "p", "verbose": "v", "kill-after=": "k", "signal=": "s", **_STANDARD},
)
NICE = Grammar(valued="n", long={"adjustment=": "n", **_STANDARD})
STDBUF = Grammar(valued="ioe", long={"input=": "i", "output=": "o", "error=": "e", **_STANDARD})
TIME = Grammar("p")
"""The options that the shell keyword and the program have in common; the program can also write a file."""
NO_OPTIONS = Grammar()
NUMBER = re.compile(r"[+-]?[0-9]+")
MOST_WORDS = 30
"""The number of words in which the options of a wrapper must end."""
MOST = 12
"""The number of prefixes that are removed."""
XARGS_INPUT = ExpandedWord("", "", dynamic=True, splits=True)
"""The arguments that `xargs` appends from its input."""


def is_harmless_assignment(word: Word) -> bool:
    name, _, _ = word.source.partition("=")
    return name in SAFE_VARIABLES and word.literal and not _is_path(word.value.partition("=")[2])


def _is_path(value: str) -> bool:
    """`TZ=/home/x` makes a program read that file; `TZ=Europe/Rome` does not."""
    return value.startswith(("/", ":", ".", "~")) or ".." in value


def strip_harmless(words: list[ExpandedWord]) -> Iterator[list[ExpandedWord]]:
    """The command itself, then what remains as each harmless prefix is removed."""
    yield words
    timed = False
    for _ in range(MOST):
        if len(words) < 2:
            return
        count = 1 if timed and _is_timed_variable(words[0]) else _prefix_length(words)
        if count == 0 or count >= len(words) or any(word.dynamic or word.glob for word in words[: count + 1]):
            return
        timed = words[0].value == "time"
        is_xargs = words[0].value == "xargs"
        words = words[count:]
        if is_xargs:
            words = [*words, XARGS_INPUT]
        yield words


def _is_timed_variable(word: ExpandedWord) -> bool:
    """Whether it is a harmless assignment behind `time`, which is a keyword, so assignments may follow it."""
    name, equals, _ = word.source.partition("=")
    return bool(equals) and name in SAFE_VARIABLES and not _is_path(word.value.partition("=")[2])


def _prefix_length(words: list[ExpandedWord]) -> int:
    """How many words the wrapper at the beginning takes, itself included; 0 if the command behind it is not known."""
    if words[0].value not in TRANSPARENT:
        return 0
    values = [word.value for word in words[1:MOST_WORDS]]
    match words[0].value:
        case "noglob" | "xargs":
            return 0 if values[0].startswith("-") else 1
        case "time":
            return 1 + _options(TIME, values)
        case "nice":
            return _nice_length(values)
        case "timeout":
            count = _options(TIMEOUT, values)
            return count + 2 if count >= 0 and count < len(values) and is_duration(values[count]) else 0
        case "stdbuf":
            count = _options(STDBUF, values)
            return count + 1 if count > 0 and values[0] != "--" else 0
        case "nohup" | "command" | "builtin":
            return 1 + _options(NO_OPTIONS, values)
        case _:
            return 0


def _options(grammar: Grammar, values: list[str]) -> int:
    """How many words are options of a wrapper that runs its command; -1 if it may not run it, or is not known."""
    found = leading_options(grammar, values)
    if found is None or any(option in ("help", "version") for option, _ in found[1]):
        return -1
    return found[0]


def _nice_length(values: list[str]) -> int:
    """The words of `nice` and its options, among them numbers such as `-5`, `--5` and `-+5`."""
    position = 0
    while position < len(values) and values[position].startswith("-") and values[position] != "-":
        if values[position] == "--":
            return position + 2
        if NUMBER.fullmatch(values[position][1:]):
            position += 1
            continue
        # One option at a time: a number may follow it.
        found = leading_options(NICE, values[position : position + 1]) or leading_options(
            NICE, values[position : position + 2]
        )
        if found is None or not all(option == "n" and NUMBER.fullmatch(value) for option, value in found[1]):
            return 0
        position += found[0]
    return position + 1


def is_duration(text: str) -> bool:
    number = text[:-1] if text[-1:] in ("s", "m", "h", "d") else text
    return number.isascii() and number.replace(".", "", 1).isdigit()
