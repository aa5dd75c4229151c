"""Text as both databases are to find it: plain words, the same for what is stored and for what is looked for.

The words are cut here and not by the databases, because theirs differ: one takes `src/app.py` for a single word, the
other for three. Nothing but letters, digits and spaces ever reaches their query languages.
"""

import re
import unicodedata
from collections.abc import Iterator

from msgspec import Struct

SEARCHED = 64 * 1024
"""Characters of a text that are searched; what comes later is in the log, but is not found."""
LONGEST_WORD = 100
"""Longer ones are keys and ciphertext: nobody looks for them, and they would fill the index."""
MOST_WORDS = 16
"""Of a query."""
EXCERPT = 240

_WORD = re.compile(r"[^\W_]+")
_IDEOGRAPH = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f])")
_APART = {code: " " for code in range(128) if not chr(code).isalnum()}
"""In ASCII, everything that separates words: this table does it many times faster than a pattern."""


def plain_words(text: str) -> str:
    """The words of `text` in lower case without accents, a space between two; an ideograph is a word of its own."""
    text = text[:SEARCHED]
    if text.isascii():
        found = text.lower().translate(_APART).split()
    else:
        found = _WORD.findall(_IDEOGRAPH.sub(r" \1 ", _without_accents(text)))
    return " ".join([word for word in found if len(word) <= LONGEST_WORD])


class Term(Struct, frozen=True):
    """What a hit must hold: these words, one after the other. The last one may be the beginning of a longer word."""

    words: tuple[str, ...]
    open_ended: bool


def terms(query: str) -> tuple[Term, ...]:
    """What `query` asks for. All its terms must be met; words in double quotes must stand together. Never an error."""
    found: list[Term] = []
    pieces = query[:1000].split('"')
    for place, piece in enumerate(pieces):
        quoted = place % 2 == 1 and place < len(pieces) - 1
        if quoted:
            found.append(Term(tuple(plain_words(piece).split()), open_ended=False))
        else:
            found += [Term(tuple(plain_words(word).split()), open_ended=True) for word in piece.split()]
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
    """A piece of a text around what was found. `marks` are (start, end) in `text`: no markup, so nothing to escape."""

    text: str
    marks: tuple[tuple[int, int], ...]
    cut_before: bool = False
    cut_after: bool = False


def excerpt(text: str, wanted: tuple[Term, ...], length: int = EXCERPT) -> Excerpt:
    """The piece of `text` where the first of `wanted` is met, and where in it they all are."""
    text = text[:SEARCHED]
    spots = sorted(set(_spots(text, wanted)))
    first = spots[0][0] if spots else 0
    start = max(0, first - length // 4)
    if start:
        space = text.find(" ", start, first)
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + length)
    marks = tuple((left - start, min(right, end) - start) for left, right in spots if start <= left < end)
    return Excerpt(text[start:end], marks, start > 0, end < len(text))


def _spots(text: str, wanted: tuple[Term, ...]) -> Iterator[tuple[int, int]]:
    tokens = list(_tokens(text))
    words = [token[0] for token in tokens]
    for term in wanted:
        count = len(term.words)
        for place in range(len(words) - count + 1):
            if _meets(words[place : place + count], term):
                yield tokens[place][1], tokens[place + count - 1][2]


def _meets(words: list[str], term: Term) -> bool:
    if words[:-1] != list(term.words[:-1]):
        return False
    last = term.words[-1]
    return words[-1].startswith(last) if term.open_ended else words[-1] == last


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Each word of `text` as it is searched, and where it stands."""
    for match in _WORD.finditer(text):
        place = match.start()
        for piece in _IDEOGRAPH.split(match.group()):
            for word in plain_words(piece).split():
                yield word, place, place + len(piece)
            place += len(piece)


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join([character for character in decomposed if not unicodedata.combining(character)])
