"""Folds characters a model confuses, one for one, so that positions are preserved."""

_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_TABLE = (
    dict.fromkeys(map(ord, _SPACES), " ")
    | dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032"), "'")
    | dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"), '"')
    | dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-")
    | dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}")  # as undecodable bytes are shown
    | {0: "\N{SYMBOL FOR NULL}"}
)


def fold_lookalikes(text: str) -> str:
    """Replace typographic spaces, quotes and dashes by plain ones; the length stays the same."""
    if text.isascii() and "\0" not in text:
        return text
    return text.translate(_TABLE)


def indent_of(line: str) -> str:
    """The leading whitespace of `line`."""
    return line[: len(line) - len(line.lstrip())]
