"""Expands the words of a command: braces and loop variables become values, other expansions are marked unknown."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain, product
from typing import TypeAlias

from msgspec import Struct

from bobstay.permissions.shell.substitution_output import PATTERN, may_be_pattern
from bobstay.permissions.shell.syntax import UNQUOTED, Part, Script, SimpleNode, Word

Variables: TypeAlias = Mapping[str, tuple[str, ...]]

MOST = 32
"""Readings of one command; beyond that, words with several values count as unknown."""
MOST_WORDS = 2000
"""Words in all readings of a command together."""
SIMPLE_BRACES = re.compile(r"([^{}'\"\\$`]*)\{([^{}'\"\\$`]*)\}([^{}'\"\\$`]*)")
SPLIT = frozenset(" \t\n*?[")
COUNTING = frozenset({"wc -l", "wc -c", "wc -w", "wc -m", "id -u", "date +%s"})
"""Commands that print exactly one number."""
SOMETIMES = COUNTING | {"nproc"}
"""Commands that print one number, or nothing if the program is missing."""


class ExpandedWord(Struct, frozen=True):
    """One word as a command would receive it."""

    value: str
    """Its literal text; for a dynamic word, its known beginning."""
    source: str
    glob: bool = False
    dynamic: bool = False
    """Its value is not known from the text."""
    splits: bool = False
    """It may become several words, or none."""
    pipe: bool = False
    """A process substitution: the name of a pipe."""
    variable: str = ""
    """The variable it begins with."""
    tail: str = ""
    """The literal text right behind the first unknown part."""
    loose: bool = False
    """It may become a pattern written in the command, for which the shell lists directories."""
    forwarded: bool = False
    """It stands for names forwarded by another command: files in a working directory, and no options."""
    below: str = ""
    """The directory in which forwarded names are used."""
    counted: bool = False
    """Its unknown parts are numbers: each is written as 0, or may be empty if the word is dynamic."""

    @property
    def text(self) -> str:
        """The spelling that rules are compared with."""
        if self.dynamic or not self.value or not UNQUOTED.issuperset(self.value):
            return self.source
        return self.value

    @property
    def spelled(self) -> str:
        return self.source if self.dynamic else self.value


def readings(words: list[Word], variables: Variables) -> list[list[ExpandedWord]]:
    """Every possible expansion of these words; an unknown word counts once."""
    choices = [expand(word, variables) for word in words]
    count = 1
    for number, choice in enumerate(choices):
        count *= len(choice)
        if len(choice) > 1 and (count > MOST or count * len(words) > MOST_WORDS):
            count //= len(choice)
            choices[number] = [[_unknown(words[number], variables)]]
    return [list(chain.from_iterable(reading)) for reading in product(*choices)]


def expand(word: Word, variables: Variables) -> list[list[ExpandedWord]]:
    """The possible expansions of one word, each a list of words, because braces make several of one."""
    if word.brace:
        return [_expand_braces(word, variables)]
    if word.dynamic:
        return [[one] for one in _expand_dynamic(word, variables)]
    if word.tilde and not word.source.startswith("~"):
        return [[_unknown(word, variables)]]
    return [[ExpandedWord(word.value, word.source, word.glob)]]


def _unknown(word: Word, variables: Variables) -> ExpandedWord:
    head = ""
    parts = iter(word.parts)
    first: Part | None = None
    for part in parts:
        if part.kind != "text":
            first = part
            break
        head += part.text
    following = next(parts, None)
    if word.brace or first is None:
        head = ""
    return ExpandedWord(
        head,
        word.source,
        word.glob,
        dynamic=True,
        splits=any(part.kind not in ("text", "number") and not part.quoted for part in word.parts) or word.brace,
        variable=first.text if first is not None and first.kind == "variable" and not head else "",
        tail=_text_from(following, parts),
        loose=any(not part.quoted and is_loose(part, variables) for part in word.parts),
        counted=first is not None and all(map(_is_number, word.parts)) and not word.brace,
    )


def _is_number(part: Part) -> bool:
    """Whether it is text, a number or nothing."""
    return part.kind in ("text", "number") or (part.script is not None and _prints_number(part.script, certainly=False))


def is_loose(part: Part, variables: Variables) -> bool:
    """Whether this part may expand to a pattern written in the command."""
    if part.kind == "variable":
        return any(not PATTERN.isdisjoint(value) for value in variables.get(part.text, ()))
    return part.script is not None and may_be_pattern(part.script)


def _text_from(part: Part | None, rest: Iterator[Part]) -> str:
    found = ""
    while part is not None and part.kind == "text":
        found += part.text
        part = next(rest, None)
    return found


def _expand_dynamic(word: Word, variables: Variables) -> list[ExpandedWord]:
    if len(word.parts) == 1 and word.parts[0].kind == "pipe":
        return [ExpandedWord("-", word.source, dynamic=True, pipe=True)]
    values = [""]
    for part in word.parts:
        found = _values(part, variables)
        if not found or len(values) * len(found) > MOST:
            return [_unknown(word, variables)]
        values = [value + more for value in values for more in found]
    counted = any(part.kind in ("number", "script") for part in word.parts)
    return [ExpandedWord(value, word.source, word.glob, counted=counted) for value in values]


def _values(part: Part, variables: Variables) -> tuple[str, ...]:
    match part.kind:
        case "text":
            return (part.text,)
        case "number":
            return ("0",)
        case "variable":
            found = variables.get(part.text, ())
            whole = part.quoted or not any(not value or not SPLIT.isdisjoint(value) for value in found)
            return found if whole else ()
        case "script" if part.script is not None and _prints_number(part.script, certainly=True):
            return ("0",)
        case _:
            return ()


def _prints_number(script: Script, *, certainly: bool) -> bool:
    """Whether a substitution prints only a number; or, unless `certainly`, nothing, as when a redirection fails."""
    if len(script.chains) != 1 or len(script.chains[0].pipelines) != 1:
        return False
    last = script.chains[0].pipelines[0].commands[-1]
    if not isinstance(last, SimpleNode) or last.assignments or (certainly and last.redirects):
        return False
    return " ".join(word.source for word in last.words) in (COUNTING if certainly else SOMETIMES)


def _expand_braces(word: Word, variables: Variables) -> list[ExpandedWord]:
    found = SIMPLE_BRACES.fullmatch(word.source)
    if found is None or word.tilde or "," not in found.group(2):
        return [_unknown(word, variables)]
    before, inside, after = found.groups()
    pieces = inside.split(",")
    if len(pieces) > MOST:
        return [_unknown(word, variables)]
    values = [before + piece + after for piece in pieces]
    return [ExpandedWord(value, word.source, word.glob) for value in values if value] or [_unknown(word, variables)]
