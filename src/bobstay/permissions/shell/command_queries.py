"""Queries about single commands: the words of a simple command, and whether a command is read-only."""

from bobstay.permissions.path_resolution import FileSystemView, locate
from bobstay.permissions.shell.analyzer import analyze, text_problem
from bobstay.permissions.shell.expansion import ExpandedWord, readings
from bobstay.permissions.shell.parser import parse
from bobstay.permissions.shell.syntax import NotUnderstood, SimpleNode
from bobstay.permissions.shell.wrappers import is_harmless_assignment


def simple_words(command: str) -> list[ExpandedWord] | None:
    """The words of one literal simple command, without harmless assignments before it; None if it is anything else."""
    text = command.strip(" \t\n")
    if text_problem(text):
        return None
    try:
        script, trouble = parse(text)
    except NotUnderstood:
        return None
    if trouble or len(script.chains) != 1 or len(script.chains[0].pipelines) != 1 or script.chains[0].background:
        return None
    (first, *more) = script.chains[0].pipelines[0].commands
    if more or not isinstance(first, SimpleNode) or first.redirects or not first.words:
        return None
    if not all(map(is_harmless_assignment, first.assignments)):
        return None
    literal = all(word.literal for word in first.words) and first.words[0].value.isascii()
    return readings(first.words, {})[0] if literal else None


def is_read_only(command: str, cwd: str, directories: tuple[str, ...], *, home: str = "/nonexistent") -> bool:
    """Whether the command provably only reads, and only inside `directories`, the first of which is the root."""
    if not directories:
        return False
    view = FileSystemView(directories[0], home, directories[1:])
    found = analyze(command, cwd, view)
    if not found.commands or not found.read_only or found.critical:
        return False
    return all(
        target.kind == "read" and bool(target.path) and view.contains(locate(target.path, cwd, view))
        for target in found.targets
    )
