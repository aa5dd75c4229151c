"""Every text by which a deny or ask rule may know a command: wrappers, paths, variables and quotes looked past."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

from bobstay.permissions.shell import git_commands
from bobstay.permissions.shell.name_sets import names
from bobstay.permissions.shell.word_scanner import decoded
from bobstay.permissions.shell.wrappers import EXEC_WRAPPERS, SHELLS, TRANSPARENT

Suspect: TypeAlias = tuple[str, tuple[int, ...]]
"""Words joined by blanks, and at which characters a command may begin."""

LOOKED_PAST = TRANSPARENT | EXEC_WRAPPERS | SHELLS | names("then do else elif if while until ! coproc function { (")
POSITIONALS = {"timeout": 1, "flock": 1, "ssh": 1, "chroot": 1, "su": 1, "runuser": 1, "chrt": 1, "taskset": 1}
"""How many operands of its own a wrapper has before the command."""
RUNS = {
    "find": names("-exec -execdir -ok -okdir"),
    "fd": names("-x --exec -X --exec-batch"),
    "fdfind": names("-x --exec -X --exec-batch"),
}
"""Options behind which a command stands that is run with what was found."""
MOST = 20
"""Words that may be commands, of which it is looked whether a list names one; with more, that cannot be told."""
SCRIPT_SIGNS = frozenset(" \t;|&\n`$()<>")
SCRIPTED = SHELLS | names("eval trap watch ssh su runuser flock parallel script busybox")
"""They take shell text, or split their arguments again: any word for them that is not plain is looked into."""
PLAIN = re.compile(r"[\w@%+=:,./-]*")
CODED = re.compile(r"\$'((?:[^'\\]|\\[\s\S])*)'")
CUTS = re.compile(r"[`;&|(){}<>$\r\n\x00]")
HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
WORD = re.compile(r"[\w.@%+-]+")
RUN = re.compile(r"[0-9]+e(?=\w)")
BLANK = re.compile(" ")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


def suspects(values: list[str]) -> Iterator[Suspect]:
    """How one command may be known. `values` are its words as the command would see them."""
    found = places(values)
    yield _suspect(values, found)
    hidden = {index for index in found if values[index].rpartition("/")[2] == "git"}
    if hidden:
        yield from _without_git_options(values, hidden)


def _suspect(values: list[str], begins: list[int]) -> Suspect:
    offsets: list[int] = []
    at = 0
    for value in values:
        offsets.append(at)
        at += len(value) + 1
    starts: dict[int, None] = {0: None}
    for index in begins:
        starts[offsets[index]] = None
        slash = values[index].rfind("/")
        if slash >= 0:
            starts[offsets[index] + slash + 1] = None
    return " ".join(values), tuple(starts)


def _without_git_options(values: list[str], hidden: set[int]) -> Iterator[Suspect]:
    """The same words, each git followed by its command at once."""
    kept: list[str] = []
    begins: list[int] = []
    index = 0
    while index < len(values):
        if index in hidden:
            begins.append(len(kept))
            kept.append("git")
            index = git_commands.past_options(values, index + 1)
        else:
            kept.append(values[index])
            index += 1
    if len(kept) < len(values):
        yield _suspect(kept, begins)


def places(values: list[str]) -> list[int]:
    """The words that may be the name of a command: the first, and those behind whatever runs its arguments."""
    index = 0
    while index < len(values) and ASSIGNMENT.match(values[index]):
        index += 1
    if index >= len(values):
        return []
    found: dict[int, None] = {}
    waiting = [index]
    searched: set[str] = set()
    while waiting:
        index = waiting.pop()
        if index in found:
            continue
        found[index] = None
        name = values[index].rpartition("/")[2]
        if name in LOOKED_PAST:
            waiting += reversed(_behind(values, index, name))
        elif name in RUNS and name not in searched:
            searched.add(name)  # a later one has nothing more behind it
            runs = RUNS[name]
            waiting += [number + 1 for number in range(index, len(values) - 1) if values[number] in runs][::-1]
    return list(found)


def _behind(values: list[str], index: int, name: str) -> list[int]:
    """Which arguments of a wrapper may be the command, when not all of its options are known."""
    if name == "command" and values[index + 1 : index + 2] in (["-v"], ["-V"]):
        return []  # it only asks where a command is
    own = POSITIONALS.get(name, 0)
    found: list[int] = []
    position = index + 1
    while position < len(values):
        value = values[position]
        position += 1
        if value == "-" or value.startswith("+"):
            continue  # an empty environment; an option taken back
        if value.startswith("-"):
            if "=" not in value and position < len(values) and not values[position].startswith("-"):
                found.append(position)  # the value of the option, or the command
                if values[position].rpartition("/")[2] in LOOKED_PAST:
                    break  # what is behind it is looked at on its own account
                position += 1
        elif ASSIGNMENT.match(value):
            continue
        else:
            found.append(position - 1)
            if own == 0:
                break
            own -= 1
    return found


def is_named_by_list(values: list[str], begins: list[int]) -> bool:
    """Whether what `xargs`, `parallel`, `find` or `fd` run may get its name from what they read or find."""
    for place in begins[:MOST]:
        name, behind = values[place].rpartition("/")[2], values[place + 1 :]
        if name == "xargs" and _is_named_by_input(behind):
            return True
        if name == "parallel" and (any("{" in values[one] for one in begins) or _lacks_command(behind, name)):
            return True
        if name in RUNS and any(before in RUNS[name] and "{" in value for before, value in pairwise(behind)):
            return True
    return len(begins) > MOST


def _is_named_by_input(arguments: list[str]) -> bool:
    from bobstay.permissions.shell.getopt import leading
    from bobstay.permissions.shell.xargs import XARGS  # few commands need it

    found = leading(XARGS, arguments)
    if found is None:
        return True
    options, command = dict(found[1]), arguments[found[0] :]
    wrappers = [place for place in places(command) if command[place].rpartition("/")[2] in LOOKED_PAST]
    if "I" in options or "i" in options:
        replaced = options.get("I") or options.get("i") or "{}"
        return bool(wrappers) or any(replaced in word for word in command[:1])
    return any(_lacks_command(command[place + 1 :], command[place].rpartition("/")[2]) for place in wrappers)


def _lacks_command(values: list[str], name: str) -> bool:
    """Whether nothing behind a wrapper is the command, so that what is added there will be."""
    own = POSITIONALS.get(name, 0) if name in ("chroot", "flock", "runuser", "ssh", "su") else 0
    commands = [value for value in values if value[:1].isalpha() or value[:1] in (".", "/", "_")]
    return sum(not ASSIGNMENT.match(value) for value in commands) <= own


def scripts(values: list[str]) -> Iterator[str]:
    """Shell text handed over as an argument, to be looked into."""
    found = {index: values[index].rpartition("/")[2] for index in places(values)}
    scripted = any(_is_scripted(name, values) for name in set(found.values()))
    joins = next((index for index, name in found.items() if name == "eval"), len(values))
    if joins + 2 < len(values):
        yield " ".join(values[joins + 1 :])  # an eval behind the first is found in there
    first = next((index for index, name in found.items() if name in LOOKED_PAST), len(values))
    splits = "env" in found.values()
    for value in values[first + 1 :]:
        if splits and value.startswith("-"):
            yield value.partition("=" if value.startswith("--") else "S")[2]
        if not SCRIPT_SIGNS.isdisjoint(value) or (scripted and not PLAIN.fullmatch(value)):
            yield value


def _is_scripted(name: str, values: list[str]) -> bool:
    splits = (value.startswith("--s") or (value.startswith("-") and "S" in value) for value in values)
    return name in SCRIPTED or (name == "env" and any(splits))


def rough(text: str) -> Iterator[list[str]]:
    """Text that was not understood, cut at everything that may end or begin a command, with quoting taken off."""
    variants = {text, HIDDEN.sub("", text)} if HIDDEN.search(text) else {text}
    for variant in variants:
        plain = variant.replace("\\\n", "")
        if "$'" in plain:
            plain = CODED.sub(lambda found: decoded(found.group(1)), plain)
        for mark in ('$"', "'", '"', "\\"):
            plain = plain.replace(mark, "")
        for line in dict.fromkeys(CUTS.sub("\n", plain).split("\n")):
            if words := line.split():
                yield words


def anywhere(text: str) -> Suspect:
    """Text of another language, in which any word may be a command, also right behind a letter that runs it."""
    for mark in ("\\\n", "\\", "'", '"'):
        text = text.replace(mark, "")
    joined = " ".join(found for word in WORD.findall(text) for found in dict.fromkeys((word, RUN.sub("", word))))
    return joined, (0, *(found.end() for found in BLANK.finditer(joined)))
