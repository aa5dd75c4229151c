"""Commands that only look: a table, and the checks that keep each of them honest."""

from collections.abc import Callable

from bobstay.permissions.paths import World, locate
from bobstay.permissions.shell.hazards import is_hazardous, is_tame_sed
from bobstay.permissions.shell.tables import names

WORDS_ONLY = names("basename dirname echo false id nproc printf pwd seq tr true type uname which whoami :")
"""Their operands are not files."""
ANY_OPTION = names(
    "base64 cat cmp column comm cut df du file fold head hexdump join ls md5sum nl od paste readlink "
    "realpath rev rg sha1sum sha256sum sort stat strings tac tail tree wc"
)
"""Any option but the hazardous ones; every operand must lie in a working directory."""
SEARCHES = frozenset({"grep", "egrep", "fgrep", "rg"})
"""Their first operand is a pattern, unless an option brings one."""
FORBIDDEN: dict[str, tuple[str, ...]] = {
    "grep": ("-R", "--dereference-recursive"),
    "egrep": ("-R", "--dereference-recursive"),
    "fgrep": ("-R", "--dereference-recursive"),
    "rg": ("-L", "--follow"),
    "wc": ("--files0-from",),
    "du": ("--files0-from",),
    "printf": ("-v",),
    "test": ("-v", "-R"),
    "[": ("-v", "-R"),
    "diff": ("-l", "--paginate"),
}
DATE_OPTIONS = frozenset({"-u", "--utc", "-R", "--rfc-email", "-I", "--iso-8601"})
FIND_WORDS = names(
    "-a -amin -and -atime -cmin -ctime -daystart -depth -empty -false -group -iname -ipath -iregex "
    "-iwholename -ls -maxdepth -mindepth -mmin -mount -mtime -name -newer -not -o -or -path -perm -print "
    "-print0 -printf -prune -quit -readable -regex -size -true -type -user -wholename -writable -xdev"
)
GIT_LOOKS = names(
    "blame cat-file check-ignore describe diff diff-tree for-each-ref grep log ls-files ls-tree "
    "merge-base name-rev rev-list rev-parse shortlog show status"
)
GIT_LISTS: dict[str, frozenset[str]] = {
    "branch": frozenset({"-a", "-r", "-v", "-vv", "--all", "--remotes", "--list", "--show-current", "-av", "-vva"}),
    "tag": frozenset({"-l", "--list", "-n"}),
    "remote": frozenset({"-v", "--verbose"}),
    "stash": frozenset({"list", "show", "-p", "--stat"}),
    "reflog": frozenset({"show", "-n", "--oneline"}),
}


def is_tame(values: list[str], start: str, world: World) -> bool:
    """Whether a simple command, run in `start`, provably only looks, and only inside the working directories."""
    name, arguments = values[0], values[1:]
    if is_hazardous(values) or _is_forbidden(name, arguments):
        return False
    if name in WORDS_ONLY:
        return True
    if not _holds(".", start, world):
        return False  # without operands most commands look at where they stand
    if name in ANY_OPTION or name in SEARCHES:
        return _operands_inside(name, arguments, start, world)
    check = CHECKS.get(name)
    return check is not None and check(arguments, start, world)


def operands(arguments: list[str]) -> list[str]:
    """All arguments that are not options."""
    if "--" in arguments:
        end = arguments.index("--")
        return operands(arguments[:end]) + arguments[end + 1 :]
    return [argument for argument in arguments if argument == "-" or not argument.startswith("-")]


def files(name: str, arguments: list[str]) -> list[str]:
    """Arguments that may name files, `--option=file` included, but not the pattern of a search."""
    found = operands(arguments)
    if name in SEARCHES and not _brings_pattern(arguments):
        found = found[1:]
    for argument in arguments:
        _, equals, value = argument.partition("=")
        if equals and value and argument.startswith("-"):
            found.append(value)
        elif argument.startswith("@"):
            found.append(argument[1:])
    return [file for file in found if file not in ("-", "")]


def _brings_pattern(arguments: list[str]) -> bool:
    for argument in arguments:
        if argument.startswith("--"):
            if argument.startswith(("--re", "--f", "--t")) or argument == "--":
                return True
        elif argument.startswith("-") and not {"e", "f"}.isdisjoint(argument):
            return True
    return False


def _operands_inside(name: str, arguments: list[str], start: str, world: World) -> bool:
    if any(option.startswith("-") and not option.startswith("--") and "/" in option for option in arguments):
        return False
    return all(_holds(file, start, world) for file in files(name, arguments))


def _inside(arguments: list[str], start: str, world: World) -> bool:
    return _operands_inside("", arguments, start, world)


def _holds(file: str, start: str, world: World) -> bool:
    return world.holds(locate(file, start, world))


def _is_forbidden(name: str, arguments: list[str]) -> bool:
    forbidden = FORBIDDEN.get(name, ())
    for argument in arguments:
        for option in forbidden:
            if argument.startswith("--"):
                if option.startswith(argument.partition("=")[0]) and argument != "--":
                    return True
            elif argument.startswith("-") and not option.startswith("--") and option[1] in argument:
                return True
    return False


def _date(arguments: list[str], _start: str, _world: World) -> bool:
    return all(argument in DATE_OPTIONS or argument.startswith("+") for argument in arguments)


def _uniq(arguments: list[str], start: str, world: World) -> bool:
    """A second operand is where uniq writes."""
    return len(operands(arguments)) <= 1 and _inside(arguments, start, world)


def _find(arguments: list[str], start: str, world: World) -> bool:
    known = all(word in FIND_WORDS or word[1:2].isdigit() for word in arguments if word.startswith("-"))
    return known and _inside(arguments, start, world)


def _cd(arguments: list[str], start: str, world: World) -> bool:
    return len(arguments) == 1 and not arguments[0].startswith("-") and _inside(arguments, start, world)


def _command(arguments: list[str], _start: str, _world: World) -> bool:
    return len(arguments) > 1 and arguments[0] in ("-v", "-V")


def _git(arguments: list[str], start: str, world: World) -> bool:
    """Git obeys the configuration of the repository it stands in: only the working directories themselves are known."""
    if start not in world.roots and start not in world.added:
        return False
    while arguments and arguments[0] == "--no-pager":
        arguments = arguments[1:]
    if not arguments:
        return False
    name, rest = arguments[0], arguments[1:]
    if name in GIT_LOOKS:
        return _inside(rest, start, world)
    if name == "tag" and rest and rest[0] in ("-l", "--list"):
        return not any(argument.startswith("-") for argument in rest[1:]) and _inside(rest, start, world)
    if name == "tag" and not rest:
        return True
    if name == "remote" and rest[:1] == ["get-url"]:
        return len(rest) == 2 and not rest[1].startswith("-")
    if name == "stash" and rest[:1] not in (["list"], ["show"]):
        return False
    return name in GIT_LISTS and all(argument in GIT_LISTS[name] for argument in rest)


def _sed(arguments: list[str], start: str, world: World) -> bool:
    options = [argument for argument in arguments if argument.startswith("-")]
    rest = operands(arguments)
    if not rest or any(option not in ("-n", "-E", "-r", "-s", "--quiet") for option in options):
        return False
    return is_tame_sed(rest[0]) and _inside(rest[1:], start, world)


CHECKS: dict[str, Callable[[list[str], str, World], bool]] = {
    "[": _inside,
    "cd": _cd,
    "command": _command,
    "date": _date,
    "diff": _inside,
    "find": _find,
    "git": _git,
    "sed": _sed,
    "test": _inside,
    "uniq": _uniq,
}
"""Commands that need a look of their own."""
