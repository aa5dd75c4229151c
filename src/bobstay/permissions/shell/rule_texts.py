"""Produces the texts that deny and ask rules are matched with: behind wrappers, without paths, variables and quotes."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

from bobstay.permissions.shell import git_commands
from bobstay.permissions.shell.name_sets import names
from bobstay.permissions.shell.word_scanner import decode_escapes
from bobstay.permissions.shell.wrappers import EXEC_WRAPPERS, SHELLS, TRANSPARENT

RuleTextStarts: TypeAlias = tuple[str, tuple[int, ...]]
"""Words joined by blanks, and the offsets at which a command may begin."""

LOOKED_PAST = TRANSPARENT | EXEC_WRAPPERS | SHELLS | names("then do else elif if while until ! coproc function { (")
POSITIONALS = {"timeout": 1, "flock": 1, "ssh": 1, "chroot": 1, "su": 1, "runuser": 1, "chrt": 1, "taskset": 1}
"""The number of operands that a wrapper takes before the command."""
RUNS = {
    "find": names("-exec -execdir -ok -okdir"),
    "fd": names("-x --exec -X --exec-batch"),
    "fdfind": names("-x --exec -X --exec-batch"),
}
"""Options that are followed by a command to run with the files found."""
MOST = 20
"""Possible commands that are checked by `is_named_by_list`; with more, the answer is yes."""
SCRIPT_SIGNS = frozenset(" \t;|&\n`$()<>")
SCRIPTED = SHELLS | names("eval trap watch ssh su runuser flock parallel script busybox")
"""They take shell text, or split their arguments again: any word with special characters is analysed as a script."""
SIMPLE_WORD = re.compile(r"[\w@%+=:,./-]*")
CODED = re.compile(r"\$'((?:[^'\\]|\\[\s\S])*)'")
CUTS = re.compile(r"[`;&|(){}<>$\r\n\x00]")
HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
WORD = re.compile(r"[\w.@%+-]+")
RUN = re.compile(r"[0-9]+e(?=\w)")
BLANK = re.compile(" ")
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


def rule_texts(values: list[str]) -> Iterator[RuleTextStarts]:
    """The texts of one command. `values` are its words as the command would receive them."""
    found = command_positions(values)
    yield _join_with_starts(values, found)
    hidden = {index for index in found if values[index].rpartition("/")[2] == "git"}
    if hidden:
        yield from _without_git_options(values, hidden)


def _join_with_starts(values: list[str], begins: list[int]) -> RuleTextStarts:
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


def _without_git_options(values: list[str], hidden: set[int]) -> Iterator[RuleTextStarts]:
    """The same words without the options between git and its command."""
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
        yield _join_with_starts(kept, begins)


def command_positions(values: list[str]) -> list[int]:
    """The positions of words that may be a command: the first, and those behind wrappers that run their arguments."""
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
            waiting += reversed(_positions_behind(values, index, name))
        elif name in RUNS and name not in searched:
            searched.add(name)  # a later one adds no other positions
            runs = RUNS[name]
            waiting += [number + 1 for number in range(index, len(values) - 1) if values[number] in runs][::-1]
    return list(found)


def _positions_behind(values: list[str], index: int, name: str) -> list[int]:
    """The positions of a wrapper's arguments that may be the command; not all of its options are known."""
    if name == "command" and values[index + 1 : index + 2] in (["-v"], ["-V"]):
        return []  # it only prints where a command is
    operands_left = POSITIONALS.get(name, 0)
    found: list[int] = []
    position = index + 1
    while position < len(values):
        value = values[position]
        position += 1
        if value == "-" or value.startswith("+"):
            continue  # an empty environment; an option that is unset
        if value.startswith("-"):
            if "=" not in value and position < len(values) and not values[position].startswith("-"):
                found.append(position)  # the value of the option, or the command
                if values[position].rpartition("/")[2] in LOOKED_PAST:
                    break  # its own arguments are handled separately
                position += 1
        elif ASSIGNMENT.match(value):
            continue
        else:
            found.append(position - 1)
            if operands_left == 0:
                break
            operands_left -= 1
    return found


def is_named_by_list(values: list[str], begins: list[int]) -> bool:
    """Whether `xargs`, `parallel`, `find` or `fd` may take the name of the command from what they read or find."""
    for position in begins[:MOST]:
        name, behind = values[position].rpartition("/")[2], values[position + 1 :]
        if name == "xargs" and _is_named_by_input(behind):
            return True
        if name == "parallel" and (any("{" in values[one] for one in begins) or _lacks_command(behind, name)):
            return True
        if name in RUNS and any(before in RUNS[name] and "{" in value for before, value in pairwise(behind)):
            return True
    return len(begins) > MOST


def _is_named_by_input(arguments: list[str]) -> bool:
    from bobstay.permissions.shell.getopt import leading_options
    from bobstay.permissions.shell.xargs import XARGS  # few commands need it

    found = leading_options(XARGS, arguments)
    if found is None:
        return True
    options, command = dict(found[1]), arguments[found[0] :]
    wrappers = [
        position for position in command_positions(command) if command[position].rpartition("/")[2] in LOOKED_PAST
    ]
    if "I" in options or "i" in options:
        replaced = options.get("I") or options.get("i") or "{}"
        return bool(wrappers) or any(replaced in word for word in command[:1])
    return any(_lacks_command(command[position + 1 :], command[position].rpartition("/")[2]) for position in wrappers)


def _lacks_command(values: list[str], name: str) -> bool:
    """Whether no word behind a wrapper is the command, so that a forwarded name becomes it."""
    operands_left = POSITIONALS.get(name, 0) if name in ("chroot", "flock", "runuser", "ssh", "su") else 0
    commands = [value for value in values if value[:1].isalpha() or value[:1] in (".", "/", "_")]
    return sum(not ASSIGNMENT.match(value) for value in commands) <= operands_left


def scripts(values: list[str]) -> Iterator[str]:
    """Shell scripts that are passed as arguments."""
    found = {index: values[index].rpartition("/")[2] for index in command_positions(values)}
    scripted = any(_is_scripted(name, values) for name in set(found.values()))
    joins = next((index for index, name in found.items() if name == "eval"), len(values))
    if joins + 2 < len(values):
        yield " ".join(values[joins + 1 :])  # a later eval is found inside
    first = next((index for index, name in found.items() if name in LOOKED_PAST), len(values))
    splits = "env" in found.values()
    for value in values[first + 1 :]:
        if splits and value.startswith("-"):
            yield value.partition("=" if value.startswith("--") else "S")[2]
        if not SCRIPT_SIGNS.isdisjoint(value) or (scripted and not SIMPLE_WORD.fullmatch(value)):
            yield value


def _is_scripted(name: str, values: list[str]) -> bool:
    splits = (value.startswith("--s") or (value.startswith("-") and "S" in value) for value in values)
    return name in SCRIPTED or (name == "env" and any(splits))


def rough_commands(text: str) -> Iterator[list[str]]:
    """Split text that could not be parsed at everything that may end or begin a command, and remove quotes."""
    variants = {text, HIDDEN.sub("", text)} if HIDDEN.search(text) else {text}
    for variant in variants:
        plain = variant.replace("\\\n", "")
        if "$'" in plain:
            plain = CODED.sub(lambda found: decode_escapes(found.group(1)), plain)
        for mark in ('$"', "'", '"', "\\"):
            plain = plain.replace(mark, "")
        for line in dict.fromkeys(CUTS.sub("\n", plain).split("\n")):
            if words := line.split():
                yield words


def any_word_text(text: str) -> RuleTextStarts:
    """Text in another language, in which every word may be a command, also directly behind sed's `e`."""
    for mark in ("\\\n", "\\", "'", '"'):
        text = text.replace(mark, "")
    joined = " ".join(found for word in WORD.findall(text) for found in dict.fromkeys((word, RUN.sub("", word))))
    return joined, (0, *(found.end() for found in BLANK.finditer(joined)))
