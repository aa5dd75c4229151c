"""Questions about single commands, for those who only want to know this much."""

from bobstay.permissions.path_resolution import PathWorld, locate
from bobstay.permissions.shell.analyzer import oddity, read
from bobstay.permissions.shell.expansion import ExpandedWord, readings
from bobstay.permissions.shell.parser import parse
from bobstay.permissions.shell.syntax import NotUnderstood, SimpleNode
from bobstay.permissions.shell.wrappers import is_harmless_assignment


def words(command: str) -> list[ExpandedWord] | None:
    """The words of one plain simple command, without harmless variables before it; None if it is anything else."""
    text = command.strip(" \t\n")
    if oddity(text):
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
    """Whether the command provably only looks, and only inside `directories`, the first of which is the root."""
    if not directories:
        return False
    world = PathWorld(directories[0], home, directories[1:])
    found = read(command, cwd, world)
    if not found.commands or not found.read_only or found.critical:
        return False
    return all(
        target.kind == "read" and bool(target.path) and world.holds(locate(target.path, cwd, world))
        for target in found.targets
    )
