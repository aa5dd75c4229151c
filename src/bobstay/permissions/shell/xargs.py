"""`xargs` and its options: which command it runs, where the names go, and how it tells one name from the next."""

import re
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.permissions.shell.expansion import ExpandedWord
from bobstay.permissions.shell.getopt import Grammar, leading
from bobstay.permissions.shell.wrappers import FED, harmless

Splitting: TypeAlias = Literal["blanks", "items", "lines", "nul"]
"""What ends a name: a blank, with quotes and backslashes obeyed; a line, likewise; a line; a NUL."""

XARGS = Grammar(
    "0oprtx",
    "adEILnPs",
    "eil",
    {
        "null": "0",
        "arg-file=": "a",
        "delimiter=": "d",
        "eof[=": "e",
        "replace[=": "i",
        "max-lines[=": "l",
        "max-args=": "n",
        "open-tty": "o",
        "max-procs=": "P",
        "interactive": "p",
        "process-slot-var=": "",
        "no-run-if-empty": "r",
        "max-chars=": "s",
        "show-limits": "",
        "verbose": "t",
        "exit": "x",
        "help": "",
        "version": "",
    },
)
QUIET = frozenset({*"0dEIPeilLnrstx", "show-limits"})
"""Options that bring nothing from elsewhere, ask nobody and set no variable."""
DELIMITERS: dict[str, Splitting] = {"\\n": "lines", "\n": "lines", "\\0": "nul"}
ODD: dict[Splitting, re.Pattern[str] | None] = {
    "blanks": re.compile(r"[\s'\"\\]"),
    "items": re.compile(r"[\n'\"\\]|\A\s"),
    "lines": re.compile(r"\n"),
    "nul": None,
}
"""What in a name makes another of it, or several; the first is the strictest."""


class Invocation(Struct, frozen=True):
    """What `xargs` was told to run."""

    words: list[ExpandedWord]
    """The command, with `FED` where names are put."""
    splitting: Splitting = "blanks"
    single: bool = False
    """It runs with one name at a time."""
    placed: bool = False
    """Names take the place of words in it, and without any it does not run."""


def invocation(words: list[ExpandedWord]) -> Invocation | None:
    """Read `xargs` with its options; None if what it runs, or with what, cannot be told."""
    if words[-1] is FED:
        return Invocation(words)
    found = leading(XARGS, [word.value for word in words[1:]])
    if found is None or any(word.dynamic or not _is_known(word) for word in words[: found[0] + 2]):
        return None
    options = dict(found[1])
    command = words[found[0] + 1 :] or [ExpandedWord("echo", "echo")]
    if not QUIET.issuperset(options) or len({"i", "I", "l", "L", "n"} & options.keys()) > 1:
        return None
    splitting: Splitting | None = "nul" if "0" in options else "blanks"
    if "d" in options:
        splitting = DELIMITERS.get(options["d"]) if "0" not in options else None
    if splitting is None:
        return None
    if "i" not in options and "I" not in options:
        return Invocation(stripped([*command, FED]), splitting, options.get("n") == "1")
    place = options["I"] if "I" in options else options["i"] or "{}"
    if not place or place in command[0].value or not all(map(_is_known, command)):
        return None
    words = stripped([placed(word, place) for word in command])
    return Invocation(words, "items" if splitting == "blanks" else splitting, single=True, placed=True)


def _is_known(word: ExpandedWord) -> bool:
    """Whether its text is what `xargs` sees, so that it can be told where names take the place of some of it."""
    return not (word.glob or word.counted or word.pipe or word.source.startswith("~"))


def stripped(words: list[ExpandedWord]) -> list[ExpandedWord]:
    """The command behind the wrappers that may be looked through."""
    *_, last = harmless(words)
    return last


def placed(word: ExpandedWord, place: str) -> ExpandedWord:
    """A word in which names take the place of some text: a whole word, or the end of a path; else it is unknown."""
    before, found, after = word.value.partition(place)
    if not found or word.dynamic or word.glob:
        return word
    if not before and not after:
        return FED
    directory = before.endswith("/") and not after and not before.startswith("-")
    return ExpandedWord(before, word.source, dynamic=True, splits=True, below=before if directory else "")
