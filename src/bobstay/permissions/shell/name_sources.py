"""Determines the file names that the commands before `xargs` in a pipe print, for commands that list files."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from bobstay.permissions.shell.command_options import GREP, SPECS, sort_arguments
from bobstay.permissions.shell.directory_links import ListedNames
from bobstay.permissions.shell.expansion import ExpandedWord
from bobstay.permissions.shell.find_expression import expression, starting_points
from bobstay.permissions.shell.name_sets import names
from bobstay.permissions.shell.syntax import UNQUOTED
from bobstay.permissions.shell.wrappers import XARGS_INPUT
from bobstay.permissions.shell.xargs import ODD, Splitting, parse_xargs

GLOB = frozenset("*?[")
GREPS = names("grep egrep fgrep")
FORWARDED = ExpandedWord("{}", "")
LISTING = frozenset("1ArtSUvXdB")
"""Letters with which `ls` prints only names, without `..`."""
SEARCHING = frozenset("lLrEFGPiIswxvHhUaZynT")
"""Letters with which `grep -l` prints only names."""
GREP_VALUES = ("--include=", "--exclude=", "--exclude-dir=")
RIPGREP_FLAGS = names(
    "files files-with-matches files-without-match fixed-strings glob-case-insensitive hidden ignore-case invert-match "
    "line-regexp no-config no-ignore no-ignore-vcs no-messages null pcre2 smart-case case-sensitive text "
    "word-regexp unrestricted"
)
RIPGREP_VALUES = names("glob iglob type type-not max-depth max-filesize sort sortr regexp threads")
RIPGREP_LETTERS = frozenset("l0inNswxvFPaSu.")
TRACKED_FLAGS = names("-z -c --cached -m --modified -d --deleted --exclude-standard")
UNTRACKED_FLAGS = names("-o --others -co -oc")
GIT_GREP_LETTERS = frozenset("lLiIwvEFGPanhHz")


class NameSource(Struct, frozen=True):
    """The names that are printed, each terminated by a NUL or a newline."""

    found: tuple[ListedNames, ...] = ()
    spelled: tuple[ExpandedWord, ...] = ()
    """Files that the command itself names."""
    tracked: tuple[str, ...] | None = None
    """Pathspecs that select tracked files; None if git is not the source."""
    whole: bool = False
    """Their names are relative to the top of the repository, not to where git was started."""
    nul: bool = False
    joined: bool = False
    """Several names are on one line."""
    splitting: Splitting = "nul"
    """How the names are separated: the strictest of all steps of the pipe."""

    def split(self, splitting: Splitting) -> "NameSource | None":
        """The names after another step that separates them; None if it does not fit how they were printed."""
        if self.nul != (splitting == "nul") or (self.joined and splitting != "blanks"):
            return None
        return replace(self, splitting=_stricter(self.splitting, splitting))

    @property
    def loose(self) -> bool:
        """Whether a name may begin with any character."""
        return any(one.loose for one in self.found) or (self.tracked is not None and not _is_anchored(self.tracked))


def _stricter(one: Splitting, other: Splitting) -> Splitting:
    return min(one, other, key=list(ODD).index)


def output_names(commands: list[list[ExpandedWord]]) -> NameSource | None:
    """The names that a pipe of these commands prints; None if it may print anything else."""
    first, *filters = commands
    list_names = NAME_SOURCES.get(first[0].value)
    if list_names is None or any(word.dynamic or word.counted for word in first):
        return None
    found = list_names(first[1:])
    for words in filters:
        if found is not None:
            found = _filter_names(words, found)
    return found


def _find(arguments: list[ExpandedWord]) -> NameSource | None:
    values = [argument.value for argument in arguments]
    if any(argument.glob for argument in arguments):
        return None
    searched = expression(values)
    if searched is None or searched.actions - {"-print", "-print0"} or len(searched.actions) > 1:
        return None
    found = tuple(
        ListedNames(directory, deep=not searched.shallow, pattern=searched.pattern, links=searched.links)
        for directory in starting_points(values)
    )
    return NameSource(found, nul="-print0" in searched.actions)


def _ls(arguments: list[ExpandedWord]) -> NameSource | None:
    parsed = sort_arguments(SPECS["ls"], arguments)
    options = [argument.value for argument in arguments if argument.value.startswith("-")]
    letters = "".join(option[1:] for option in options)
    if not set(letters) <= LISTING or any(argument.value == "--" for argument in arguments):
        return None
    if not parsed.operands:
        return NameSource((ListedNames(".", deep=False, loose=True),))
    if "d" in letters:
        return _literal_names(parsed.operands)
    # The entries of a directory are printed without its name, so the receiver uses them in the current directory.
    found = [ListedNames(".", deep=False, loose=True)]
    headed: list[ExpandedWord] = []  # of several directories, each is printed with a colon before its entries
    for operand in parsed.operands:
        found.append(ListedNames(_base(operand), deep=operand.glob, links=False, loose=True))
        if operand.glob:
            found += [
                replace(_glob_names(operand.value), still=True),
                ListedNames(_base(operand), deep=False, loose=True),
            ]
        else:
            headed.append(ExpandedWord(f"{operand.value}:", operand.source))
    return NameSource(tuple(found), tuple(headed)) if all(_is_literal(one.directory) for one in found) else None


def _echo(arguments: list[ExpandedWord]) -> NameSource | None:
    found = _literal_names(arguments)
    return found and replace(found, joined=len(arguments) > 1 or bool(found.found))


def _printf(arguments: list[ExpandedWord]) -> NameSource | None:
    if not arguments or arguments[0].value not in ("%s\\n", "%s\\0"):
        return None
    found = _literal_names(arguments[1:])
    return found and replace(found, nul=arguments[0].value == "%s\\0")


def _literal_names(words: list[ExpandedWord]) -> NameSource | None:
    """Names that are written in the command, or that the shell expands a pattern to."""
    literal = [word for word in words if not word.glob]
    if not words or not all(word.value[:1].isalnum() or word.value[:1] in "./_" for word in literal):
        return None
    if not all(UNQUOTED.issuperset(word.value) for word in literal):
        return None
    found = tuple(_glob_names(word.value) for word in words if word.glob)
    return NameSource(found, tuple(literal)) if all(_is_literal(one.directory) for one in found) else None


def _grep(arguments: list[ExpandedWord]) -> NameSource | None:
    letters, long = _letters(arguments, "efm")
    if not _lists_files(letters):
        return None
    if any(option != "--null" and not option.startswith(GREP_VALUES) for option in long):
        return None
    parsed = sort_arguments(GREP, arguments)
    operands = parsed.operands if parsed.patterned else parsed.operands[1:]
    if not operands and "r" not in letters:
        return None
    return _search_results(operands, deep="r" in letters, nul="Z" in letters or "--null" in long)


def _rg(arguments: list[ExpandedWord]) -> NameSource | None:
    letters, long = _letters(arguments, "gtTmej")
    bare = {option[2:].partition("=")[0] for option in long}
    if not set(letters) <= RIPGREP_LETTERS | set("gtTmej") or not bare <= RIPGREP_FLAGS | RIPGREP_VALUES:
        return None
    listed = "files" in bare
    if not listed and "l" not in letters and bare.isdisjoint({"files-with-matches", "files-without-match"}):
        return None
    parsed = sort_arguments(SPECS["rg"], arguments)
    named = listed or "e" in letters or "regexp" in bare
    operands = parsed.operands if named else parsed.operands[1:]
    found = _search_results(operands, deep=True, nul="0" in letters or "null" in bare)
    if found is None or operands or listed:
        return found
    # If there is input it may search that, and print `<stdin>` as its name.
    return replace(found, found=(*found.found, ListedNames(".", deep=False, pattern="<stdin>")))


def _search_results(operands: list[ExpandedWord], *, deep: bool, nul: bool) -> NameSource | None:
    """The files that are named, or found below named directories, where links are not followed."""
    found: list[ListedNames] = []
    for operand in operands or [ExpandedWord(".", "")]:
        if operand.glob:
            found.append(replace(_glob_names(operand.value), still=deep))
        loose = not operand.source or (operand.glob and "/" not in operand.value)
        found.append(ListedNames(_base(operand), deep=deep, links=False, loose=loose))
    literal = all(_is_literal(one.directory) for one in found)
    return NameSource(tuple(found), nul=nul) if literal else None


def _glob_names(pattern: str) -> ListedNames:
    return ListedNames(_base_of(pattern), deep=False, pattern=pattern.rpartition("/")[2], loose="/" not in pattern)


def _is_literal(directory: str) -> bool:
    """Whether it has no wildcard, and a name that begins with it is not an option."""
    return GLOB.isdisjoint(directory) and not directory.startswith("-")


def _git(arguments: list[ExpandedWord]) -> NameSource | None:
    if any(argument.glob for argument in arguments):
        return None
    values = [argument.value for argument in arguments if argument.value not in ("--no-pager", "-P")]
    command, rest = values[:1], values[1:]
    specs = rest[rest.index("--") + 1 :] if "--" in rest else []
    before = rest[: rest.index("--")] if "--" in rest else rest
    options = [value for value in before if value.startswith("-")]
    operands = [value for value in before if not value.startswith("-")]
    if command == ["ls-files"]:
        specs = [*operands, *specs]
    if not all(map(_is_inside, specs)):
        return None
    nul = "-z" in options
    match command:
        case ["ls-files"] if (TRACKED_FLAGS | UNTRACKED_FLAGS).issuperset(options):
            others = () if UNTRACKED_FLAGS.isdisjoint(options) else (ListedNames(".", loose=True),)
            return NameSource(others, tracked=tuple(specs), nul=nul)
        case ["diff"] if set(options) - {"-z"} == {"--name-only"} and not operands:
            return NameSource(tracked=(), whole=True, nul=nul)
        case ["grep"] if len(operands) == 1 and any(_has_letter(option, "lL") for option in options):
            literal = all(not option.startswith("--") and GIT_GREP_LETTERS.issuperset(option[1:]) for option in options)
            return (
                NameSource(tracked=tuple(specs), nul=any(_has_letter(one, "z") for one in options)) if literal else None
            )
        case _:
            return None


def _is_inside(spec: str) -> bool:
    """Whether the pathspec selects nothing outside the directory in which git is started."""
    return not spec.startswith((":", "/", "~")) and ".." not in spec.split("/")


NAME_SOURCES: dict[str, Callable[[list[ExpandedWord]], NameSource | None]] = {
    "echo": _echo,
    "egrep": _grep,
    "fgrep": _grep,
    "find": _find,
    "git": _git,
    "grep": _grep,
    "ls": _ls,
    "printf": _printf,
    "rg": _rg,
}


def _filter_names(words: list[ExpandedWord], found: NameSource) -> NameSource | None:
    """The names that remain behind a command that passes some of its lines on unchanged."""
    if words[0].value == "xargs" or words[-1] is XARGS_INPUT:
        return _grep_results(words, found)
    if any(word.dynamic or word.glob for word in words):
        return None
    name, values = words[0].value, [word.value for word in words[1:]]
    if name == "tr":
        lines = replace(found, nul=True, splitting=_stricter(found.splitting, "lines"))
        return lines if values == ["\\n", "\\0"] and not found.nul and not found.joined else None
    known = FILTERS.get(name)
    if known is None:
        return None
    flags, valued = known
    letters, long = _letters(words[1:], valued)
    parsed = sort_arguments(SPECS[name], words[1:])
    operands = 0 if name not in GREPS or parsed.patterned else 1
    digits = name in ("head", "tail") and letters.isdigit()
    if long or len(parsed.operands) != operands or not (digits or set(letters) <= set(flags + valued)):
        return None
    return found if ("z" in letters) == found.nul else None


FILTERS: dict[str, tuple[str, str]] = {
    "cat": ("", ""),
    "egrep": ("EFGPivwxzay", "e"),
    "fgrep": ("EFGPivwxzay", "e"),
    "grep": ("EFGPivwxzay", "e"),
    "head": ("qz", "n"),
    "sort": ("bdfghiMnRrsuVz", "kt"),
    "tac": ("", ""),
    "tail": ("qz", "n"),
    "uniq": ("udiz", ""),
}
"""Letters with which they print whole lines of their input; and letters with a value."""


def _grep_results(words: list[ExpandedWord], found: NameSource) -> NameSource | None:
    """The names behind `xargs grep -l`, which prints some of those it receives."""
    run = parse_xargs(words)
    names = found.split(run.splitting) if run is not None else None
    if run is None or names is None or run.words[0].value not in GREPS or XARGS_INPUT not in run.words:
        return None
    letters, long = _letters(run.words[1:], "em")
    arguments = [FORWARDED if word is XARGS_INPUT else word for word in run.words[1:]]
    parsed = sort_arguments(GREP, arguments)
    given = parsed.operands if parsed.patterned else parsed.operands[1:]
    if (
        long
        or "r" in letters
        or not _lists_files(letters)
        or given != [FORWARDED]
        or any(map(_is_uncertain, arguments))
    ):
        return None
    if "L" in letters:
        return None  # without names it reads its input, and prints a name for it
    return replace(names, nul="Z" in letters)


def _is_uncertain(word: ExpandedWord) -> bool:
    return word.dynamic or word.glob


def _lists_files(letters: str) -> bool:
    """Whether `grep` with these letters prints only names."""
    return set(letters) <= SEARCHING | set("em") and not {"l", "L"}.isdisjoint(letters)


def _letters(arguments: list[ExpandedWord], valued: str) -> tuple[str, list[str]]:
    """All option letters, without attached values; and the long options."""
    letters = ""
    long: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        value = argument.value
        if value == "--":
            break
        if value.startswith("--"):
            long.append(value)
        elif value.startswith("-") and value != "-":
            ends = next((at for at, letter in enumerate(value[1:], 1) if letter in valued), len(value) - 1)
            letters += value[1 : ends + 1]
            if value[ends] in valued and ends == len(value) - 1:
                next(rest, None)
    return letters, long


def _has_letter(option: str, letters: str) -> bool:
    return not option.startswith("--") and not set(letters).isdisjoint(option[1:])


def _base(operand: ExpandedWord) -> str:
    return _base_of(operand.value) if operand.glob else operand.value


def _base_of(pattern: str) -> str:
    """The directory that the shell lists for a pattern in the last component of a path."""
    directory, slash, _ = pattern.rpartition("/")
    return directory or slash or "."


def _is_anchored(specs: tuple[str, ...]) -> bool:
    """Whether all names that git selects by these pathspecs begin with a letter or digit."""
    return bool(specs) and all(spec[:1].isalnum() for spec in specs)
