"""Recognises commands that only read, and only inside the working directories: by option tables and special checks."""

import re
from collections.abc import Callable

from bobstay.permissions.path_resolution import FileSystemView, locate
from bobstay.permissions.shell import git_commands
from bobstay.permissions.shell.command_options import READ_ONLY, SPECS, WRITERS, sort_arguments
from bobstay.permissions.shell.directory_links import ListedNames, has_link_out, is_misleading
from bobstay.permissions.shell.embedded_scripts import (
    awk_program,
    is_read_only_awk,
    is_read_only_jq,
    is_read_only_sed,
    printf_assigns,
    sed_scripts,
)
from bobstay.permissions.shell.expansion import ExpandedWord
from bobstay.permissions.shell.name_sets import names

OUTPUT_ONLY = names("echo printf true false :")
"""They read no file and start nothing, whatever their arguments are."""
GLOBLESS = WRITERS | {"find", "sed", "awk", "git", "date", "printf", "test", "["}
STRINGS_SIGNS = ("@", "*", "?", "[")
"""The beginning of an `@file` with arguments for `strings`, or of a pattern that may match one."""
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
"""The beginning of a pattern that matches options."""
ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
"""The beginning of an awk operand that assigns a variable."""
DATE_FLAGS = frozenset({"-u", "--utc", "--universal", "-R", "--rfc-email"})


def is_read_only(words: list[ExpandedWord], start: str | None, view: FileSystemView) -> bool:
    """Whether a simple command, run in `start`, provably only reads, and only inside the working directories."""
    name, arguments = words[0].value, words[1:]
    if not _lists_inside(arguments, start, view):
        return False
    if name in OUTPUT_ONLY:
        return name != "printf" or _is_read_only_printf(arguments)
    if start is None or (name in GLOBLESS and any(one.glob or _may_be_option(one) for one in arguments)):
        return False
    if any(one.glob and OPTIONS.match(one.value) for one in arguments):
        return False
    if name in ("test", "["):
        return _is_read_only_test(name, arguments, start, view)
    if any((one.dynamic and not one.pipe) or (one.counted and _may_lead_out(one, start, view)) for one in arguments):
        return False
    if SPECS.get(name) is not None and name in READ_ONLY:
        return _is_read_only_by_spec(name, arguments, start, view)
    check = CHECKS.get(name)
    return check is not None and check(arguments, start, view)


def _may_be_option(word: ExpandedWord) -> bool:
    """Whether it stands for forwarded names with an unknown beginning: as with a glob, one may be an option."""
    return word.forwarded and word.value == "{}"


def _may_lead_out(word: ExpandedWord, start: str, view: FileSystemView) -> bool:
    """Whether this word, with any number in place of 0, may name a link that leads out."""
    directory, slash, name = word.value.rpartition("/")
    return "0" in directory or has_link_out(directory or slash or ".", name.replace("0", "*"), start, view)


def _lists_inside(arguments: list[ExpandedWord], start: str | None, view: FileSystemView) -> bool:
    """Whether all directories that the shell lists for globs are inside, whichever command receives the names."""
    if any(one.loose for one in arguments):
        return False
    globs = [one for one in arguments if one.glob]
    return all(start is not None and not one.dynamic and _is_glob_inside(one.value, start, view) for one in globs)


def is_inside(file: ExpandedWord | str, start: str, view: FileSystemView) -> bool:
    """Whether a file, or everything that a glob may match, lies in a working directory."""
    if isinstance(file, str):
        return file in ("", "-") or view.contains(locate(file, start, view))
    if file.pipe:
        return True
    if not file.glob:
        return is_inside(file.value, start, view)
    base, last = glob_base(file.value), file.value.rstrip("/").rpartition("/")[2]
    # If the pattern does not fix the beginning of the names, one may be an option that follows links.
    found = ListedNames(base, deep=False, pattern=last, loose=last == file.value.rstrip("/"))
    return _is_glob_inside(file.value, start, view) and not is_misleading(found, None, start, view)


def _is_glob_inside(pattern: str, start: str, view: FileSystemView) -> bool:
    """Whether the directory that the shell lists for a pattern lies in a working directory."""
    base = glob_base(pattern)
    return bool(base) and is_inside(base, start, view)


def glob_base(pattern: str) -> str:
    """The only directory that the shell lists for a glob; "" if it would descend into what it finds there.

    A directory it finds may be a link that leads anywhere.
    """
    parts = pattern.split("/")
    first = next((number for number, part in enumerate(parts) if any(sign in part for sign in "*?[")), 0)
    part = parts[first]
    if any(parts[first + 1 :]) or (part.startswith(".") and part[1:2] and part[1] in ".*?["):
        return ""  # the latter may match the parent directory
    return "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")


def _is_read_only_by_spec(name: str, arguments: list[ExpandedWord], start: str, view: FileSystemView) -> bool:
    spec = SPECS[name]
    parsed = sort_arguments(spec, arguments)
    if parsed.refused or parsed.leaves or len(parsed.operands) > spec.most:
        return False
    if spec.operands == "data":
        return True
    files = parsed.operands
    if spec.operands == "pattern" and not parsed.patterned and files and not files[0].glob:
        files = files[1:]
    if name == "strings" and any(one.value[:1] in STRINGS_SIGNS or _may_be_option(one) for one in files):
        return False  # it would read its arguments from that file
    if not is_inside(".", start, view):
        return False  # without operands most commands read the current directory
    compared = [*files, *(ExpandedWord(file, file) for file in parsed.files)] if name == "diff" else []
    if any(_leads_out(one, start, view, deep=parsed.recursive) for one in compared):
        return False  # it follows links in directories
    named: dict[ExpandedWord | str, None] = {**dict.fromkeys(files), **dict.fromkeys(parsed.files)}
    return all(is_inside(file, start, view) for file in named)


def _leads_out(file: ExpandedWord, start: str, view: FileSystemView, *, deep: bool) -> bool:
    """Whether a link in this directory, if it is a directory, leads out."""
    return file.forwarded or (not file.pipe and is_misleading(ListedNames(file.value, deep=deep), None, start, view))


def _is_read_only_printf(arguments: list[ExpandedWord]) -> bool:
    """Whether its format is literal and stores nothing: `-v` and `%n` name a variable, whose subscript is evaluated."""
    if not arguments or arguments[0].dynamic or arguments[0].glob:
        return False
    return not arguments[0].value.startswith("-") and not printf_assigns(arguments[0].value)


def _is_read_only_test(name: str, arguments: list[ExpandedWord], start: str, view: FileSystemView) -> bool:
    if name == "[":
        if not arguments or arguments[-1].value != "]":
            return False
        arguments = arguments[:-1]
    if arguments and arguments[0].value in ("-a", "-o"):
        return False
    group: list[ExpandedWord] = []
    for argument in [*arguments, ExpandedWord("-a", "-a")]:
        if argument.value in ("-a", "-o") and not argument.dynamic:
            if group and not _is_read_only_comparison(group, start, view):
                return False
            group = []
        elif argument.value in ("(", ")"):
            return False
        else:
            group.append(argument)
    dynamic = any(argument.dynamic for argument in arguments)
    return not dynamic or len(arguments) <= 3


def _is_read_only_comparison(group: list[ExpandedWord], start: str, view: FileSystemView) -> bool:
    """Check one test. A dynamic word must be quoted, in a position where it cannot become an operator."""
    if group[0].value == "!" and not group[0].dynamic and len(group) > 1:
        group = group[1:]
    if any(word.splits and not word.counted for word in group):
        return False
    if len(group) == 1:
        return not group[0].value.startswith("-") or group[0].dynamic
    if len(group) == 2 and not group[0].dynamic:
        if group[0].value in TESTS_OF_TEXT:
            return True
        return group[0].value in TESTS_OF_FILES and not group[1].dynamic and is_inside(group[1], start, view)
    if len(group) == 3 and not group[1].dynamic:
        if group[1].value in COMPARISONS:
            return True
        files = (group[0], group[2])
        if group[1].value in FILE_COMPARISONS:
            return all(not file.dynamic and is_inside(file, start, view) for file in files)
    return False


def is_read_only_double_test(words: list[ExpandedWord], start: str | None, view: FileSystemView) -> bool:
    """Check `[[ ... ]]`: like `[ ]`, but operands of numeric comparisons are evaluated, so they must be numbers."""
    group: list[ExpandedWord] = []
    for word in [*words, ExpandedWord("&&", "&&")]:
        if word.source not in ("&&", "||", "!"):
            group.append(word)
            continue
        if word.source != "!" and (start is None or not _is_read_only_double(group, start, view)):
            return False
        if word.source != "!":
            group = []
    return True


def _is_read_only_double(group: list[ExpandedWord], start: str, view: FileSystemView) -> bool:
    # There is no word splitting or globbing inside.
    quoted = [ExpandedWord(one.value, one.source, dynamic=one.dynamic, counted=one.counted) for one in group]
    if len(quoted) == 3 and quoted[1].value.startswith("-") and quoted[1].value in COMPARISONS:
        return all(map(_is_number, (quoted[0], quoted[2])))
    if len(quoted) == 3 and quoted[1].source in ("<", ">", "=~"):
        return True
    return bool(quoted) and _is_read_only_comparison(quoted, start, view)


def _is_number(word: ExpandedWord) -> bool:
    if word.dynamic:
        return word.counted and not word.value
    return word.value.lstrip("-").isdigit()


def _date(arguments: list[ExpandedWord], start: str, view: FileSystemView) -> bool:
    rest = iter(arguments)
    for argument in rest:
        value = argument.value
        if value in ("-d", "--date"):
            next(rest, None)
        elif value in ("-r", "--reference"):
            following = next(rest, None)
            if following is None or not is_inside(following, start, view):
                return False
        elif not (value in DATE_FLAGS or value.startswith(("+", "--date=", "--iso-8601", "--rfc-3339=", "-I"))):
            return False
    return True


def _find(arguments: list[ExpandedWord], start: str, view: FileSystemView) -> bool:
    from bobstay.permissions.shell.find_expression import expression, starting_points  # few sessions need it early

    values = [argument.value for argument in arguments]
    found = expression(values)
    if found is None or "-exec" in found.actions:
        return False
    return is_inside(".", start, view) and all(
        is_inside(path, start, view) for path in (*starting_points(values), *found.files)
    )


def _cd(arguments: list[ExpandedWord], start: str, view: FileSystemView) -> bool:
    values = [argument.value for argument in arguments]
    if values[:1] == ["--"]:
        values = values[1:]
    if len(values) != 1 or not values[0] or values[0].startswith("-") or arguments[-1].glob:
        return False
    return is_inside(values[0], start, view)


def _command(arguments: list[ExpandedWord], _start: str, _view: FileSystemView) -> bool:
    return len(arguments) > 1 and arguments[0].value in ("-v", "-V")


def _git(arguments: list[ExpandedWord], start: str, view: FileSystemView) -> bool:
    """Git reads the configuration of the repository it is started in: only the working directories are known."""
    if (start not in view.roots and start not in view.added) or git_commands.is_hazardous(arguments):
        return False
    found = git_commands.read_only_operands(arguments)
    return found is not None and all(is_inside(file, start, view) for file in found)


def _sed(arguments: list[ExpandedWord], start: str, view: FileSystemView) -> bool:
    scripts, files = sed_scripts([argument.value for argument in arguments])
    known = all(script is not None and is_read_only_sed(script) for script in scripts)
    if any(one.forwarded and one.value in scripts for one in arguments):
        return False
    return (
        bool(scripts) and known and is_inside(".", start, view) and all(is_inside(file, start, view) for file in files)
    )


def _awk(arguments: list[ExpandedWord], start: str, view: FileSystemView) -> bool:
    program, files = awk_program([argument.value for argument in arguments])
    if program is None or not is_read_only_awk(program) or not is_inside(".", start, view):
        return False
    if any(one.forwarded and one.value == program for one in arguments):
        return False
    return all(is_inside(ASSIGNED.sub("", file, count=1), start, view) for file in files)


def _jq(arguments: list[ExpandedWord], start: str, view: FileSystemView) -> bool:
    operands: list[ExpandedWord] = []
    rest = iter(arguments)
    for argument in rest:
        value = argument.value
        if value in ("--arg", "--argjson", "--indent"):
            parsed = [next(rest, None) for _ in range(1 if value == "--indent" else 2)]
            if any(one is not None and one.glob for one in parsed):
                return False
        elif value.startswith("--") and value[2:] not in JQ_FLAGS:
            return False
        elif value.startswith("-") and not value.startswith("--"):
            if not set(value[1:]) <= JQ_LETTERS:
                return False
        elif not value.startswith("-"):
            operands.append(argument)
    if not operands or not is_read_only_jq(operands[0].value) or operands[0].glob or operands[0].forwarded:
        return False
    return is_inside(".", start, view) and all(is_inside(file, start, view) for file in operands[1:])


CHECKS: dict[str, Callable[[list[ExpandedWord], str, FileSystemView], bool]] = {
    "awk": _awk,
    "cd": _cd,
    "command": _command,
    "date": _date,
    "find": _find,
    "git": _git,
    "jq": _jq,
    "sed": _sed,
}
"""Commands with a special check."""
