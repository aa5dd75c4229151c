"""Detects catastrophic removals: of the system, a home, a working directory, or below a variable that may be empty."""

import re

from bobstay.permissions.path_resolution import FileSystemView, locate
from bobstay.permissions.shell.expansion import ExpandedWord
from bobstay.permissions.shell.rule_texts import command_positions

REMOVERS = frozenset({"rm", "rmdir"})
KNOWN = {"HOME": "~", "PWD": ".", "OLDPWD": ".."}
REMOVER = re.compile(r"\brm(?:dir)?\b")
BELOW_VARIABLE = re.compile(r"\$(?:\{\w+\}|\w+)[\"']*[/*]")


def catastrophic_removal(words: list[ExpandedWord], starts: tuple[str, ...], view: FileSystemView) -> str:
    """Why this command may be a catastrophic removal; "" if it cannot."""
    values = [word.spelled for word in words]
    if not any(value.rpartition("/")[2] in REMOVERS for value in values):
        return ""
    for index in command_positions(values):
        if values[index].rpartition("/")[2] not in REMOVERS:
            continue
        for operand in dict.fromkeys(words[index + 1 :]):
            if not operand.value.startswith("-") and (why := _operand_danger(operand, starts, view)):
                return why
    return ""


def rough_catastrophic_removal(
    text: str, pieces: list[list[str]], starts: tuple[str, ...], view: FileSystemView
) -> str:
    """The same for text that could not be parsed."""
    if "rm" not in text:
        return ""
    for piece in pieces:
        why = catastrophic_removal([ExpandedWord(word, word, "*" in word) for word in piece], starts, view)
        if why:
            return why
    first = REMOVER.search(text)
    below = first is not None and BELOW_VARIABLE.search(text, first.end())
    return "it removes files below a variable that may be empty" if below else ""


def _operand_danger(operand: ExpandedWord, starts: tuple[str, ...], view: FileSystemView) -> str:
    if operand.dynamic:
        if operand.variable in KNOWN:
            return path_danger(KNOWN[operand.variable] + operand.tail, starts, view)
        if not operand.value and operand.tail[:1] in ("/", "*"):
            return "it removes files below a variable that may be empty"
        return ""
    return path_danger(operand.value, starts, view)


def path_danger(operand: str, starts: tuple[str, ...], view: FileSystemView) -> str:
    stem, slash, last = operand.rpartition("/")
    base = (stem or slash or ".") if last in ("*", ".*", "**") else operand
    for start in starts:
        for path in locate(base or ".", start, view).spellings:
            if path.count("/") == 1:
                return f"it would remove {path}, at the top of the file system"
            if view.holds_work(path) or start == path or start.startswith(path + "/"):
                return (
                    f"it would remove {path}, which contains the working directory, the shell's directory or the home"
                )
    return ""
