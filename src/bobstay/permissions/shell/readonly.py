"""Commands that only look, and only inside the working directories: a table, and checks of their own for a few."""

import re
from collections.abc import Callable

from bobstay.permissions.path_resolution import PathWorld, locate
from bobstay.permissions.shell import git_commands
from bobstay.permissions.shell.command_options import READ_ONLY, SPECS, WRITERS, sort_arguments
from bobstay.permissions.shell.directory_links import ListedNames, lead_out, misleads
from bobstay.permissions.shell.embedded_scripts import (
    assigns,
    awk_program,
    is_tame_awk,
    is_tame_jq,
    is_tame_sed,
    sed_scripts,
)
from bobstay.permissions.shell.expansion import ExpandedWord
from bobstay.permissions.shell.name_sets import names

TALKERS = names("echo printf true false :")
"""They name no file and start nothing, whatever their arguments turn out to be."""
GLOBLESS = WRITERS | {"find", "sed", "awk", "git", "date", "printf", "test", "["}
STRINGS_SIGNS = ("@", "*", "?", "[")
"""What a name of a file with arguments for `strings` begins with, or a pattern that may find one."""
TESTS_OF_FILES = names("-b -c -d -e -f -g -h -k -p -r -s -u -w -x -G -L -N -O -S")
TESTS_OF_TEXT = names("-n -z -t")
COMPARISONS = names("= == != -eq -ne -lt -le -gt -ge")
FILE_COMPARISONS = names("-nt -ot -ef")
JQ_FLAGS = names(
    "args ascii-output color-output compact-output exit-status join-output jsonargs monochrome-output null-input "
    "raw-input raw-output raw-output0 slurp sort-keys stream tab unbuffered"
)
JQ_LETTERS = frozenset("aCcejMnRrsSu")
OPTIONS = re.compile(r"-[^-]|--[^=]*[*?\[]")
"""The beginning of a pattern that finds options."""
ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
"""Before an operand of awk that is no file, but a variable."""
DATE_FLAGS = frozenset({"-u", "--utc", "--universal", "-R", "--rfc-email"})


def is_tame(words: list[ExpandedWord], start: str | None, world: PathWorld) -> bool:
    """Whether a simple command, run in `start`, provably only looks, and only inside the working directories."""
    name, arguments = words[0].value, words[1:]
    if not _lists_inside(arguments, start, world):
        return False
    if name in TALKERS:
        return name != "printf" or _is_tame_printf(arguments)
    if start is None or (name in GLOBLESS and any(one.glob or _begins_anyhow(one) for one in arguments)):
        return False
    if any(one.glob and OPTIONS.match(one.value) for one in arguments):
        return False
    if name in ("test", "["):
        return _is_tame_test(name, arguments, start, world)
    if any((one.dynamic and not one.pipe) or (one.counted and _may_lead_out(one, start, world)) for one in arguments):
        return False
    if SPECS.get(name) is not None and name in READ_ONLY:
        return _by_table(name, arguments, start, world)
    check = CHECKS.get(name)
    return check is not None and check(arguments, start, world)


def _begins_anyhow(word: ExpandedWord) -> bool:
    """Whether it stands for names of which nobody said what they begin with: as with a glob, one may be an option."""
    return word.handed and word.value == "{}"


def _may_lead_out(word: ExpandedWord, start: str, world: PathWorld) -> bool:
    """Whether a file that is a link out may have the name that some number makes of this word."""
    directory, slash, name = word.value.rpartition("/")
    return "0" in directory or lead_out(directory or slash or ".", name.replace("0", "*"), start, world)


def _lists_inside(arguments: list[ExpandedWord], start: str | None, world: PathWorld) -> bool:
    """Whether all directories the shell itself looks into for globs are working directories, whoever gets the names."""
    if any(one.loose for one in arguments):
        return False
    globs = [one for one in arguments if one.glob]
    return all(start is not None and not one.dynamic and _glob_holds(one.value, start, world) for one in globs)


def holds(file: ExpandedWord | str, start: str, world: PathWorld) -> bool:
    """Whether a file, or all that a glob may find, lies in a working directory."""
    if isinstance(file, str):
        return file in ("", "-") or world.holds(locate(file, start, world))
    if file.pipe:
        return True
    if not file.glob:
        return holds(file.value, start, world)
    base, last = glob_base(file.value), file.value.rstrip("/").rpartition("/")[2]
    # Names that begin with nothing the pattern says may be options, with which links are followed.
    found = ListedNames(base, deep=False, pattern=last, loose=last == file.value.rstrip("/"))
    return _glob_holds(file.value, start, world) and not misleads(found, None, start, world)


def _glob_holds(pattern: str, start: str, world: PathWorld) -> bool:
    """Whether the directory the shell lists for a pattern lies in a working directory."""
    base = glob_base(pattern)
    return bool(base) and holds(base, start, world)


def glob_base(pattern: str) -> str:
    """The one directory the shell lists for a glob; nothing if it would go on from what it finds there.

    What it finds may be a link that leads anywhere.
    """
    parts = pattern.split("/")
    first = next((number for number, part in enumerate(parts) if any(sign in part for sign in "*?[")), 0)
    part = parts[first]
    if any(parts[first + 1 :]) or (part.startswith(".") and part[1:2] and part[1] in ".*?["):
        return ""  # the latter may find the parent directory
    return "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")


def _by_table(name: str, arguments: list[ExpandedWord], start: str, world: PathWorld) -> bool:
    spec = SPECS[name]
    taken = sort_arguments(spec, arguments)
    if taken.refused or taken.leaves or len(taken.operands) > spec.most:
        return False
    if spec.operands == "data":
        return True
    files = taken.operands
    if spec.operands == "pattern" and not taken.patterned and files and not files[0].glob:
        files = files[1:]
    if name == "strings" and any(one.value[:1] in STRINGS_SIGNS or _begins_anyhow(one) for one in files):
        return False  # it would take its arguments from that file
    if not holds(".", start, world):
        return False  # without operands most commands look at where they stand
    compared = [*files, *(ExpandedWord(file, file) for file in taken.files)] if name == "diff" else []
    if any(_leads_out(one, start, world, deep=taken.recursive) for one in compared):
        return False  # it goes through directories, and links in them
    named: dict[ExpandedWord | str, None] = {**dict.fromkeys(files), **dict.fromkeys(taken.files)}
    return all(holds(file, start, world) for file in named)


def _leads_out(file: ExpandedWord, start: str, world: PathWorld, *, deep: bool) -> bool:
    """Whether a link in this directory, if it is one, leads out."""
    return file.handed or (not file.pipe and misleads(ListedNames(file.value, deep=deep), None, start, world))


def _is_tame_printf(arguments: list[ExpandedWord]) -> bool:
    """An option would name a variable, whose subscript would be evaluated; so may what is in a format."""
    if not arguments or arguments[0].dynamic or arguments[0].glob:
        return False
    return not arguments[0].value.startswith("-") and not assigns(arguments[0].value)


def _is_tame_test(name: str, arguments: list[ExpandedWord], start: str, world: PathWorld) -> bool:
    if name == "[":
        if not arguments or arguments[-1].value != "]":
            return False
        arguments = arguments[:-1]
    if arguments and arguments[0].value in ("-a", "-o"):
        return False
    group: list[ExpandedWord] = []
    for argument in [*arguments, ExpandedWord("-a", "-a")]:
        if argument.value in ("-a", "-o") and not argument.dynamic:
            if group and not _is_tame_comparison(group, start, world):
                return False
            group = []
        elif argument.value in ("(", ")"):
            return False
        else:
            group.append(argument)
    dynamic = any(argument.dynamic for argument in arguments)
    return not dynamic or len(arguments) <= 3


def _is_tame_comparison(group: list[ExpandedWord], start: str, world: PathWorld) -> bool:
    """One test. A word that is not literal must be quoted and stand where it cannot become an operator."""
    if group[0].value == "!" and not group[0].dynamic and len(group) > 1:
        group = group[1:]
    if any(word.splits and not word.counted for word in group):
        return False
    if len(group) == 1:
        return not group[0].value.startswith("-") or group[0].dynamic
    if len(group) == 2 and not group[0].dynamic:
        if group[0].value in TESTS_OF_TEXT:
            return True
        return group[0].value in TESTS_OF_FILES and not group[1].dynamic and holds(group[1], start, world)
    if len(group) == 3 and not group[1].dynamic:
        if group[1].value in COMPARISONS:
            return True
        files = (group[0], group[2])
        if group[1].value in FILE_COMPARISONS:
            return all(not file.dynamic and holds(file, start, world) for file in files)
    return False


def is_tame_double_test(words: list[ExpandedWord], start: str | None, world: PathWorld) -> bool:
    """`[[ ... ]]`: as `[ ]`, but numbers are evaluated there, so they must be numbers."""
    group: list[ExpandedWord] = []
    for word in [*words, ExpandedWord("&&", "&&")]:
        if word.source not in ("&&", "||", "!"):
            group.append(word)
            continue
        if word.source != "!" and (start is None or not _is_tame_double(group, start, world)):
            return False
        if word.source != "!":
            group = []
    return True


def _is_tame_double(group: list[ExpandedWord], start: str, world: PathWorld) -> bool:
    # Nothing is split or globbed in there.
    quoted = [ExpandedWord(one.value, one.source, dynamic=one.dynamic, counted=one.counted) for one in group]
    if len(quoted) == 3 and quoted[1].value.startswith("-") and quoted[1].value in COMPARISONS:
        return all(map(_is_number, (quoted[0], quoted[2])))
    if len(quoted) == 3 and quoted[1].source in ("<", ">", "=~"):
        return True
    return bool(quoted) and _is_tame_comparison(quoted, start, world)


def _is_number(word: ExpandedWord) -> bool:
    if word.dynamic:
        return word.counted and not word.value
    return word.value.lstrip("-").isdigit()


def _date(arguments: list[ExpandedWord], start: str, world: PathWorld) -> bool:
    rest = iter(arguments)
    for argument in rest:
        value = argument.value
        if value in ("-d", "--date"):
            next(rest, None)
        elif value in ("-r", "--reference"):
            following = next(rest, None)
            if following is None or not holds(following, start, world):
                return False
        elif not (value in DATE_FLAGS or value.startswith(("+", "--date=", "--iso-8601", "--rfc-3339=", "-I"))):
            return False
    return True


def _find(arguments: list[ExpandedWord], start: str, world: PathWorld) -> bool:
    from bobstay.permissions.shell.find_expression import expression, starting_points  # few sessions need it at once

    values = [argument.value for argument in arguments]
    found = expression(values)
    if found is None or "-exec" in found.actions:
        return False
    return holds(".", start, world) and all(
        holds(path, start, world) for path in (*starting_points(values), *found.files)
    )


def _cd(arguments: list[ExpandedWord], start: str, world: PathWorld) -> bool:
    values = [argument.value for argument in arguments]
    if values[:1] == ["--"]:
        values = values[1:]
    if len(values) != 1 or not values[0] or values[0].startswith("-") or arguments[-1].glob:
        return False
    return holds(values[0], start, world)


def _command(arguments: list[ExpandedWord], _start: str, _world: PathWorld) -> bool:
    return len(arguments) > 1 and arguments[0].value in ("-v", "-V")


def _git(arguments: list[ExpandedWord], start: str, world: PathWorld) -> bool:
    """Git obeys the configuration of the repository it stands in: only the working directories themselves are known."""
    if (start not in world.roots and start not in world.added) or git_commands.is_hazardous(arguments):
        return False
    found = git_commands.looks(arguments)
    return found is not None and all(holds(file, start, world) for file in found)


def _sed(arguments: list[ExpandedWord], start: str, world: PathWorld) -> bool:
    scripts, files = sed_scripts([argument.value for argument in arguments])
    known = all(script is not None and is_tame_sed(script) for script in scripts)
    if any(one.handed and one.value in scripts for one in arguments):
        return False
    return bool(scripts) and known and holds(".", start, world) and all(holds(file, start, world) for file in files)


def _awk(arguments: list[ExpandedWord], start: str, world: PathWorld) -> bool:
    program, files = awk_program([argument.value for argument in arguments])
    if program is None or not is_tame_awk(program) or not holds(".", start, world):
        return False
    if any(one.handed and one.value == program for one in arguments):
        return False
    return all(holds(ASSIGNED.sub("", file, count=1), start, world) for file in files)


def _jq(arguments: list[ExpandedWord], start: str, world: PathWorld) -> bool:
    operands: list[ExpandedWord] = []
    rest = iter(arguments)
    for argument in rest:
        value = argument.value
        if value in ("--arg", "--argjson", "--indent"):
            taken = [next(rest, None) for _ in range(1 if value == "--indent" else 2)]
            if any(one is not None and one.glob for one in taken):
                return False
        elif value.startswith("--") and value[2:] not in JQ_FLAGS:
            return False
        elif value.startswith("-") and not value.startswith("--"):
            if not set(value[1:]) <= JQ_LETTERS:
                return False
        elif not value.startswith("-"):
            operands.append(argument)
    if not operands or not is_tame_jq(operands[0].value) or operands[0].glob or operands[0].handed:
        return False
    return holds(".", start, world) and all(holds(file, start, world) for file in operands[1:])


CHECKS: dict[str, Callable[[list[ExpandedWord], str, PathWorld], bool]] = {
    "awk": _awk,
    "cd": _cd,
    "command": _command,
    "date": _date,
    "find": _find,
    "git": _git,
    "jq": _jq,
    "sed": _sed,
}
"""Commands that need a look of their own."""
