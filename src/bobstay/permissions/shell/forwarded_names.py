"""Commands that get names from others, `xargs` and `find -exec`: whether what they run only looks at files inside."""

import re
from itertools import product
from math import prod

from bobstay.permissions.path_resolution import PathWorld
from bobstay.permissions.shell.directory_links import ListedNames, lead_out_below, misleads
from bobstay.permissions.shell.expansion import ExpandedWord, readings
from bobstay.permissions.shell.find_expression import expression, starting_points
from bobstay.permissions.shell.git_index import tracked_misleads
from bobstay.permissions.shell.name_sources import NameSource, printed
from bobstay.permissions.shell.readonly import holds, is_tame
from bobstay.permissions.shell.script_walker import Occurrence
from bobstay.permissions.shell.wrappers import FED
from bobstay.permissions.shell.xargs import ODD, Invocation, invocation, placed, stripped

MOST = 32
"""Ways a pipe may come out that are looked at."""
PLAIN = re.compile(r"[\w./]")
"""What a name begins with that no program takes for more than a name."""
QUOTED = re.compile(r"[^ !#-[\]-~]")
"""What makes git put a name in quotes, which is another name to who gets it by the line."""
HANDED = ExpandedWord("./{}", "", handed=True)
"""A name that is handed over: a file inside, and no option."""
LOOSE = ExpandedWord("{}", "", handed=True)
"""The same, but nothing says what it begins with."""


def look_with_names(words: list[ExpandedWord], occurrence: Occurrence, world: PathWorld) -> bool:
    """Whether `xargs` or `find -exec` provably only look, and so does what they run with the names it gets."""
    start = occurrence.place.where
    if words[0].value == "find":
        return start is not None and _find_looks(words, start, world)
    run = invocation(words)
    return run is not None and _looks_with_names(run, occurrence, start, world)


def _looks_with_names(run: Invocation, occurrence: Occurrence, start: str | None, world: PathWorld) -> bool:
    words = run.words
    if is_tame(words, start, world):
        return True  # whatever the names are
    if start is None or occurrence.feeders is None:
        return False
    loose = True
    if occurrence.feeders:
        found = _names(occurrence, run)
        if found is None or not all(_are_inside(names, start, world) for names in found):
            return False
        loose = any(names.loose for names in found)
        if any(word.below for word in words) and any(map(_goes_up, found)):
            return False
    without = [word for word in words if word is not FED]
    if not run.placed and not is_tame(without, start, world):
        return False
    return _looks_at(words, start, world, loose=loose, single=run.single)


def _names(occurrence: Occurrence, run: Invocation) -> list[NameSource] | None:
    """What may come through the pipe, for each way its commands may come out; None if that cannot be told."""
    choices = [readings(feeder.words, occurrence.variables) for feeder in occurrence.feeders or ()]
    if prod(map(len, choices)) > MOST or not all(words for choice in choices for words in choice):
        return None
    found: list[NameSource] = []
    for commands in product(*choices):
        names = printed([stripped(words) for words in commands])
        names = names and names.split(run.splitting)
        if names is None:
            return None
        found.append(names)
    return found


def _goes_up(names: NameSource) -> bool:
    """Whether one of them may lead out of the directory it is looked for in."""
    return any(
        ".." in place for place in (*(one.directory for one in names.found), *(one.value for one in names.spelled))
    )


def _are_inside(names: NameSource, start: str, world: PathWorld) -> bool:
    """Whether each name, as it will be read, is that of a file in the working directories."""
    odd = ODD[names.splitting]
    if names.tracked is not None and names.splitting == "lines":
        odd = QUOTED
    for place in (one.directory for one in names.found):
        if not PLAIN.match(place) or (odd is not None and odd.search(place)) or not holds(place, start, world):
            return False
    if not all(holds(word, start, world) for word in names.spelled):
        return False
    if names.tracked is not None and tracked_misleads(names.tracked, odd, start, world, whole=names.whole):
        return False
    return not any(misleads(one, odd, start, world) for one in names.found)


def _looks_at(words: list[ExpandedWord], start: str, world: PathWorld, *, loose: bool, single: bool) -> bool:
    """Whether the command only looks when names inside are put in their places."""
    if words[0].dynamic:
        return False  # a name is, or is part of, the command
    given: list[ExpandedWord] = []
    for word in words:
        if word is FED:
            given += [LOOSE if loose else HANDED] * (1 if single else 2)
        elif word.below:
            if not holds(word.below, start, world) or lead_out_below(word.below, start, world):
                return False
            given.append(ExpandedWord(f"{word.below}{{}}", "", handed=True))
        else:
            given.append(word)
    return is_tame(given, start, world)


def _find_looks(words: list[ExpandedWord], start: str, world: PathWorld) -> bool:
    """Whether all that `find -exec` runs only looks, and `find` itself does."""
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
            command = words[position : end - many] + [FED] * many
            runs.append(Invocation(stripped([placed(one, "{}") for one in command]), "nul", single=not many))
            position = end + 1
    values = [word.value for word in rest[1:]]
    searched = expression(values)
    if not runs or searched is None or not all(holds(file, start, world) for file in searched.files):
        return False
    found = tuple(
        ListedNames(place, deep=not searched.shallow, pattern=searched.pattern, links=searched.links)
        for place in starting_points(values)
    )
    if not _are_inside(NameSource(found), start, world) or any(".." in one.directory for one in found):
        return False
    return all(_looks_at(run.words, start, world, loose=False, single=run.single) for run in runs)


def _end_of_run(words: list[ExpandedWord], position: int) -> int | None:
    """Where the command behind `-exec` ends; None if it does not, or is none."""
    begin = position
    while position < len(words):
        value = words[position].value
        if value == ";" or (value == "+" and words[position - 1].value == "{}" and position > begin):
            return position if position > begin else None
        position += 1
    return None
