"""Checks whether a substitution may print a pattern from its own text, for which the shell would list directories."""

from collections.abc import Iterator

from bobstay.permissions.shell.name_sets import names
from bobstay.permissions.shell.syntax import Compound, Part, Script, SimpleNode, Test, Word

PATTERN = frozenset("*?[")
SPELLING = PATTERN | {"\\"}
"""Characters of patterns, and the backslash that begins an escape sequence for one."""
REPORTERS = names(
    "cat egrep fgrep file find git grep head id ls nproc pwd readlink realpath sort tail type uname uniq wc which "
    "whoami"
)
"""They print what they find, not their arguments, except with some options."""
SILENT = names(
    "-- --cached --exclude-standard --files-with-matches --modified --name-only --others --recursive --staged"
)
SILENT_VALUES = ("--color=", "--exclude=", "--exclude-dir=", "--include=")
"""Long options that do not print their value."""
ECHOING = names("-printf -fprintf rev-parse")
"""Arguments with which a reporter prints its arguments."""
CODERS = names("base64 hexdump")
"""They print text that differs from their input and arguments."""
CODES: dict[str, tuple[str, ...]] = {
    "awk": ("printf",),
    "git": tuple(f"%{digit}" for digit in "x0123456789"),
    "jq": ("implode", "@base64d"),
}
"""Texts in arguments with which a program can print any character."""


def may_be_pattern(script: Script) -> bool:
    """Whether the script may print a pattern that its text contains. The contents of files are not considered."""
    return any(map(_may_print_pattern, _commands(script)))


def _commands(script: Script) -> Iterator[SimpleNode | Test | Compound]:
    waiting = [script]
    while waiting:
        for chain in waiting.pop().chains:
            for pipeline in chain.pipelines:
                for command in pipeline.commands:
                    yield command
                    if isinstance(command, Compound):
                        waiting += command.scripts


def _may_print_pattern(command: SimpleNode | Test | Compound) -> bool:
    if any(redirect.target is None or redirect.operator == "<<<" for redirect in command.redirects):
        return True  # text passed as data
    match command:
        case Test():
            return False
        case Compound():
            return any(map(_holds_pattern, command.words))
        case SimpleNode(words=words):
            return bool(words) and _prints_patterns(words)


def _prints_patterns(words: list[Word]) -> bool:
    name = words[0].value.rpartition("/")[2]
    values = [word.value for word in words[1:]]
    if name in CODERS or any(code in value for code in CODES.get(name, ()) for value in values):
        return True
    if name == "tr":
        return "-d" not in values and not all(value.replace("-", "").isalnum() for value in values)
    reports = name in REPORTERS and ECHOING.isdisjoint(values) and all(map(_is_silent, values))
    return any(_substitutes_pattern(word.parts) if reports else _holds_pattern(word) for word in words)


def _is_silent(value: str) -> bool:
    return not value.startswith("--") or value in SILENT or value.startswith(SILENT_VALUES)


def _holds_pattern(word: Word) -> bool:
    """Whether it passes characters of a pattern on; an unquoted pattern was already expanded."""
    signs = SPELLING.difference(PATTERN) if word.glob else SPELLING
    return not signs.isdisjoint(word.value) or _substitutes_pattern(word.parts)


def _substitutes_pattern(parts: list[Part]) -> bool:
    return any(part.script is not None and may_be_pattern(part.script) for part in parts)
