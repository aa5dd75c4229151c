"""Compares the parse with that of a second, independent parser: only if they agree may anything be allowed.

Each parser has its own mistakes. A text that both parse alike, word by word, is assumed to be read so by the shell.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from bobstay.permissions.shell.syntax import Command, Compound, Part, Redirect, Script, SimpleNode, Test, Word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

Span: TypeAlias = tuple[str, tuple[tuple[int, int], ...]]
"""The kind of node, and where each of its words begins and ends."""

TRIVIAL = re.compile(r"(?:[A-Za-z0-9_@%+:,./=^ -]|'[^'\n]*'|\"[^\"\\$`\n]*\")+")
"""One command of unquoted and quoted words, without any other syntax: there is only one reading."""
KEYWORDS = re.compile(
    r" *(?:time|if|then|else|elif|fi|case|esac|for|select|while|until|do|done|in|function|coproc)(?: |\Z)"
)
DECLARATIONS = frozenset({"declare", "typeset", "export", "readonly", "local", "unset", "unsetenv"})
SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
NOT_WORDS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect", "comment"})

_parsers: "list[Parser]" = []


def is_trivial(text: str) -> bool:
    """Whether the text is so simple that a second parser is not needed."""
    return TRIVIAL.fullmatch(text) is not None and KEYWORDS.match(text) is None


def agrees(text: str, script: Script) -> bool:
    """Whether tree-sitter's grammar finds the same commands, words and redirections."""
    ascii_text = text if text.isascii() else "".join(one if one < "\x80" else "x" for one in text)
    root = _parser().parse(ascii_text.encode()).root_node
    if root.has_error:
        return False
    return sorted(_without_dashes(_tree_sitter_spans(root), text)) == sorted(_without_dashes(_own_spans(script), text))


def _without_dashes(spans: Iterator[Span], text: str) -> Iterator[Span]:
    """Drop lone `-` words: tree-sitter loses one before a here-document, and it is never a command."""
    for kind, positions in spans:
        if kind == "command":
            yield kind, tuple(span for span in positions if text[span[0] : span[1]] != "-")
        else:
            yield kind, positions


def _parser() -> "Parser":
    if not _parsers:
        # Imported on first use: most sessions send their first request earlier.
        import tree_sitter
        import tree_sitter_bash

        _parsers.append(tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language())))
    return _parsers[0]


def _tree_sitter_spans(root: "Node") -> Iterator[Span]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        children = node.named_children
        kind = node.type
        if kind == "command":
            yield "command", tuple((one.start_byte, one.end_byte) for one in children if one.type not in NOT_WORDS)
        elif kind in SUBSTITUTIONS:
            # tree-sitter may include the blank before a substitution in its start; its end is exact.
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


def _own_spans(script: Script) -> Iterator[Span]:
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
                yield from _own_spans(script)


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
        closes = redirect.target.source == "-"  # tree-sitter makes it a part of the operator
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
            yield from _own_spans(part.script)
