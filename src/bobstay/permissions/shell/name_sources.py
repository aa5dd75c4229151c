"""Which names the commands before `xargs` in a pipe print: only of those that list files something is known."""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from bobstay.permissions.shell.command_options import GREP, SPECS, sort_arguments
from bobstay.permissions.shell.directory_links import ListedNames
from bobstay.permissions.shell.expansion import ExpandedWord
from bobstay.permissions.shell.find_expression import expression, starting_points
from bobstay.permissions.shell.name_sets import names
from bobstay.permissions.shell.syntax import UNQUOTED
from bobstay.permissions.shell.wrappers import FED
from bobstay.permissions.shell.xargs import ODD, Splitting, invocation

GLOB = frozenset("*?[")
GREPS = names("grep egrep fgrep")
HANDED = ExpandedWord("{}", "")
LISTING = frozenset("1ArtSUvXdB")
"""Letters with which `ls` prints names and nothing else, and no `..` among them."""
SEARCHING = frozenset("lLrEFGPiIswxvHhUaZynT")
"""Letters under which `grep -l` prints names alone."""
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
    """What is printed: files found in some places, each ended by a NUL or a line."""

    found: tuple[ListedNames, ...] = ()
    spelled: tuple[ExpandedWord, ...] = ()
    """Files named in the command itself."""
    tracked: tuple[str, ...] | None = None
    """The files git knows that these select."""
    whole: bool = False
    """Their names begin where the repository does, and not where git was started."""
    nul: bool = False
    joined: bool = False
    """Several of them are on one line."""
    splitting: Splitting = "nul"
    """How they were told apart on the way, and are in the end: the strictest of all."""

    def split(self, splitting: Splitting) -> "NameSource | None":
        """The same, told apart once more; None if that cannot be told."""
        if self.nul != (splitting == "nul") or (self.joined and splitting != "blanks"):
            return None
        return replace(self, splitting=_stricter(self.splitting, splitting))

    @property
    def loose(self) -> bool:
        """Whether a name may begin with anything."""
        return any(one.loose for one in self.found) or (self.tracked is not None and not _anchored(self.tracked))


def _stricter(one: Splitting, other: Splitting) -> Splitting:
    return min(one, other, key=list(ODD).index)


def printed(commands: list[list[ExpandedWord]]) -> NameSource | None:
    """The names that come out of a pipe of these commands; None if it may print anything else."""
    first, *filters = commands
    list_names = FEEDERS.get(first[0].value)
    if list_names is None or any(word.dynamic or word.counted for word in first):
        return None
    found = list_names(first[1:])
    for words in filters:
        if found is not None:
            found = _filtered(words, found)
    return found


def _find(arguments: list[ExpandedWord]) -> NameSource | None:
    values = [argument.value for argument in arguments]
    if any(argument.glob for argument in arguments):
        return None
    searched = expression(values)
    if searched is None or searched.actions - {"-print", "-print0"} or len(searched.actions) > 1:
        return None
    found = tuple(
        ListedNames(place, deep=not searched.shallow, pattern=searched.pattern, links=searched.links)
        for place in starting_points(values)
    )
    return NameSource(found, nul="-print0" in searched.actions)


def _ls(arguments: list[ExpandedWord]) -> NameSource | None:
    taken = sort_arguments(SPECS["ls"], arguments)
    options = [argument.value for argument in arguments if argument.value.startswith("-")]
    letters = "".join(option[1:] for option in options)
    if not set(letters) <= LISTING or any(argument.value == "--" for argument in arguments):
        return None
    if not taken.operands:
        return NameSource((ListedNames(".", deep=False, loose=True),))
    if "d" in letters:
        return _of_words(taken.operands)
    # What is in a directory is printed without its name, so whoever gets it looks for it where they stand.
    found = [ListedNames(".", deep=False, loose=True)]
    headed: list[ExpandedWord] = []  # before what is in one of several directories stands its name, with a colon
    for operand in taken.operands:
        found.append(ListedNames(_base(operand), deep=operand.glob, links=False, loose=True))
        if operand.glob:
            found += [replace(_globbed(operand.value), still=True), ListedNames(_base(operand), deep=False, loose=True)]
        else:
            headed.append(ExpandedWord(f"{operand.value}:", operand.source))
    return NameSource(tuple(found), tuple(headed)) if all(_is_plain(one.directory) for one in found) else None


def _echo(arguments: list[ExpandedWord]) -> NameSource | None:
    found = _of_words(arguments)
    return found and replace(found, joined=len(arguments) > 1 or bool(found.found))


def _printf(arguments: list[ExpandedWord]) -> NameSource | None:
    if not arguments or arguments[0].value not in ("%s\\n", "%s\\0"):
        return None
    found = _of_words(arguments[1:])
    return found and replace(found, nul=arguments[0].value == "%s\\0")


def _of_words(words: list[ExpandedWord]) -> NameSource | None:
    """Names that stand in the command, or that the shell finds for a pattern."""
    plain = [word for word in words if not word.glob]
    if not words or not all(word.value[:1].isalnum() or word.value[:1] in "./_" for word in plain):
        return None
    if not all(UNQUOTED.issuperset(word.value) for word in plain):
        return None
    found = tuple(_globbed(word.value) for word in words if word.glob)
    return NameSource(found, tuple(plain)) if all(_is_plain(one.directory) for one in found) else None


def _grep(arguments: list[ExpandedWord]) -> NameSource | None:
    letters, long = _letters(arguments, "efm")
    if not _lists_files(letters):
        return None
    if any(option != "--null" and not option.startswith(GREP_VALUES) for option in long):
        return None
    taken = sort_arguments(GREP, arguments)
    operands = taken.operands if taken.patterned else taken.operands[1:]
    if not operands and "r" not in letters:
        return None
    return _searched(operands, deep="r" in letters, nul="Z" in letters or "--null" in long)


def _rg(arguments: list[ExpandedWord]) -> NameSource | None:
    letters, long = _letters(arguments, "gtTmej")
    bare = {option[2:].partition("=")[0] for option in long}
    if not set(letters) <= RIPGREP_LETTERS | set("gtTmej") or not bare <= RIPGREP_FLAGS | RIPGREP_VALUES:
        return None
    listed = "files" in bare
    if not listed and "l" not in letters and bare.isdisjoint({"files-with-matches", "files-without-match"}):
        return None
    taken = sort_arguments(SPECS["rg"], arguments)
    named = listed or "e" in letters or "regexp" in bare
    operands = taken.operands if named else taken.operands[1:]
    found = _searched(operands, deep=True, nul="0" in letters or "null" in bare)
    if found is None or operands or listed:
        return found
    # If there is input it may search that, and print a name for it.
    return replace(found, found=(*found.found, ListedNames(".", deep=False, pattern="<stdin>")))


def _searched(operands: list[ExpandedWord], *, deep: bool, nul: bool) -> NameSource | None:
    """Files named, or found below directories that are: what is found there is no link."""
    found: list[ListedNames] = []
    for operand in operands or [ExpandedWord(".", "")]:
        if operand.glob:
            found.append(replace(_globbed(operand.value), still=deep))
        loose = not operand.source or (operand.glob and "/" not in operand.value)
        found.append(ListedNames(_base(operand), deep=deep, links=False, loose=loose))
    plain = all(_is_plain(one.directory) for one in found)
    return NameSource(tuple(found), nul=nul) if plain else None


def _globbed(pattern: str) -> ListedNames:
    return ListedNames(_base_of(pattern), deep=False, pattern=pattern.rpartition("/")[2], loose="/" not in pattern)


def _is_plain(directory: str) -> bool:
    """Whether it stands for itself, and what begins with it is no option."""
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
    if not all(map(_stays_inside, specs)):
        return None
    nul = "-z" in options
    match command:
        case ["ls-files"] if (TRACKED_FLAGS | UNTRACKED_FLAGS).issuperset(options):
            others = () if UNTRACKED_FLAGS.isdisjoint(options) else (ListedNames(".", loose=True),)
            return NameSource(others, tracked=tuple(specs), nul=nul)
        case ["diff"] if set(options) - {"-z"} == {"--name-only"} and not operands:
            return NameSource(tracked=(), whole=True, nul=nul)
        case ["grep"] if len(operands) == 1 and any(_cluster(option, "lL") for option in options):
            plain = all(not option.startswith("--") and GIT_GREP_LETTERS.issuperset(option[1:]) for option in options)
            return NameSource(tracked=tuple(specs), nul=any(_cluster(one, "z") for one in options)) if plain else None
        case _:
            return None


def _stays_inside(spec: str) -> bool:
    """Whether git selects by it nothing outside the directory it is started in."""
    return not spec.startswith((":", "/", "~")) and ".." not in spec.split("/")


FEEDERS: dict[str, Callable[[list[ExpandedWord]], NameSource | None]] = {
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


def _filtered(words: list[ExpandedWord], found: NameSource) -> NameSource | None:
    """What is left of the names behind a command that lets some of its lines through, unchanged."""
    if words[0].value == "xargs" or words[-1] is FED:
        return _searched_in(words, found)
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
    taken = sort_arguments(SPECS[name], words[1:])
    operands = 0 if name not in GREPS or taken.patterned else 1
    digits = name in ("head", "tail") and letters.isdigit()
    if long or len(taken.operands) != operands or not (digits or set(letters) <= set(flags + valued)):
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
"""Letters under which they print whole lines of what they read; and those with a value."""


def _searched_in(words: list[ExpandedWord], found: NameSource) -> NameSource | None:
    """Behind `xargs grep -l`, which prints some of the names it is given."""
    run = invocation(words)
    names = found.split(run.splitting) if run is not None else None
    if run is None or names is None or run.words[0].value not in GREPS or FED not in run.words:
        return None
    letters, long = _letters(run.words[1:], "em")
    arguments = [HANDED if word is FED else word for word in run.words[1:]]
    taken = sort_arguments(GREP, arguments)
    given = taken.operands if taken.patterned else taken.operands[1:]
    if long or "r" in letters or not _lists_files(letters) or given != [HANDED] or any(map(_is_open, arguments)):
        return None
    if "L" in letters:
        return None  # without names it reads its input, and prints a name for that
    return replace(names, nul="Z" in letters)


def _is_open(word: ExpandedWord) -> bool:
    return word.dynamic or word.glob


def _lists_files(letters: str) -> bool:
    """Whether `grep` with these prints names and nothing else."""
    return set(letters) <= SEARCHING | set("em") and not {"l", "L"}.isdisjoint(letters)


def _letters(arguments: list[ExpandedWord], valued: str) -> tuple[str, list[str]]:
    """All letters of options, without the values that follow some; and the long options."""
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
            ends = next((place for place, letter in enumerate(value[1:], 1) if letter in valued), len(value) - 1)
            letters += value[1 : ends + 1]
            if value[ends] in valued and ends == len(value) - 1:
                next(rest, None)
    return letters, long


def _cluster(option: str, letters: str) -> bool:
    return not option.startswith("--") and not set(letters).isdisjoint(option[1:])


def _base(operand: ExpandedWord) -> str:
    return _base_of(operand.value) if operand.glob else operand.value


def _base_of(pattern: str) -> str:
    """The directory in which the shell looks for a pattern in the last part of a path."""
    directory, slash, _ = pattern.rpartition("/")
    return directory or slash or "."


def _anchored(specs: tuple[str, ...]) -> bool:
    """Whether the names that git selects by these begin with a letter."""
    return bool(specs) and all(spec[:1].isalnum() for spec in specs)
