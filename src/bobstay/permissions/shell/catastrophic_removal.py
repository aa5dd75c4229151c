"""Removals nobody wants: of a system, a home, the work itself, or of whatever an empty variable leads to."""

import re

from bobstay.permissions.path_resolution import PathWorld, locate
from bobstay.permissions.shell.expansion import ExpandedWord
from bobstay.permissions.shell.rule_texts import places

REMOVERS = frozenset({"rm", "rmdir"})
KNOWN = {"HOME": "~", "PWD": ".", "OLDPWD": ".."}
REMOVER = re.compile(r"\brm(?:dir)?\b")
BELOW_VARIABLE = re.compile(r"\$(?:\{\w+\}|\w+)[\"']*[/*]")


def disaster(words: list[ExpandedWord], starts: tuple[str, ...], world: PathWorld) -> str:
    """Why this command may remove what nobody wants removed; empty if it cannot."""
    values = [word.spelled for word in words]
    if not any(value.rpartition("/")[2] in REMOVERS for value in values):
        return ""
    for index in places(values):
        if values[index].rpartition("/")[2] not in REMOVERS:
            continue
        for operand in dict.fromkeys(words[index + 1 :]):
            if not operand.value.startswith("-") and (why := _of_operand(operand, starts, world)):
                return why
    return ""


def rough_disaster(text: str, pieces: list[list[str]], starts: tuple[str, ...], world: PathWorld) -> str:
    """The same for text that was not understood."""
    if "rm" not in text:
        return ""
    for piece in pieces:
        why = disaster([ExpandedWord(word, word, "*" in word) for word in piece], starts, world)
        if why:
            return why
    first = REMOVER.search(text)
    below = first is not None and BELOW_VARIABLE.search(text, first.end())
    return "it removes files below a variable that may be empty" if below else ""


def _of_operand(operand: ExpandedWord, starts: tuple[str, ...], world: PathWorld) -> str:
    if operand.dynamic:
        if operand.variable in KNOWN:
            return of_path(KNOWN[operand.variable] + operand.tail, starts, world)
        if not operand.value and operand.tail[:1] in ("/", "*"):
            return "it removes files below a variable that may be empty"
        return ""
    return of_path(operand.value, starts, world)


def of_path(operand: str, starts: tuple[str, ...], world: PathWorld) -> str:
    stem, slash, last = operand.rpartition("/")
    base = (stem or slash or ".") if last in ("*", ".*", "**") else operand
    for start in starts:
        for path in locate(base or ".", start, world).spellings:
            if path.count("/") == 1:
                return f"it would remove {path}, at the top of the file system"
            if world.leads_to_work(path) or start == path or start.startswith(path + "/"):
                return f"it would remove {path}, which holds the work, the shell or the home"
    return ""
