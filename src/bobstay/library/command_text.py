"""Expands the body of a command or skill: arguments, variables, shell inserts and mentions of files."""

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from bobstay.library.command_call import split_arguments
from bobstay.library.definition import AgentDefinition, CommandDefinition, OutputStyle
from bobstay.library.mention import Mention, find_mentions
from bobstay.library.shell_substitution import ShellValue, UnsafeInsertError, substitute_in_shell

MOST_INSERTS = 50
_INLINE = re.compile(r"(?<!\S)!`([^`]+)`")
_FENCE_OPENS = re.compile(r"^```![ \t]*\r?\n", re.MULTILINE)
_FENCE_CLOSES = re.compile(r"^```[ \t]*(?:\r?$|\Z)", re.MULTILINE)


class ShellInsert(Struct, frozen=True):
    """A command whose output takes the position of the insert. It is checked like a call of the Bash tool."""

    command: str
    """With all values, each quoted: the text to be checked and run."""
    written: str
    """As it stands in the file."""


class Expansion(Struct, frozen=True):
    """The text of a call, in order."""

    pieces: tuple[str | ShellInsert, ...]
    mentions: tuple[Mention, ...] = ()

    @property
    def inserts(self) -> tuple[ShellInsert, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, ShellInsert))

    def join(self, outputs: Sequence[str] = ()) -> str:
        """Return the text with the output of each insert, in order. Raises `ValueError` if their number differs."""
        if len(outputs) != len(self.inserts):
            raise ValueError(f"{len(self.inserts)} inserts need as many outputs, not {len(outputs)}")
        waiting = iter(outputs)
        return "".join(piece if isinstance(piece, str) else next(waiting).rstrip("\r\n") for piece in self.pieces)


def expand_command(
    command: CommandDefinition, body: str, arguments: str = "", variables: Mapping[str, str] | None = None
) -> Expansion:
    """Put arguments and variables into a body, and find its inserts and mentions.

    Inserts are found before anything is put in, and values within them are quoted: an argument can neither become an
    insert nor shell text.

    Args:
        command: The definition; its own variables and argument names apply.
        body: Its text.
        arguments: As they were written.
        variables: Values for `${CLAUDE_SESSION_ID}` and others.

    Raises:
        UnsafeInsertError: an argument would become shell text, or there are too many inserts. The text is for a person.
    """
    values = _Values(command, arguments, variables or {})
    pieces: list[str | ShellInsert] = []
    mentions: dict[Mention, None] = {}
    inserts = 0
    for text, insert in _split_inserts(body):
        expanded = values.substitute(text)
        mentions.update(dict.fromkeys(find_mentions(expanded, inside=bool(pieces))))
        pieces.append(expanded)
        if insert is None:
            continue
        inserts += 1
        if inserts > MOST_INSERTS:
            raise UnsafeInsertError(f"{command.origin.file} has more than {MOST_INSERTS} inserts.")
        pieces.append(ShellInsert(values.substitute_shell(insert[1], command.shell), insert[0]))
    if arguments.strip() and not values.used:
        appended = f"\n\nARGUMENTS: {arguments}"
        pieces.append(appended)
        mentions.update(dict.fromkeys(find_mentions(appended)))
    return Expansion(tuple(piece for piece in pieces if piece != ""), tuple(mentions))


def expand_variables(definition: AgentDefinition | OutputStyle, body: str) -> str:
    """Put the variables of a plugin into the text of one of its agents or styles."""
    for name, value in definition.variables.items():
        body = body.replace(f"${{{name}}}", value)
    return body


class _Values:
    """What stands for each form in a body; `used` tells whether an argument was put in."""

    def __init__(self, command: CommandDefinition, arguments: str, variables: Mapping[str, str]) -> None:
        self._arguments = arguments
        self._list = split_arguments(arguments)
        self._names = {name: number for number, name in reversed(list(enumerate(command.arguments))) if name}
        self._variables = {**variables, **command.variables}
        if command.folder:
            self._variables["CLAUDE_SKILL_DIR"] = command.folder
        self._forms = _compile_forms((*self._names,), (*self._variables,))
        self.used = False

    def substitute(self, text: str) -> str:
        return self._forms.sub(self._replace, text)

    def substitute_shell(self, text: str, shell: str) -> str:
        if shell == "bash":
            return substitute_in_shell(text, self._forms, self._resolve)
        changed = self._forms.sub(self._replace, text)
        if changed != text:
            raise UnsafeInsertError(f"Arguments and variables in inserts for {shell} are not supported: {text[:200]}")
        return changed

    def _replace(self, match: re.Match[str]) -> str:
        if match[0].startswith("\\"):
            return match[0][1:]
        value = self._resolve(match)
        return match[0] if value is None else value.text

    def _resolve(self, match: re.Match[str]) -> ShellValue | None:
        if match["variable"]:
            return ShellValue(self._variables[match["variable"]])
        if match["all"] and not match["index"]:
            self.used = True
            return ShellValue(self._arguments, self._list)
        number = self._names[match["name"]] if match["name"] else int(match["index"] or match["number"])
        if number >= len(self._list):
            return ShellValue("", ()) if match["name"] else None
        self.used = True
        return ShellValue(self._list[number])


def _compile_forms(names: tuple[str, ...], variables: tuple[str, ...]) -> re.Pattern[str]:
    named = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True)) or r"(?!)"
    known = "|".join(re.escape(name) for name in variables) or r"(?!)"
    return re.compile(
        r"\\?\$(?:(?P<all>ARGUMENTS)(?:\[(?P<index>\d{1,4})\])?"
        rf"|(?P<number>\d{{1,4}})(?!\w)|(?P<name>{named})(?!\w)|\{{(?P<variable>{known})\}})"
    )


def _split_inserts(body: str) -> Iterator[tuple[str, tuple[str, str] | None]]:
    """The text before each insert, with the insert as it was written and its command; last the text behind all."""
    position = 0
    for opening, closing in _find_fences(body):
        yield from _split_inline(body[position : opening.start()])
        command = body[opening.end() : closing.start()].strip("\r\n")
        yield "", (body[opening.start() : closing.end()], command)
        position = closing.end()
    yield from _split_inline(body[position:])


def _split_inline(text: str) -> Iterator[tuple[str, tuple[str, str] | None]]:
    position = 0
    for match in _INLINE.finditer(text):
        yield text[position : match.start()], (match[0], match[1])
        position = match.end()
    yield text[position:], None


def _find_fences(body: str) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    position = 0
    while opening := _FENCE_OPENS.search(body, position):
        closing = _FENCE_CLOSES.search(body, opening.end())
        if closing is None:
            return
        yield opening, closing
        position = closing.end()
