"""Checks commands that receive names from others, `xargs` and `find -exec`: whether they only read files inside."""

import re
from itertools import product
from math import prod

from bobstay.permissions.path_resolution import FileSystemView
from bobstay.permissions.shell.directory_links import ListedNames, has_link_out_below, is_misleading
from bobstay.permissions.shell.expansion import ExpandedWord, readings
from bobstay.permissions.shell.find_expression import expression, starting_points
from bobstay.permissions.shell.name_sources import NameSource, output_names
from bobstay.permissions.shell.readonly import is_inside, is_read_only
from bobstay.permissions.shell.script_walker import Occurrence
from bobstay.permissions.shell.tracked_names import is_tracked_misleading
from bobstay.permissions.shell.wrappers import XARGS_INPUT
from bobstay.permissions.shell.xargs import ODD, Invocation, parse_xargs, strip_wrappers, substitute_names

MOST = 32
"""Possible expansions of a pipe that are checked."""
SAFE_START = re.compile(r"[\w./]")
"""The beginning of a name that no program reads as an option or anything else."""
QUOTED = re.compile(r"[^ !#-[\]-~]")
"""Characters for which git quotes a name, which is another name to a program that reads lines."""
FORWARDED = ExpandedWord("./{}", "", forwarded=True)
"""A forwarded name: a file inside the working directories, and no option."""
LOOSE = ExpandedWord("{}", "", forwarded=True)
"""A forwarded name of which the beginning is not known."""


def is_read_only_with_names(words: list[ExpandedWord], occurrence: Occurrence, view: FileSystemView) -> bool:
    """Whether `xargs` or `find -exec`, and the command they run with forwarded names, provably only read."""
    start = occurrence.location.path
    if words[0].value == "find":
        return start is not None and _is_read_only_find(words, start, view)
    run = parse_xargs(words)
    return run is not None and _is_read_only_with_names(run, occurrence, start, view)


def _is_read_only_with_names(run: Invocation, occurrence: Occurrence, start: str | None, view: FileSystemView) -> bool:
    words = run.words
    if is_read_only(words, start, view):
        return True  # whatever the names are
    if start is None or occurrence.name_sources is None:
        return False
    loose = True
    if occurrence.name_sources:
        found = _names(occurrence, run)
        if found is None or not all(_are_inside(names, start, view) for names in found):
            return False
        loose = any(names.loose for names in found)
        if any(word.below for word in words) and any(map(_may_go_up, found)):
            return False
    without = [word for word in words if word is not XARGS_INPUT]
    if not run.has_placeholder and not is_read_only(without, start, view):
        return False
    return _is_read_only_on(words, start, view, loose=loose, single=run.single)


def _names(occurrence: Occurrence, run: Invocation) -> list[NameSource] | None:
    """The names that may come through the pipe, for each possible expansion of its commands; None if not known."""
    choices = [readings(source.words, occurrence.variables) for source in occurrence.name_sources or ()]
    if prod(map(len, choices)) > MOST or not all(words for choice in choices for words in choice):
        return None
    found: list[NameSource] = []
    for commands in product(*choices):
        names = output_names([strip_wrappers(words) for words in commands])
        names = names and names.split(run.splitting)
        if names is None:
            return None
        found.append(names)
    return found


def _may_go_up(names: NameSource) -> bool:
    """Whether one of the names may lead out of the directory in which it is used."""
    return any(
        ".." in directory
        for directory in (*(one.directory for one in names.found), *(one.value for one in names.spelled))
    )


def _are_inside(names: NameSource, start: str, view: FileSystemView) -> bool:
    """Whether each name, as the receiving command will read it, is a file in the working directories."""
    odd = ODD[names.splitting]
    if names.tracked is not None and names.splitting == "lines":
        odd = QUOTED
    for directory in (one.directory for one in names.found):
        if (
            not SAFE_START.match(directory)
            or (odd is not None and odd.search(directory))
            or not is_inside(directory, start, view)
        ):
            return False
    if not all(is_inside(word, start, view) for word in names.spelled):
        return False
    if names.tracked is not None and is_tracked_misleading(names.tracked, odd, start, view, whole=names.whole):
        return False
    return not any(is_misleading(one, odd, start, view) for one in names.found)


def _is_read_only_on(words: list[ExpandedWord], start: str, view: FileSystemView, *, loose: bool, single: bool) -> bool:
    """Whether the command only reads when it receives names of files inside."""
    if words[0].dynamic:
        return False  # a name is, or is part of, the command
    given: list[ExpandedWord] = []
    for word in words:
        if word is XARGS_INPUT:
            given += [LOOSE if loose else FORWARDED] * (1 if single else 2)
        elif word.below:
            if not is_inside(word.below, start, view) or has_link_out_below(word.below, start, view):
                return False
            given.append(ExpandedWord(f"{word.below}{{}}", "", forwarded=True))
        else:
            given.append(word)
    return is_read_only(given, start, view)


def _is_read_only_find(words: list[ExpandedWord], start: str, view: FileSystemView) -> bool:
    """Whether `find` and all commands behind `-exec` only read."""
    if any(word.glob or word.dynamic or word.counted for word in words):
        return False
    rest: list[ExpandedWord] = []
    runs: list[Invocation] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        rest.append(word)
        if word.value == "-exec":
            end = _end_of_run(words, position)
            if end is None:
                return False
            many = words[end].value == "+"
            command = words[position : end - many] + [XARGS_INPUT] * many
            runs.append(
                Invocation(strip_wrappers([substitute_names(one, "{}") for one in command]), "nul", single=not many)
            )
            position = end + 1
    values = [word.value for word in rest[1:]]
    searched = expression(values)
    if not runs or searched is None or not all(is_inside(file, start, view) for file in searched.files):
        return False
    found = tuple(
        ListedNames(directory, deep=not searched.shallow, pattern=searched.pattern, links=searched.links)
        for directory in starting_points(values)
    )
    if not _are_inside(NameSource(found), start, view) or any(".." in one.directory for one in found):
        return False
    return all(_is_read_only_on(run.words, start, view, loose=False, single=run.single) for run in runs)


def _end_of_run(words: list[ExpandedWord], position: int) -> int | None:
    """Where the command behind `-exec` ends; None if it does not end, or is empty."""
    begin = position
    while position < len(words):
        value = words[position].value
        if value == ";" or (value == "+" and words[position - 1].value == "{}" and position > begin):
            return position if position > begin else None
        position += 1
    return None
