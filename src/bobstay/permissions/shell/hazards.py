"""Arguments that make an otherwise tame command run or write something: data, and how it is looked up."""

from bobstay.permissions.shell.prefixes import EXEC_WRAPPERS
from bobstay.permissions.shell.tables import names

LONG: dict[str, tuple[str, ...]] = {
    "sort": ("--output", "--compress-program", "--files0-from", "--temporary-directory"),
    "sed": ("--in-place", "--file"),
    "rg": ("--pre", "--hostname-bin", "--search-zip"),
    "git": (
        "--config-env",
        "--contents",
        "--exec",
        "--exec-path",
        "--ext-diff",
        "--filters",
        "--git-dir",
        "--help",
        "--no-index",
        "--open-files-in-pager",
        "--output",
        "--receive-pack",
        "--show-signature",
        "--textconv",
        "--upload-pack",
        "--work-tree",
    ),
    "tar": ("--to-command", "--checkpoint-action", "--use-compress-program", "--rsh-command", "--info-script"),
    "man": ("--pager", "--html", "--preprocessor", "--browser"),
    "awk": ("--file", "--exec", "--include", "--load"),
    "tree": ("--output",),
    "file": ("--compile", "--magic-file", "--uncompress", "--files-from"),
}
"""Long options, any unambiguous beginning of which counts as well."""
SHORT: dict[str, str] = {
    "sort": "oT",
    "sed": "if",
    "rg": "z",
    "tar": "IF",
    "man": "PH",
    "awk": "fEil",
    "tree": "oR",
    "file": "CmzZf",
}
"""Letters of short options; a cluster of letters that holds one counts, even where it may be a value."""
FIND = names("-delete -exec -execdir -fls -fprint -fprint0 -fprintf -ok -okdir -files0-from")
GIT_GLOBAL = frozenset({"-c", "-C"})
AWK_WORDS = ("system", "getline", "|", ">", "@", "ARGV", "ARGC", "SYMTAB", "FUNCTAB")
ALIASES = {"gawk": "awk", "mawk": "awk", "nawk": "awk", "gsed": "sed", "gtar": "tar"}


def is_hazardous(values: list[str]) -> bool:
    """Whether this simple command runs or writes what its arguments say."""
    name = values[0].rpartition("/")[2]
    name = ALIASES.get(name, name)
    arguments = values[1:]
    if name in EXEC_WRAPPERS:
        return True
    if any(_long(name, argument) or _short(name, argument) for argument in arguments):
        return True
    match name:
        case "find":
            return not FIND.isdisjoint(arguments)
        case "git":
            return _git(arguments)
        case "awk":
            return any(word in argument for argument in arguments for word in AWK_WORDS)
        case "sed":
            return not all(argument.startswith("-") or is_tame_sed(argument) for argument in _before_files(arguments))
        case _:
            return False


def _long(name: str, argument: str) -> bool:
    if not argument.startswith("--") or argument == "--":
        return False
    option = argument.partition("=")[0]
    return any(hazard.startswith(option) for hazard in LONG.get(name, ()))


def _short(name: str, argument: str) -> bool:
    if not argument.startswith("-") or argument.startswith("--"):
        return False
    return any(letter in argument for letter in SHORT.get(name, ""))


def _git(arguments: list[str]) -> bool:
    for argument in arguments:
        if argument in GIT_GLOBAL or argument.startswith(("-O", "ext::")) or "=ext::" in argument:
            return True
        if not argument.startswith("-"):
            break
    return any(argument.startswith(("-O", "ext::")) for argument in arguments)


def _before_files(arguments: list[str]) -> list[str]:
    """The options and the script of a sed command; with `-e` every word may be a script."""
    if any(argument.startswith(("-e", "--expression")) for argument in arguments):
        return arguments
    found: list[str] = []
    for argument in arguments:
        found.append(argument)
        if not argument.startswith("-"):
            break
    return found


def is_tame_sed(script: str) -> bool:
    """One `p`, `d`, `q` or `=` with plain line numbers, or one `s/a/b/` whose flags neither write nor run."""
    if script.startswith("s/"):
        return _is_tame_substitution(script)
    numbers, command = script[:-1], script[-1:]
    return command in ("p", "d", "q", "=") and all(part == "$" or part.isdigit() for part in numbers.split(",") if part)


def _is_tame_substitution(script: str) -> bool:
    position = 2
    slashes = 0
    while position < len(script) and slashes < 2:
        if script[position] == "\n":
            return False
        if script[position] == "\\":
            position += 1
        elif script[position] == "/":
            slashes += 1
        position += 1
    flags = script[position:]
    return slashes == 2 and all(flag in "gIip0123456789" for flag in flags)
