"""Parses `xargs` and its options: the command it runs, where the names go, and how they are separated."""

import re
from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.permissions.shell.expansion import ExpandedWord
from bobstay.permissions.shell.getopt import Grammar, leading_options
from bobstay.permissions.shell.wrappers import XARGS_INPUT, strip_harmless

Splitting: TypeAlias = Literal["blanks", "items", "lines", "nul"]
"""What ends a name: a blank (`blanks`) or a newline (`items`), with quotes and backslashes; a newline; a NUL."""

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
"""Options that read no file, do not prompt and set no variable."""
DELIMITERS: dict[str, Splitting] = {"\\n": "lines", "\n": "lines", "\\0": "nul"}
ODD: dict[Splitting, re.Pattern[str] | None] = {
    "blanks": re.compile(r"[\s'\"\\]"),
    "items": re.compile(r"[\n'\"\\]|\A\s"),
    "lines": re.compile(r"\n"),
    "nul": None,
}
"""Characters in a name that make `xargs` read another name, or several; the first is the strictest."""


class Invocation(Struct, frozen=True):
    """The command that `xargs` runs."""

    words: list[ExpandedWord]
    """The command, with `XARGS_INPUT` where names are inserted."""
    splitting: Splitting = "blanks"
    single: bool = False
    """It runs once per name."""
    has_placeholder: bool = False
    """Names replace a placeholder in it, and it does not run without names."""


def parse_xargs(words: list[ExpandedWord]) -> Invocation | None:
    """Parse `xargs` with its options; None if the command or its names are not known."""
    if words[-1] is XARGS_INPUT:
        return Invocation(words)
    found = leading_options(XARGS, [word.value for word in words[1:]])
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
        return Invocation(strip_wrappers([*command, XARGS_INPUT]), splitting, options.get("n") == "1")
    placeholder = options["I"] if "I" in options else options["i"] or "{}"
    if not placeholder or placeholder in command[0].value or not all(map(_is_known, command)):
        return None
    words = strip_wrappers([substitute_names(word, placeholder) for word in command])
    return Invocation(words, "items" if splitting == "blanks" else splitting, single=True, has_placeholder=True)


def _is_known(word: ExpandedWord) -> bool:
    """Whether `xargs` receives exactly its text, so that it is known where names replace the placeholder."""
    return not (word.glob or word.counted or word.pipe or word.source.startswith("~"))


def strip_wrappers(words: list[ExpandedWord]) -> list[ExpandedWord]:
    """The command behind harmless wrappers."""
    *_, last = strip_harmless(words)
    return last


def substitute_names(word: ExpandedWord, placeholder: str) -> ExpandedWord:
    """A word in which names replace the placeholder: all of it, or the end of a path; otherwise it is unknown."""
    before, found, after = word.value.partition(placeholder)
    if not found or word.dynamic or word.glob:
        return word
    if not before and not after:
        return XARGS_INPUT
    directory = before.endswith("/") and not after and not before.startswith("-")
    return ExpandedWord(before, word.source, dynamic=True, splits=True, below=before if directory else "")
