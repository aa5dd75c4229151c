"""Redacts secrets: replaces known values, and texts with the pattern of a token, with `[masked NAME]`."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, AnyStr, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bobstay.redaction.randomness import SHORTEST
from bobstay.redaction.token_shapes import BREAKS, HINTS, OPENERS, TokenShape

Span: TypeAlias = tuple[int, int, str]
"""Start and end of a redacted text, and its placeholder."""

LONG = 16
"""A value of at least this length is redacted everywhere; a shorter one never inside a word or an identifier."""
LONGEST_HELD = 8_192
"""Characters of a stream that may be held back for the end of a possible secret."""
ROUNDS = 3
"""How often a text is searched again after something was redacted in it."""
PLACEHOLDER_BEGINS = "[masked "
COLOUR_BEGINS = "\x1b["
COLOUR = r"\x1b\[[0-9;:]*m"
_ENDS_IN_ESCAPE = r"(?:(?<!\\)(?:\\\\)*\\[nrtbf]|\x1b\[[0-9;:]*m)\Z"
"""A JSON escape or a colour sequence ends in a letter that does not belong to the word after it."""
_BEARER = "[Bb]earer "
_OPENED = "|".join(map(re.escape, OPENERS))
# Each branch begins with a letter of its own, not with a class of letters: such a pattern is searched for fastest.
_SUSPECT = rf"{_OPENED}|Bearer |bearer |-----BEGIN |\\\Z|\x1b\Z|\x1b\[[0-9;:]{{0,20}}\Z"
_SHORT_BEGINNING = 12
"""Characters up to which the beginnings of secrets are kept as a set of all their prefixes."""
ENCODED = frozenset({"base64", "data"})
"""Fields with Base64 images and documents, which would be damaged where they happen to match a token's pattern."""


class Redactor:
    """Redacts the secrets of this process. Text without a secret is returned as the same object."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """`values`: the known secrets, by the name that replaces them."""
        self._named: dict[str, str] = {}
        self._possible: frozenset[str] = frozenset()
        self.values: tuple[tuple[str, str], ...] = ()
        """The known values with their placeholders, the longest first."""
        self._clean = ""
        """The last text that was found to have no secrets: one output is often shown twice."""
        self.placeholders: set[str] = set()
        """The placeholders used so far."""
        self.add_secrets(values or {})

    def add_secrets(self, values: Mapping[str, str]) -> None:
        """Redact these values too from now on, such as a key that was fetched on demand."""
        self._named.update({name: value.strip() for name, value in values.items()})
        named = self._named
        self._possible = frozenset(map(placeholder, (*named, *(shape.name for hint in HINTS for shape in hint.shapes))))
        shown = "\n".join(self._possible)
        known: dict[str, str] = {}
        for name, value in named.items():
            for form in (value, _json_escaped(value)):
                # A value that is part of a placeholder would be found there again.
                if len(form) >= SHORTEST and form not in shown:
                    known.setdefault(form, placeholder(name))
        self.values = tuple(sorted(known.items(), key=lambda pair: -len(pair[0])))
        self._clean = ""

    def redact_known(self, text: str) -> str:
        """Return `text` without the known values; texts that only look like a token are kept."""
        found = self._find_values(text)
        return self._replace_spans(text, found) if found else text

    def redact(self, text: str) -> str:
        """Return `text` without secrets."""
        if len(text) < SHORTEST or text == self._clean:
            return text
        redacted = self._redact_repeatedly(text)
        if COLOUR_BEGINS in redacted:
            # Programs that highlight matches (`grep --color`) may insert colours into a secret.
            plain = _compiled(COLOUR).sub("", redacted)
            if (without := self._redact_repeatedly(plain)) is not plain:
                return without
        if redacted is text:
            self._clean = text
        return redacted

    def redact_value(self, value: Any) -> Any:
        """Redact all texts in a JSON value or a struct; the same object if there is no secret in it."""
        match value:
            case str():
                return self.redact(value)
            case dict():
                entries = {
                    self.redact_value(key): entry if _is_encoded(key, entry) else self.redact_value(entry)
                    for key, entry in value.items()
                }
                same = all(new is old for new, old in zip(entries.values(), value.values(), strict=False))
                return value if same and len(entries) == len(value) and entries.keys() == value.keys() else entries
            case list() | tuple():
                parts = [self.redact_value(part) for part in value]
                same = all(new is old for new, old in zip(parts, value, strict=True))
                return value if same else type(value)(parts)
            case Struct():
                return self._redact_struct(value)
            case _:
                return value

    def find_placeholder(self, value: Any) -> str:
        """Return a placeholder in `value` that this redactor has used; "" if there is none."""
        if not self.placeholders:
            return ""
        if isinstance(value, str):
            return next((replacement for replacement in self.placeholders if replacement in value), "")
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        return next((found for part in parts if (found := self.find_placeholder(part))), "")

    def remember_placeholders(self, value: Any) -> None:
        """Remember the placeholders in `value`, which an earlier process of this session redacted."""
        match value:
            case str():
                if PLACEHOLDER_BEGINS in value:
                    self.placeholders |= {replacement for replacement in self._possible if replacement in value}
            case dict():
                for entry in value.values():
                    self.remember_placeholders(entry)
            case list() | tuple():
                for part in value:
                    self.remember_placeholders(part)
            case Struct():
                for name in value.__struct_fields__:
                    self.remember_placeholders(getattr(value, name))
            case _:
                pass

    def stream(self) -> "RedactedStream":
        return RedactedStream(self)

    def _redact_repeatedly(self, text: str) -> str:
        for _ in range(ROUNDS):
            redacted = self._redact_once(text)
            if redacted is text:
                break
            text = redacted
        return text

    def _redact_once(self, text: str) -> str:
        """Find all secrets in the original text, then replace them, so that no replacement hides another secret."""
        found = self._find_values(text)
        for hint in HINTS:
            if _compiled(hint.text).search(text) if hint.is_pattern else hint.text in text:
                found += [span for shape in hint.shapes for span in _tokens_in(shape, text)]
        return self._replace_spans(text, found) if found else text

    def _find_values(self, text: str) -> list[Span]:
        found: list[Span] = []
        for value, replacement in self.values:
            position = text.find(value)
            while position >= 0:
                if len(value) >= LONG or stands_alone(text, position, position + len(value)):
                    found.append((position, position + len(value), replacement))
                position = text.find(value, position + 1)
        return found

    def _replace_spans(self, text: str, found: list[Span]) -> str:
        """Replace each span; overlapping spans get the placeholder of the first, and of these the longest."""
        pieces: list[str] = []
        end = 0
        for start, stop, replacement in sorted(found, key=lambda span: (span[0], -span[1])):
            if start >= end:
                pieces += (text[end:start], replacement)
                self.placeholders.add(replacement)
            end = max(end, stop)
        return "".join((*pieces, text[end:]))

    def _redact_struct(self, value: Struct) -> Struct:
        changed = {}
        for name in value.__struct_fields__:
            old = getattr(value, name)
            new = self.redact_value(old)
            if new is not old:
                changed[name] = new
        return replace(value, **changed) if changed else value


class RedactedStream:
    """Redacts a text that arrives in pieces: the end of a piece is held back if a secret may begin there."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._last = ""
        """The letter before the held text: whether a word begins there depends on it."""
        self._values = tuple(value for value, _ in redactor.values)
        beginnings = (*self._values, *OPENERS)
        self._longest = min(max(map(len, beginnings)), LONGEST_HELD)
        self._long_beginnings = tuple(text for text in beginnings if len(text) > _SHORT_BEGINNING)
        self._prefixes = _list_opener_prefixes() | _list_prefixes(self._values)

    def feed(self, piece: str) -> str:
        """Return what can be shown now."""
        text = self._held + piece
        position = self._find_open_secret(text)
        if len(text) - position > LONGEST_HELD:
            position = len(text)
        self._held = text[position:]
        return self._redact(text[:position])

    def flush(self) -> str:
        """Return what is still held back, at the end of the text."""
        text, self._held = self._held, ""
        return self._redact(text)

    def _redact(self, text: str) -> str:
        if not text:
            return ""
        before = self._last
        self._last = last_letter(before + text)
        return self._redactor.redact(before + text)[len(before) :]

    def _find_open_secret(self, text: str) -> int:
        """Return where in `text` a possible secret begins that is not complete; its length if nowhere."""
        if _compiled(_SUSPECT).search(text) is None:
            position = self._find_partial_start(text, len(text))
            return move_before_values(self._values, text, position) if position < len(text) else position
        run = max(map(text.rfind, BREAKS)) + 1
        opened = _compiled(_OPENED).search(text, run)
        bearer = _compiled(_BEARER).search(text, max(run - 7, 0))
        found = [find_open_escape(text), *(match.start() for match in (opened, bearer) if match)]
        key = find_open_key(text)
        position = self._find_partial_start(text, min(found if key < 0 else (key, *found)))
        return move_before_values(self._values, text, position) if position < len(text) else position

    def _find_partial_start(self, text: str, position: int) -> int:
        """Return where before `position` the end of `text` may begin a secret, else `position`."""
        for beginning in self._long_beginnings:
            first, index = beginning[:_SHORT_BEGINNING], max(0, len(text) - self._longest) - 1
            while (index := text.find(first, index + 1, position + _SHORT_BEGINNING - 1)) >= 0:
                if beginning.startswith(text[index:]):
                    position = index
        for length in range(min(_SHORT_BEGINNING, len(text)), len(text) - position, -1):
            if text[-length:] in self._prefixes:
                return len(text) - length
        return position


def stands_alone(text: str, start: int, stop: int) -> bool:
    """Whether a value is a whole word: no letter, digit or underscore adjoins it on either side."""
    if _is_word_character(text[stop : stop + 1]) and _is_word_character(text[stop - 1]):
        return False
    if start == 0 or not (_is_word_character(text[start]) and _is_word_character(text[start - 1])):
        return True
    return _compiled(_ENDS_IN_ESCAPE).search(text, max(0, start - 24), start) is not None


def last_letter(text: str) -> str:
    """Return the last letter of a text; a line break if the text ends in an escape sequence."""
    if text[-1] not in "nrtbfm":
        return text[-1]
    return "\n" if _compiled(_ENDS_IN_ESCAPE).search(text, max(0, len(text) - 24)) else text[-1]


def find_open_escape(text: str) -> int:
    """Return where an incomplete escape sequence begins at the end of `text`; its length if there is none."""
    match = _compiled(r"(?:\\|\x1b(?:\[[0-9;:]{0,20})?)\Z").search(text, max(0, len(text) - 24))
    return match.start() if match else len(text)


def _is_word_character(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _tokens_in(shape: TokenShape, text: str) -> Iterator[Span]:
    replacement = placeholder(shape.name)
    for match in _compiled(shape.pattern).finditer(text):
        yield (match.end("kept") if "kept" in match.groupdict() else match.start()), match.end(), replacement


def placeholder(name: str) -> str:
    return f"{PLACEHOLDER_BEGINS}{name}]"


def _is_encoded(key: Any, entry: Any) -> bool:
    return key in ENCODED and isinstance(entry, str) and len(entry) > 500 and " " not in entry


def _json_escaped(value: str) -> str:
    """Return a value as it is written in JSON text."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def move_before_values(values: tuple[AnyStr, ...], text: AnyStr, position: int) -> int:
    """Return `position`, or the beginning of a value that reaches it: its end may be the beginning of another.

    Whether a short value that ends there is redacted depends on the letter after it.
    """
    before = -1
    while before != position:
        before = position
        for value in values:
            at = text.find(value, max(0, position - len(value)), position + len(value) - 1)
            position = at if 0 <= at < position else position
    return position


def find_open_key(text: str) -> int:
    """Return where a private key begins whose end has not arrived; -1 if nowhere."""
    position = text.rfind("-----BEGIN ")
    if position < 0:
        return -1
    rest = text[position:]
    end = rest.find("-----END")
    if end >= 0:
        closed = rest.find("-----", end + 8)
        return -1 if 0 <= closed < len(rest) - 5 else position
    return position if "PRIVATE KEY" in rest or len(rest) < 60 else -1


@cache
def _list_opener_prefixes() -> frozenset[str]:
    return _list_prefixes(OPENERS)


def _list_prefixes(beginnings: tuple[str, ...]) -> frozenset[str]:
    return frozenset(text[:length] for text in beginnings for length in range(1, min(len(text), _SHORT_BEGINNING) + 1))


@cache
def _compiled(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern, re.ASCII)
