"""Asks a second, independent parser whether it sees the same commands: only then may anything be allowed.

Each parser has mistakes of its own. What both read alike, word by word, is read as the shell reads it.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from bobstay.permissions.shell.syntax import Command, Compound, Part, Redirect, Script, SimpleNode, Test, Word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

Span: TypeAlias = tuple[str, tuple[tuple[int, int], ...]]
"""What kind of thing, and where each of its words begins and ends."""

PLAIN = re.compile(r"(?:[A-Za-z0-9_@%+:,./=^ -]|'[^'\n]*'|\"[^\"\\$`\n]*\")+")
"""One command of plain and quoted words. Blanks and quotes are all there is to it, and one reading."""
KEYWORDS = re.compile(
    r" *(?:time|if|then|else|elif|fi|case|esac|for|select|while|until|do|done|in|function|coproc)(?: |\Z)"
)
DECLARATIONS = frozenset({"declare", "typeset", "export", "readonly", "local", "unset", "unsetenv"})
SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
NOT_WORDS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect", "comment"})

_parsers: "list[Parser]" = []


def is_plain(text: str) -> bool:
    """Whether the text is so simple that a second opinion could only repeat the first."""
    return PLAIN.fullmatch(text) is not None and KEYWORDS.match(text) is None


def agrees(text: str, script: Script) -> bool:
    """Whether the grammar of tree-sitter finds the same commands, words and redirections."""
    ascii_text = text if text.isascii() else "".join(one if one < "\x80" else "x" for one in text)
    root = _parser().parse(ascii_text.encode()).root_node
    if root.has_error:
        return False
    return sorted(_without_dashes(_theirs(root), text)) == sorted(_without_dashes(_ours(script), text))


def _without_dashes(spans: Iterator[Span], text: str) -> Iterator[Span]:
    """That grammar loses a lone `-` before a here-document; it is never a command, so neither list needs it."""
    for kind, places in spans:
        if kind == "command":
            yield kind, tuple(place for place in places if text[place[0] : place[1]] != "-")
        else:
            yield kind, places


def _parser() -> "Parser":
    if not _parsers:
        # Imported when first needed: most sessions' first answers come before it.
        import tree_sitter
        import tree_sitter_bash

        _parsers.append(tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language())))
    return _parsers[0]


def _theirs(root: "Node") -> Iterator[Span]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        children = node.named_children
        kind = node.type
        if kind == "command":
            yield "command", tuple((one.start_byte, one.end_byte) for one in children if one.type not in NOT_WORDS)
        elif kind in SUBSTITUTIONS:
            # Where one begins that grammar blurs by the blank before it; where it ends, it does not.
            yield "substitution", ((node.end_byte, node.end_byte),)
        elif kind == "file_redirect":
            targets = (one for one in children if one.type != "file_descriptor")
            yield "redirect", tuple((one.start_byte, one.end_byte) for one in targets)
        elif kind == "herestring_redirect":
            yield "redirect", tuple((one.start_byte, one.end_byte) for one in children)
        elif kind == "heredoc_body":
            yield "document", ((node.start_byte, node.end_byte),)
        elif kind in ("test_command", "declaration_command", "unset_command"):
            yield "whole", ((node.start_byte, node.end_byte),)
        elif kind == "variable_assignment" and node.parent is not None and node.parent.type not in _HOLDERS:
            yield "assignment", ((node.start_byte, node.end_byte),)
        waiting += children


_HOLDERS = frozenset({"command", "declaration_command"})


def _ours(script: Script) -> Iterator[Span]:
    for chain in script.chains:
        for pipeline in chain.pipelines:
            for command in pipeline.commands:
                yield from _of_command(command)
                for redirect in command.redirects:
                    yield from _of_redirect(redirect)


def _of_command(command: Command) -> Iterator[Span]:
    match command:
        case SimpleNode(assignments=assignments, words=words):
            yield from _of_simple(assignments, words)
        case Test(words=words, start=start, end=end):
            yield "whole", ((start, end),)
            yield from _inside(words)
        case Compound(scripts=scripts, words=words):
            yield from _inside(words)
            for script in scripts:
                yield from _ours(script)


def _of_simple(assignments: list[Word], words: list[Word]) -> Iterator[Span]:
    yield from _inside(assignments)
    yield from _inside(words)
    if not words:
        for word in assignments:
            yield "assignment", ((word.start, word.end),)
    elif words[0].source in DECLARATIONS or words[0].source == "[":
        yield "whole", ((words[0].start, words[-1].end),)
        for word in assignments:
            yield "assignment", ((word.start, word.end),)
    else:
        yield "command", tuple((word.start, word.end) for word in (*assignments, *words))


def _of_redirect(redirect: Redirect) -> Iterator[Span]:
    if redirect.target is not None:
        closes = redirect.target.source == "-"  # which that grammar takes for a part of the operator
        yield "redirect", () if closes else ((redirect.target.start, redirect.target.end),)
        yield from _inside([redirect.target])
    else:
        tabs = len(redirect.body) - len(redirect.body.lstrip("\t")) if redirect.operator == "<<-" else 0
        yield "document", ((redirect.start + tabs, redirect.stop),)
        yield from _substituted(redirect.inner)


def _inside(words: list[Word]) -> Iterator[Span]:
    for word in words:
        yield from _substituted(word.parts)


def _substituted(parts: list[Part]) -> Iterator[Span]:
    for part in parts:
        if part.script is not None:
            end = part.start + len(part.text)
            yield "substitution", ((end, end),)
            yield from _ours(part.script)
