"""Splits shell text that consists of plain words only; anything cleverer is not understood, by intent."""

from msgspec import Struct

LONGEST = 10_000
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./^-~#")
"""Characters that mean themselves outside quotes (`~` and `#` not everywhere: see `_tilde`)."""
UNQUOTED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./~^-")
"""A word of these alone is compared without the quotes it was written with."""
EXPANDED_IN_QUOTES = frozenset("$`\\")
RESERVED = frozenset(
    [
        "!",
        "[[",
        "case",
        "coproc",
        "do",
        "done",
        "elif",
        "else",
        "esac",
        "fi",
        "for",
        "function",
        "if",
        "in",
        "select",
        "then",
        "until",
        "while",
        "{",
        "}",
    ]
)


class Word(Struct, frozen=True):
    value: str
    source: str

    @property
    def text(self) -> str:
        """The spelling rules are compared with."""
        return self.value if self.value and UNQUOTED.issuperset(self.value) else self.source


def segments(command: str) -> list[list[Word]] | None:
    """The simple commands of a plain list or pipeline; None if there is anything but plain words in it."""
    if len(command) > LONGEST or not is_clean(command):
        return None
    found: list[list[Word]] = [[]]
    position = 0
    while position < len(command):
        character = command[position]
        if character in " \t":
            position += 1
        elif character in ";|&\n":
            step = _operator(command, position)
            if step == 0 or not found[-1]:
                return None
            found.append([])
            position += step
        else:
            end = _word_end(command, position)
            if end < 0:
                return None
            source = command[position:end]
            found[-1].append(Word(_unquoted(source), source))
            position = end
    if not found[-1] or any(group[0].source in RESERVED or not group[0].value.isascii() for group in found):
        return None
    return found


def is_clean(command: str) -> bool:
    """No control, formatting or look-alike space characters: what is judged is what a person would see."""
    return all(character.isprintable() or character in "\t\n" for character in command)


def _operator(command: str, position: int) -> int:
    pair = command[position : position + 2]
    if pair in ("&&", "||"):
        return 2
    return 0 if command[position] == "&" or pair in ("|&", ";;", ";&") else 1


def _word_end(command: str, start: int) -> int:
    """Where the word ends, or -1 if it holds anything that would be expanded."""
    position = start
    while position < len(command):
        character = command[position]
        if character in " \t\n;|&":
            return position
        if character in "'\"":
            close = command.find(character, position + 1)
            if close < 0 or (character == '"' and not EXPANDED_IN_QUOTES.isdisjoint(command[position:close])):
                return -1
            position = close + 1
            continue
        if character not in PLAIN and not _lone_bracket(command, start):
            return -1
        if character in "~#" and _expanded(command, start, position):
            return -1
        position += 1
    return position


def _lone_bracket(command: str, start: int) -> bool:
    """`[` and `]` are the test command and its end when they stand alone, patterns when they do not."""
    return command[start] in "[]" and command[start + 1 : start + 2] in ("", " ", "\t", "\n", ";", "|", "&")


def _expanded(command: str, start: int, position: int) -> bool:
    """`#` begins a comment and `~` a home directory at the start of a word; `~` also after `=` and `:`."""
    if position == start:
        return True
    return command[position] == "~" and command[position - 1] in "=:"


def _unquoted(source: str) -> str:
    if "'" not in source and '"' not in source:
        return source
    parts: list[str] = []
    position = 0
    while position < len(source):
        if source[position] in "'\"":
            close = source.index(source[position], position + 1)
            parts.append(source[position + 1 : close])
            position = close + 1
        else:
            parts.append(source[position])
            position += 1
    return "".join(parts)
