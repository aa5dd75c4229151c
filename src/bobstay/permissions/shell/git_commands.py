"""Classifies git commands by their words: which only read, and which run or write what their arguments say."""

import re
from itertools import pairwise

from bobstay.permissions.shell.expansion import ExpandedWord
from bobstay.permissions.shell.name_sets import names

READ_ONLY_COMMANDS = names(
    "blame cat-file check-ignore describe diff diff-tree for-each-ref grep log ls-files ls-tree "
    "merge-base name-rev rev-list rev-parse shortlog show status var"
)
LISTS: dict[str, frozenset[str]] = {
    "branch": names(
        "-a -r -v -vv -av -avv -va -vva -rv -vr --all --remotes --list --show-current --verbose --color --no-color "
        "--column --no-column -l -i --ignore-case"
    ),
    "tag": names("-l --list --column --no-column --color --no-color -i --ignore-case"),
    "remote": names("-v --verbose"),
}
"""Commands that list: with these options and no operand, or operands behind an option that takes one."""
LIST_VALUES = names("--contains --no-contains --merged --no-merged --points-at --sort --format")
GLOBAL_VALUES = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix"})
GLOBAL_FLAGS = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"})
HAZARDS = names(
    "--contents --exec --ext-diff --extcmd --filters --help --no-index --open-files-in-pager --output --receive-pack "
    "--show-signature --textconv --upload-pack --upload-archive --template --exec-path --config-env --config "
    "--separate-git-dir --config-file"
)
"""Long options that run, write or read elsewhere; every abbreviation counts as well."""
EXACT = frozenset({"--text", "--filter"})
"""Harmless options that are also abbreviations of others."""
MESSAGED = names("commit tag merge stash notes")
MESSAGE = frozenset({"-m", "--message"})
"""Options of those commands whose value is text."""
FILE_LETTERS = {"blame": "S", "grep": "f", "ls-files": "X"}
"""Options that name a file, which may be anywhere."""
ORDERED = names("diff diff-files diff-index diff-tree format-patch grep log range-diff reflog show stash whatchanged")
"""Commands in which -O runs a program or names a file."""
VALUED = {"blame": "L", "clone": "obj", "difftool": "t", "grep": "e", "ls-files": "x", "rebase": "sXC"}
"""Letters whose value may be attached, so that the letters behind them are not options."""
SOUGHT = frozenset({"--grep", "--author", "--committer"})
SEARCHED = names("log diff show rev-list diff-tree")
"""Commands in which -S and -G take a text to search for."""
RUNS = frozenset({("bisect", "run"), ("submodule", "foreach")})
RUNNERS = names("filter-branch for-each-repo instaweb merge-index remote-ext web--browse")
RUN_LETTERS = {"archive": "o", "clone": "cu", "difftool": "x", "rebase": "x"}
"""Options that name a program, a setting or a file to write."""
VERIFIES = re.compile(r"--[fp][^=]*=.*%[-+ ]?G|%\(\*?signature", re.DOTALL)
"""Formats for which git verifies signatures, with a program that may also fetch keys."""
QUIET_KEYS = ("user.", "color.", "init.defaultbranch", "pull.", "push.", "rebase.", "merge.conflictstyle", "branch.")
OPTIONLESS = names("add rm mv restore reset checkout switch stash commit")
"""Commands without options that run or write elsewhere, so that a glob cannot become one."""


def split(values: list[str]) -> tuple[list[str], list[str]]:
    """Split arguments into the options of git itself, and the command with its arguments."""
    position = past_options(values, 0)
    return values[:position], values[position:]


def past_options(values: list[str], position: int) -> int:
    """The position of the command, if git's own options begin at `position`."""
    while position < len(values) and values[position].startswith("-"):
        position += 2 if values[position] in GLOBAL_VALUES else 1
    return position


def is_hazardous(arguments: list[ExpandedWord]) -> bool:
    """Whether no rule with a wildcard may allow it."""
    values = [argument.value for argument in arguments]
    options, command = split(values)
    if any(option not in GLOBAL_FLAGS for option in options):
        return options != ["--version"]
    if not command:
        return False
    if arguments[len(options)].dynamic or arguments[len(options)].glob:
        return True
    operand = next((value for value in command[1:] if not value.startswith("-")), "")
    if (command[0], operand) in RUNS or command[0] in RUNNERS:
        return True
    if command[0] == "config" and not _is_quiet_config(command[1:]):
        return True
    named = [value for before, value in pairwise(command) if not is_message(command[0], before)]
    runs = set(RUN_LETTERS.get(command[0], ""))
    if any(not runs.isdisjoint(letters(command[0], value)) for value in named):
        return True
    if command[0] in ORDERED and any("O" in letters(command[0], value) for value in named):
        return True
    return any(map(_is_hazard, named)) or _may_become_option(command[0], arguments[len(options) + 1 :])


def is_message(command: str, option: str) -> bool:
    """Whether the word behind this option of the command is a message."""
    return option in MESSAGE and command in MESSAGED


def letters(command: str, value: str) -> str:
    """The option letters in a word such as `-pO`, without an attached value."""
    if not value.startswith("-") or value.startswith("--"):
        return ""
    valued = VALUED.get(command, "SGL" if command in SEARCHED else "m" if command in MESSAGED else "")
    ends = (position for position, letter in enumerate(value) if letter in valued)
    return value[1 : next(ends, len(value)) + 1]


def _is_hazard(value: str) -> bool:
    if value.startswith(("-O", "ext::")) or "=ext::" in value or VERIFIES.search(value):
        return True
    option = value.partition("=")[0]
    if not option.startswith("--") or option == "--" or option in EXACT:
        return False
    return any(hazard.startswith(option) for hazard in HAZARDS)


def _may_become_option(command: str, arguments: list[ExpandedWord]) -> bool:
    """Whether a word that is not literal may become an option."""
    before = command
    for argument in arguments:
        if before == "--" and not argument.dynamic:
            return False
        loose = argument.dynamic and (not argument.value or argument.value.startswith("-"))
        if loose and (argument.splits or not is_message(command, before)):
            return True
        if argument.glob and argument.value[:1] in "*?[" and command not in OPTIONLESS:
            return True
        before = argument.value
    return False


def _is_quiet_config(arguments: list[str]) -> bool:
    """Whether it reads a setting, or sets one that only concerns names, colours or branches."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if any(value in ("--get", "--get-all", "--list", "-l", "--get-regexp") for value in before):
        return True
    if arguments[:1] in (["get"], ["list"]):
        return True
    operands = [value for value in arguments if not value.startswith("-")]
    if operands[:1] in (["set"], ["unset"]):
        operands = operands[1:]
    return len(operands) < 2 or operands[0].lower().startswith(QUIET_KEYS)


def read_only_operands(arguments: list[ExpandedWord]) -> list[str] | None:
    """The operands of a git command that only reads; None if it may do more."""
    values = [argument.value for argument in arguments]
    options, command = split(values)
    if not command or any(option not in GLOBAL_FLAGS for option in options):
        return None
    name, rest = command[0], command[1:]
    if name in READ_ONLY_COMMANDS:
        file = FILE_LETTERS.get(name)
        brought = file is not None and any(file in letters(name, value) for value in rest)
        return None if brought else _operands(name, rest)
    if name == "reflog":
        return _operands(name, rest[1:]) if rest[:1] == ["show"] else _operands(name, rest) if _flags(rest) else None
    if name == "stash":
        return _operands(name, rest[1:]) if rest[:1] in (["list"], ["show"]) else None
    if name == "remote" and rest[:1] == ["get-url"]:
        return [] if len(rest) == 2 and not rest[1].startswith("-") else None
    return [] if name in LISTS and _is_listing(name, rest) else None


def _flags(values: list[str]) -> bool:
    return all(value.startswith("-") for value in values)


def _operands(name: str, values: list[str]) -> list[str]:
    """The words that may name files; search texts may not."""
    found: list[str] = []
    skip = name == "grep" and not any("e" in letters(name, value) for value in values)
    rest = iter(values)
    for value in rest:
        option, equals, given = value.partition("=")
        if (
            value in SOUGHT
            or (name == "grep" and letters(name, value) == value[1:] and value.endswith("e"))
            or (name in SEARCHED and value in ("-S", "-G"))
        ):
            next(rest, None)
        elif value.startswith("-"):
            if equals and option not in SOUGHT and option not in ("--format", "--pretty"):
                found.append(given)
        elif skip and value != "--":
            skip = False
        else:
            found.append(value)
    return found


def _is_listing(name: str, values: list[str]) -> bool:
    known = LISTS[name]
    # With these, operands are patterns; without, they are names of new branches or tags.
    lists = "--list" in values or (name == "tag" and "-l" in values)
    rest = iter(values)
    for value in rest:
        option, equals, _ = value.partition("=")
        if option in LIST_VALUES:
            if not equals and (following := next(rest, "")) and following.startswith("-"):
                return False
        elif value.startswith("-"):
            if value not in known and not (value.startswith("-n") and value[2:].isdigit()) and value != "-n":
                return False
        elif not lists:
            return False
    return True
