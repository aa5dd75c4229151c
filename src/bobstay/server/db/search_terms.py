"""Text normalisation for the full-text search, applied to documents and to queries alike.

Text is split into words here and not by the databases, because they differ: one regards `src/app.py` as a single word,
the other as three. Nothing but letters, digits and spaces ever reaches their query languages.
"""

import re
import unicodedata
from collections.abc import Iterator

from msgspec import Struct

SEARCHED = 64 * 1024
"""Characters of a text that are searched; the rest is in the log, but is not found."""
LONGEST_WORD = 100
"""Longer words are keys and ciphertext: nobody searches for them, and they would fill the index."""
MOST_WORDS = 16
"""Of a query."""
EXCERPT = 240

_WORD = re.compile(r"[^\W_]+")
_IDEOGRAPH = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f])")
_SEPARATORS = {code: " " for code in range(128) if not chr(code).isalnum()}
"""ASCII characters that separate words: translating them is many times faster than a regular expression."""


def searchable_text(text: str) -> str:
    """The words of `text` in lower case without accents, a space between two; an ideograph is a word of its own."""
    text = text[:SEARCHED]
    if text.isascii():
        found = text.lower().translate(_SEPARATORS).split()
    else:
        found = _WORD.findall(_IDEOGRAPH.sub(r" \1 ", _without_accents(text)))
    return " ".join([word for word in found if len(word) <= LONGEST_WORD])


class Term(Struct, frozen=True):
    """A sequence of words that a hit must contain. If `open_ended`, the last one may be a prefix of a longer word."""

    words: tuple[str, ...]
    open_ended: bool


def terms(query: str) -> tuple[Term, ...]:
    """The terms of `query`, all of which must match; words in double quotes form one term. Never an error."""
    found: list[Term] = []
    pieces = query[:1000].split('"')
    for number, piece in enumerate(pieces):
        quoted = number % 2 == 1 and number < len(pieces) - 1
        if quoted:
            found.append(Term(tuple(searchable_text(piece).split()), open_ended=False))
        else:
            found += [Term(tuple(searchable_text(word).split()), open_ended=True) for word in piece.split()]
    kept: list[Term] = []
    room = MOST_WORDS
    for term in dict.fromkeys(found):
        if not term.words:
            continue
        if len(term.words) > room:
            break
        room -= len(term.words)
        kept.append(term)
    return tuple(kept)


class Excerpt(Struct, frozen=True):
    """An excerpt of a text around its matches. `marks` are (start, end) in `text`: no markup, so nothing to escape."""

    text: str
    marks: tuple[tuple[int, int], ...]
    cut_before: bool = False
    cut_after: bool = False


def excerpt(text: str, wanted: tuple[Term, ...], length: int = EXCERPT) -> Excerpt:
    """An excerpt around the first match in `text`, with the positions of all matches in it."""
    text = text[:SEARCHED]
    spots = sorted(set(_matches(text, wanted)))
    first = spots[0][0] if spots else 0
    start = max(0, first - length // 4)
    if start:
        space = text.find(" ", start, first)
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + length)
    marks = tuple((left - start, min(right, end) - start) for left, right in spots if start <= left < end)
    return Excerpt(text[start:end], marks, start > 0, end < len(text))


def _matches(text: str, wanted: tuple[Term, ...]) -> Iterator[tuple[int, int]]:
    tokens = list(_tokens(text))
    words = [token[0] for token in tokens]
    for term in wanted:
        count = len(term.words)
        for index in range(len(words) - count + 1):
            if _is_match(words[index : index + count], term):
                yield tokens[index][1], tokens[index + count - 1][2]


def _is_match(words: list[str], term: Term) -> bool:
    if words[:-1] != list(term.words[:-1]):
        return False
    last = term.words[-1]
    return words[-1].startswith(last) if term.open_ended else words[-1] == last


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Each normalised word of `text`, with its start and end."""
    for match in _WORD.finditer(text):
        start = match.start()
        for piece in _IDEOGRAPH.split(match.group()):
            for word in searchable_text(piece).split():
                yield word, start, start + len(piece)
            start += len(piece)


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join([character for character in decomposed if not unicodedata.combining(character)])
