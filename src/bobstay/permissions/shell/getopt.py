"""The options before a command's first operand, read as GNU's getopt reads them: clusters, values, abbreviations."""

from typing import TypeAlias

from msgspec import Struct

Options: TypeAlias = list[tuple[str, str]]
"""Each option by its letter, or by its long name where it has none, with its value."""


class Grammar(Struct, frozen=True):
    """All options of a program. One that is not named here cannot be read."""

    flags: str = ""
    valued: str = ""
    """Letters with a value, at once or as the next word."""
    optional: str = ""
    """Letters with a value at once, or none."""
    long: dict[str, str] = {}
    """The letter each long name stands for, or nothing; a name ends in `=` if it takes a value, in `[=` if it may."""


def leading(grammar: Grammar, values: list[str]) -> tuple[int, Options] | None:
    """How many words are options of the program, `--` among them, and which; None if that cannot be told."""
    found: Options = []
    position = 0
    while position < len(values):
        word = values[position]
        if word == "--":
            return position + 1, found
        if not word.startswith("-") or word == "-":
            break
        position += 1
        following = values[position] if position < len(values) else None
        taken = _long(grammar, word[2:], following) if word.startswith("--") else _short(grammar, word[1:], following)
        if taken is None:
            return None
        options, whole = taken
        found += options
        position += whole
    return position, found


def _long(grammar: Grammar, text: str, following: str | None) -> tuple[Options, int] | None:
    """One long option, and whether the next word is its value."""
    given, equals, value = text.partition("=")
    kinds = {name.rstrip("=["): name for name in grammar.long}
    # A beginning of one name stands for it, one of several for none, unless it is a name itself.
    meant = [given] if given in kinds else [name for name in kinds if name.startswith(given)]
    if len(meant) != 1:
        return None
    kind = kinds[meant[0]]
    option = grammar.long[kind] or meant[0]
    if not kind.endswith("="):
        return None if equals else ([(option, "")], 0)
    if equals or kind.endswith("[="):
        return [(option, value)], 0
    return None if following is None else ([(option, following)], 1)


def _short(grammar: Grammar, letters: str, following: str | None) -> tuple[Options, int] | None:
    """One word of letters, and whether the next word is the value of the last."""
    found: Options = []
    for position, letter in enumerate(letters):
        rest = letters[position + 1 :]
        if letter in grammar.flags:
            found.append((letter, ""))
        elif letter in grammar.optional or (letter in grammar.valued and rest):
            return [*found, (letter, rest)], 0
        elif letter in grammar.valued and following is not None:
            return [*found, (letter, following)], 1
        else:
            return None
    return found, 0
