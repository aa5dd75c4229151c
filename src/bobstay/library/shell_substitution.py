"""Puts values into shell commands so that they stay values: each is quoted for the position where it stands."""

import re
from collections.abc import Callable

from msgspec import Struct

SAFE = re.compile(r"[A-Za-z0-9_./:=@%+,-]*")
"""Values that mean themselves wherever they stand."""
_SIMPLE_VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


class ShellValue(Struct, frozen=True):
    text: str
    parts: tuple[str, ...] | None = None
    """Outside quotes, each of these becomes an argument of its own; None for one argument."""


class UnsafeInsertError(ValueError):
    """A value cannot be put into a command without becoming a part of its shell text."""


def substitute_in_shell(
    command: str, forms: re.Pattern[str], resolve: Callable[[re.Match[str]], ShellValue | None]
) -> str:
    """Replace each form by its value, quoted. A form without a value stays as it is; `\\$form` loses its backslash.

    Raises:
        UnsafeInsertError: a value with characters of the shell would stand where quoting is not certain.
    """
    simple = _is_simple(command, forms)
    pieces: list[str] = []
    quote, position = "", 0
    while position < len(command):
        match = forms.match(command, position) if command[position] in "$\\" else None
        if match is not None:
            pieces.append(_replace(match, resolve, quote if simple else None, command))
            position = match.end()
            continue
        width = 2 if command[position] == "\\" and quote != "'" else 1
        if width == 1 and command[position] in "'\"" and quote in ("", command[position]):
            quote = "" if quote else command[position]
        pieces.append(command[position : position + width])
        position += width
    return "".join(pieces)


def _replace(
    match: re.Match[str], resolve: Callable[[re.Match[str]], ShellValue | None], quote: str | None, command: str
) -> str:
    from shlex import quote as quote_word

    if match[0].startswith("\\"):
        return match[0][1:]
    value = resolve(match)
    if value is None:
        return match[0]
    text = value.text.replace("\0", "")
    if quote == "" and value.parts is not None:
        return " ".join(quote_word(part.replace("\0", "")) for part in value.parts)
    if SAFE.fullmatch(text) and (text or quote != ""):
        return text
    if quote is None:
        raise UnsafeInsertError(
            f"{match[0]} stands in a part of the command where its value cannot be quoted, and the value has "
            f"characters that a shell obeys: {text[:80]!r}. Put {match[0]} outside of `$(…)` in double quotes, "
            f"backticks, here-documents, arithmetic and comments, or use simpler arguments. "
            f"The command is: {command[:200]}"
        )
    # A quoted string is closed before the value and opened again behind it.
    return f"{quote}{quote_word(text)}{quote}"


def _is_simple(command: str, forms: re.Pattern[str]) -> bool:
    """Whether single quotes, double quotes and backslashes alone decide what is quoted where."""
    quote, position = "", 0
    while position < len(command):
        character = command[position]
        match = forms.match(command, position) if character in "$\\" else None
        if match is not None:
            position = match.end()
            continue
        if quote == "'":
            quote = "" if character == "'" else quote
        elif character == "\\":
            position += 1
        elif _begins_nesting(command, position, quote):
            return False
        elif character == '"' or (character == "'" and not quote):
            quote = "" if quote else character
        position += 1
    return not quote


def _begins_nesting(command: str, position: int, quote: str) -> bool:
    """Whether quotes mean something else from here on, for the part outside of single quotes."""
    character, following = command[position], command[position + 1 : position + 2]
    if character == "`":
        return True
    if character == "$":
        if following == "{":
            return not _SIMPLE_VARIABLE.match(command, position)
        if following == "(":
            return bool(quote) or command[position + 2 : position + 3] == "("
        return following in ("'", '"', "[") and not quote
    if quote:
        return False
    if character == "#":
        return position == 0 or command[position - 1] in " \t\n;&|()"
    return command[position : position + 2] in ("<<", "((")
