"""Puts `[masked NAME]` in the place of secrets: values that were named to it, and texts that have a token's shape."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, AnyStr, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from bobstay.redaction.randomness import SHORTEST
from bobstay.redaction.token_shapes import BREAKS, HINTS, OPENERS, Shape

Span: TypeAlias = tuple[int, int, str]
"""From where to where something stands that is masked, and what stands there then."""

LONG = 16
"""A value from here on is redacted wherever it stands; a shorter one never inside a word or an identifier."""
LONGEST_HELD = 8_192
"""Characters of a stream that may wait for the end of what looks like a secret."""
ROUNDS = 3
"""How often a text is looked at again after something was taken out of it."""
PLACEHOLDER_BEGINS = "[masked "
COLOUR_BEGINS = "\x1b["
COLOUR = r"\x1b\[[0-9;:]*m"
_ENDS_IN_ESCAPE = r"(?:(?<!\\)(?:\\\\)*\\[nrtbf]|\x1b\[[0-9;:]*m)\Z"
"""An escape of JSON text or a colour ends in a letter that is no part of the word after it."""
_BEARER = "[Bb]earer "
_OPENED = "|".join(map(re.escape, OPENERS))
ENCODED = frozenset({"base64", "data"})
"""Under these names stand pictures and documents as Base64, which would be spoilt by what only looks like a token."""


class Redactor:
    """Knows the secrets of this process. Text without a secret comes back as it is, the very same object."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """`values`: the secrets there are, by the name that shall stand in their place."""
        self._named: dict[str, str] = {}
        self._possible: frozenset[str] = frozenset()
        self.values: tuple[tuple[str, str], ...] = ()
        """The values that are masked, with what stands in the place of each; the longest first."""
        self._clean = ""
        """What was looked through last and is without secrets: one output is often shown in two places."""
        self.given: set[str] = set()
        """What was put in the place of secrets so far."""
        self.learn(values or {})

    def learn(self, values: Mapping[str, str]) -> None:
        """Mask these too from now on, such as a key that was fetched when it was needed."""
        self._named.update({name: value.strip() for name, value in values.items()})
        named = self._named
        self._possible = frozenset(map(placeholder, (*named, *(shape.name for hint in HINTS for shape in hint.shapes))))
        shown = "\n".join(self._possible)
        known: dict[str, str] = {}
        for name, value in named.items():
            for spelled in (value, _escaped(value)):
                # A value that is part of what is put in its place would be found there again.
                if len(spelled) >= SHORTEST and spelled not in shown:
                    known.setdefault(spelled, placeholder(name))
        self.values = tuple(sorted(known.items(), key=lambda pair: -len(pair[0])))
        self._clean = ""

    def known(self, text: str) -> str:
        """`text` without the values this process was given, whatever else looks like a token."""
        found = self._values_in(text)
        return self._without(text, found) if found else text

    def text(self, text: str) -> str:
        """`text` without secrets."""
        if len(text) < SHORTEST or text == self._clean:
            return text
        masked = self._repeatedly(text)
        if COLOUR_BEGINS in masked:
            # A program that marks what it found (`grep --color`) puts colours into the middle of a secret.
            plain = _compiled(COLOUR).sub("", masked)
            if (without := self._repeatedly(plain)) is not plain:
                return without
        if masked is text:
            self._clean = text
        return masked

    def value(self, value: Any) -> Any:
        """The same for all texts in a JSON value or a struct; what has none in it comes back as it is."""
        match value:
            case str():
                return self.text(value)
            case dict():
                entries = {
                    self.value(key): entry if _is_encoded(key, entry) else self.value(entry)
                    for key, entry in value.items()
                }
                same = all(new is old for new, old in zip(entries.values(), value.values(), strict=False))
                return value if same and len(entries) == len(value) and entries.keys() == value.keys() else entries
            case list() | tuple():
                parts = [self.value(part) for part in value]
                same = all(new is old for new, old in zip(parts, value, strict=True))
                return value if same else type(value)(parts)
            case Struct():
                return self._struct(value)
            case _:
                return value

    def given_in(self, value: Any) -> str:
        """What stands for a secret in `value` and was put there by this mask; "" if nothing does."""
        if not self.given:
            return ""
        if isinstance(value, str):
            return next((instead for instead in self.given if instead in value), "")
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        return next((found for part in parts if (found := self.given_in(part))), "")

    def recall(self, value: Any) -> None:
        """Remember what stands for secrets in `value`, which was redacted by an earlier process of this session."""
        match value:
            case str():
                if PLACEHOLDER_BEGINS in value:
                    self.given |= {instead for instead in self._possible if instead in value}
            case dict():
                for entry in value.values():
                    self.recall(entry)
            case list() | tuple():
                for part in value:
                    self.recall(part)
            case Struct():
                for name in value.__struct_fields__:
                    self.recall(getattr(value, name))
            case _:
                pass

    def stream(self) -> "RedactedStream":
        return RedactedStream(self)

    def _repeatedly(self, text: str) -> str:
        for _ in range(ROUNDS):
            masked = self._once(text)
            if masked is text:
                break
            text = masked
        return text

    def _once(self, text: str) -> str:
        """All secrets are looked for in the text as it is: none hides behind what another left of it."""
        found = self._values_in(text)
        for hint in HINTS:
            if _compiled(hint.text).search(text) if hint.is_pattern else hint.text in text:
                found += [span for shape in hint.shapes for span in _tokens_in(shape, text)]
        return self._without(text, found) if found else text

    def _values_in(self, text: str) -> list[Span]:
        found: list[Span] = []
        for value, instead in self.values:
            place = text.find(value)
            while place >= 0:
                if len(value) >= LONG or stands_alone(text, place, place + len(value)):
                    found.append((place, place + len(value), instead))
                place = text.find(value, place + 1)
        return found

    def _without(self, text: str, found: list[Span]) -> str:
        """Put something in the place of each span; of those that overlap, what the longest of the first ones is."""
        pieces: list[str] = []
        end = 0
        for start, stop, instead in sorted(found, key=lambda span: (span[0], -span[1])):
            if start >= end:
                pieces += (text[end:start], instead)
                self.given.add(instead)
            end = max(end, stop)
        return "".join((*pieces, text[end:]))

    def _struct(self, value: Struct) -> Struct:
        changed = {}
        for name in value.__struct_fields__:
            old = getattr(value, name)
            new = self.value(old)
            if new is not old:
                changed[name] = new
        return replace(value, **changed) if changed else value


class RedactedStream:
    """Masks a text that comes in pieces: the end of a piece waits where it may be the beginning of a secret."""

    def __init__(self, mask: Redactor) -> None:
        self._mask = mask
        self._held = ""
        self._last = ""
        """The letter before what is held: whether a word begins there depends on it."""
        self._values = tuple(value for value, _ in mask.values)
        beginnings = (*self._values, *OPENERS)
        self._longest = min(max(map(len, beginnings)), LONGEST_HELD)
        self._beginnings: dict[str, list[str]] = {}
        """By their first letter."""
        for beginning in beginnings:
            self._beginnings.setdefault(beginning[0], []).append(beginning)

    def feed(self, piece: str) -> str:
        """What can be shown by now."""
        text = self._held + piece
        place = self._begun(text)
        if len(text) - place > LONGEST_HELD:
            place = len(text)
        self._held = text[place:]
        return self._shown(text[:place])

    def flush(self) -> str:
        """What was still waiting: no more will come."""
        text, self._held = self._held, ""
        return self._shown(text)

    def _shown(self, text: str) -> str:
        if not text:
            return ""
        before = self._last
        self._last = last_letter(before + text)
        return self._mask.text(before + text)[len(before) :]

    def _begun(self, text: str) -> int:
        """Where in `text` something begins that may become a secret; its length if nowhere."""
        run = max(map(text.rfind, BREAKS)) + 1
        opened = _compiled(_OPENED).search(text, run)
        bearer = _compiled(_BEARER).search(text, max(run - 7, 0))
        found = [begun_escape(text), *(match.start() for match in (opened, bearer) if match)]
        key = unended_key(text)
        place = self._end(text, min(found if key < 0 else (key, *found)))
        return not_within(self._values, text, place) if place < len(text) else place

    def _end(self, text: str, place: int) -> int:
        """Where before `place` the end of `text` may be how a secret begins, else `place`."""
        near = max(0, len(text) - self._longest)
        for index, letter in enumerate(text[near:place], near):
            for beginning in self._beginnings.get(letter, ()):
                if beginning.startswith(text[index:]):
                    return index
        return place


def stands_alone(text: str, start: int, stop: int) -> bool:
    """Whether a value is a word of its own: no letter, digit or underscore goes on with it on either side."""
    if _is_in_word(text[stop : stop + 1]) and _is_in_word(text[stop - 1]):
        return False
    if start == 0 or not (_is_in_word(text[start]) and _is_in_word(text[start - 1])):
        return True
    return _compiled(_ENDS_IN_ESCAPE).search(text, max(0, start - 24), start) is not None


def last_letter(text: str) -> str:
    """What the next piece of a stream begins behind: a break if the text ends in an escape."""
    return "\n" if _compiled(_ENDS_IN_ESCAPE).search(text, max(0, len(text) - 24)) else text[-1]


def begun_escape(text: str) -> int:
    """Where an escape begins that is not complete at the end of `text`; its length if none does."""
    match = _compiled(r"(?:\\|\x1b(?:\[[0-9;:]{0,20})?)\Z").search(text, max(0, len(text) - 24))
    return match.start() if match else len(text)


def _is_in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _tokens_in(shape: Shape, text: str) -> Iterator[Span]:
    instead = placeholder(shape.name)
    for match in _compiled(shape.pattern).finditer(text):
        yield (match.end("kept") if "kept" in match.groupdict() else match.start()), match.end(), instead


def placeholder(name: str) -> str:
    return f"{PLACEHOLDER_BEGINS}{name}]"


def _is_encoded(key: Any, entry: Any) -> bool:
    return key in ENCODED and isinstance(entry, str) and len(entry) > 500 and " " not in entry


def _escaped(value: str) -> str:
    """A value as it stands in JSON text."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def not_within(values: tuple[AnyStr, ...], text: AnyStr, place: int) -> int:
    """`place`, or where a value begins that reaches to it or beyond: its end may be how another begins.

    Whether a short value that ends there is redacted depends on the letter behind it.
    """
    before = -1
    while before != place:
        before = place
        for value in values:
            at = text.find(value, max(0, place - len(value)), place + len(value) - 1)
            place = at if 0 <= at < place else place
    return place


def unended_key(text: str) -> int:
    """Where a private key begins whose end has not come; -1 if nowhere."""
    place = text.rfind("-----BEGIN ")
    if place < 0:
        return -1
    rest = text[place:]
    end = rest.find("-----END")
    if end >= 0:
        closed = rest.find("-----", end + 8)
        return -1 if 0 <= closed < len(rest) - 5 else place
    return place if "PRIVATE KEY" in rest or len(rest) < 60 else -1


@cache
def _compiled(pattern: str) -> "re.Pattern[str]":
    return re.compile(pattern, re.ASCII)
