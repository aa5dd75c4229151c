"""Parses the options before a command's first operand as GNU getopt does: clusters, values, abbreviations."""

from typing import TypeAlias

from msgspec import Struct

Options: TypeAlias = list[tuple[str, str]]
"""Each option by its letter, or by its long name if it has none, with its value."""


class Grammar(Struct, frozen=True):
    """All options of a program. Arguments with any other option cannot be parsed."""

    flags: str = ""
    valued: str = ""
    """Letters with a value, attached or as the next word."""
    optional: str = ""
    """Letters with an attached value, or none."""
    long: dict[str, str] = {}
    """The letter of each long name, or ""; a name ends in `=` if it takes a value, in `[=` if it may."""


def leading_options(grammar: Grammar, values: list[str]) -> tuple[int, Options] | None:
    """How many words are options of the program, including `--`, and which; None if they cannot be parsed."""
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
        parsed = _long(grammar, word[2:], following) if word.startswith("--") else _short(grammar, word[1:], following)
        if parsed is None:
            return None
        options, whole = parsed
        found += options
        position += whole
    return position, found


def _long(grammar: Grammar, text: str, following: str | None) -> tuple[Options, int] | None:
    """Parse one long option; returns it and 1 if the next word is its value."""
    given, equals, value = text.partition("=")
    kinds = {name.rstrip("=["): name for name in grammar.long}
    # An abbreviation must be unambiguous, unless it is itself a name.
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
    """Parse one word of letters; returns the options and 1 if the next word is the value of the last."""
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
