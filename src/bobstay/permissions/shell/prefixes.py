"""What may stand before the command that matters: assignments, wrappers, paths, options of git."""

from collections.abc import Iterator

from bobstay.permissions.shell.lexer import Word, segments
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
SHELLS = names("sh bash dash zsh ksh ash")
LOOKED_PAST = (
    TRANSPARENT | EXEC_WRAPPERS | SHELLS | {"then", "do", "else", "elif", "if", "while", "until", "!", "coproc"}
)
FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
GIT_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"})
DEEPEST = 6


def harmless(words: list[Word]) -> Iterator[list[Word]]:
    """The command itself, then what is left as each harmless prefix is taken off."""
    yield words
    while len(words) > 1:
        taken = _harmless_length([word.value for word in words], words[0].source)
        if taken == 0 or taken >= len(words):
            return
        words = words[taken:]
        yield words


def _harmless_length(values: list[str], source: str) -> int:
    name, equals, _ = source.partition("=")
    if equals:
        return 1 if name in SAFE_VARIABLES else 0
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


def plausible(values: list[str], depth: int = 0) -> Iterator[str]:
    """Every text by which a restricting rule may know this command: prefixes of all kinds looked past."""
    while values and _is_assignment(values[0]):
        yield " ".join(values)
        values = values[1:]
    if not values:
        return
    yield from _texts(values)
    name = values[0].rpartition("/")[2]
    if name in LOOKED_PAST:
        yield from _behind([name, *values[1:]], depth)
    elif name == "find":
        for position, value in enumerate(values):
            if value in FIND_RUNS:
                yield from _behind(values[position:], depth)


def _texts(values: list[str]) -> Iterator[str]:
    """One command as it is spelled, without the path of its program, without the options of git."""
    yield " ".join(values)
    name = values[0].rpartition("/")[2]
    if name != values[0]:
        yield " ".join([name, *values[1:]])
    if name == "git":
        yield from _without_git_options(values)


def _is_assignment(text: str) -> bool:
    name, equals, _ = text.partition("=")
    return bool(equals) and name.removesuffix("+").isidentifier()


def _behind(values: list[str], depth: int) -> Iterator[str]:
    """Which argument of a wrapper is the command depends on its options: each may be."""
    if values[0] == "command" and values[1:2] in (["-v"], ["-V"]):
        return  # it only asks where a command is
    for position in range(1, len(values)):
        yield from _texts(values[position:])
        if any(character in values[position] for character in " ;|&\n"):
            yield from inside(values[position], depth + 1)


def inside(text: str, depth: int = 0) -> Iterator[str]:
    """The plausible commands of a whole shell text, however badly it is understood."""
    if depth > DEEPEST:
        return
    plain = segments(text.strip(" \t\n"))
    if plain is not None:
        for words in plain:
            yield " ".join(word.text for word in words)
            yield from plausible([word.value for word in words], depth)
        return
    for piece in rough_pieces(text):
        yield from plausible(piece, depth)


def rough_pieces(text: str) -> list[list[str]]:
    """Shell text cut at everything that may end or begin a command, with quoting taken off."""
    text = text.replace("\\\n", "").replace("$'", "'").replace('$"', '"')
    for mark in "'\"\\":
        text = text.replace(mark, "")
    for mark in "`;&|(){}<>$\r":
        text = text.replace(mark, "\n")
    return [words for line in text.split("\n") if (words := line.split())]


def _without_git_options(values: list[str]) -> Iterator[str]:
    position = 1
    while position < len(values) and values[position].startswith("-"):
        position += 2 if values[position] in GIT_VALUES else 1
    if 1 < position < len(values):
        yield " ".join(["git", *values[position:]])
