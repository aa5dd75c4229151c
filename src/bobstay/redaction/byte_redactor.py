"""Takes secrets out of the output of a program: bytes that come in pieces, looked through about as fast as they come.

What is a secret is said in `secrets`. A text is looked through there once for each kind of token, which is too slow
for ten megabytes. Here a piece is first asked whether it has the rarest letter of a token's beginning in it at all,
then searched for the beginning by the C library, and only where that is found by the pattern.
"""

import re
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any, TypeAlias

from msgspec import Struct

from bobstay.redaction.redactor import (
    LONG,
    ROUNDS,
    Redactor,
    begun_escape,
    last_letter,
    not_within,
    placeholder,
    stands_alone,
    unended_key,
)
from bobstay.redaction.token_shapes import BREAKS, HINTS, OPENERS

Span: TypeAlias = tuple[int, int, bytes]

LONGEST_HELD = 1 << 16
"""Bytes that may wait for the end of what looks like a secret: a large private key in armour."""
LARGE = 4_096
"""Bytes from which on it pays to call the C library."""
NEAR = 256
"""Bytes at the end of a piece in which most words begin that are not finished there."""
_RARE = b"J-_AxBV"
"""Letters that much output does without: one of them is in most needles. The first that is in a needle counts."""
_OPENERS = tuple(opener.encode() for opener in OPENERS)
_PARTS = frozenset(opener[:size] for opener in _OPENERS for size in range(1, len(opener)))
_LONGEST = max(map(len, _PARTS))
_BREAKS = tuple(letter.encode() for letter in BREAKS)
_BEARER = b"bearer "
_KEY = b"PRIVATE KEY"


class Needle(Struct, frozen=True):
    """A text that is in every token of some kind."""

    text: bytes
    rarest: bytes
    """A letter of it that is seldom in other text."""
    pattern: bytes = b""
    """What the whole token looks like; none for a value that is known to the letter."""
    back: int = 0
    """How far before the needle a token begins."""
    opening: bytes = b""
    """With what it begins instead, if it does not begin at a fixed distance."""
    instead: bytes = b""
    alone: bool = False
    """A short value: not a secret inside a longer word."""


class ByteStream:
    """Masks one stream of output. What comes out has no secret in it; the end of a piece waits where one may begin."""

    def __init__(self, mask: Redactor) -> None:
        self._mask = mask
        values = [(value.encode("utf-8", "surrogateescape"), instead.encode()) for value, instead in mask.values]
        alone = frozenset(value.encode("utf-8", "surrogateescape") for value, _ in mask.values if len(value) < LONG)
        known = (Needle(value, _rarest(value), instead=instead, alone=value in alone) for value, instead in values)
        self._needles = (*known, *_tokens())
        self._rare = frozenset(needle.rarest for needle in self._needles)
        self._values = tuple(value for value, _ in values)
        self._alone = alone
        self._held = b""
        self._last = b""

    def feed(self, data: bytes) -> bytes:
        """What can be passed on by now: the very same object if there is nothing to hide or to wait for."""
        if self._held:
            data = self._held + data
        rare = [letter for letter in self._rare if letter in data]
        place = self._begun(data, rare)
        if place == len(data) or len(data) - place > LONGEST_HELD:
            self._held = b""
            return self._passed(data, rare)
        self._held = data[place:]
        return self._passed(data[:place], rare)

    def flush(self) -> bytes:
        """What was still waiting: no more will come."""
        data, self._held = self._held, b""
        return self._passed(data, self._rare)

    def _begun(self, data: bytes, rare: Collection[bytes]) -> int:
        """Where in `data` something begins that may become a secret; its length if nowhere."""
        near = data[-NEAR:]
        run = max(map(near.rfind, _BREAKS)) + 1
        if run <= len(_BEARER) and len(data) > NEAR:  # a long one, without a break
            near = data[-LONGEST_HELD:]
            run = max(map(near.rfind, _BREAKS)) + 1
        openers = _OPENERS if len(near) == NEAR else [one for one in _OPENERS if _rarest(one) in near]
        found = [_find(near, opener, run) for opener in openers]
        if run >= len(_BEARER) and near[run - len(_BEARER) : run].lower() == _BEARER:
            found.append(run - len(_BEARER))
        place = len(data) - len(near) + min((one for one in found if one >= 0), default=len(near))
        end = near[-24:].decode("latin-1")  # one letter a byte
        place = min(place, len(data) - len(end) + begun_escape(end))
        if (_rarest(_KEY) in rare and _find(data, _KEY, 0) >= 0) or b"-----BEGIN " in near[-70:]:
            place = min(place, _unended_key(data))
        for size in range(min(_LONGEST, len(data)), len(data) - place, -1):
            if data[-size:] in _PARTS:
                place = len(data) - size
                break
        for value in self._values:
            place = min(place, _part_of(value, data, whole=value in self._alone))
        return not_within(self._values, data, place) if place < len(data) else place

    def _passed(self, data: bytes, rare: Collection[bytes]) -> bytes:
        if not data:
            return data
        before, self._last = self._last, _last(self._last + data[-32:])
        if not self._found(data, rare):
            return data
        data = before + data  # whether a word begins depends on the letter before it
        for _ in range(ROUNDS):
            found = self._found(data, self._rare)
            if not found:
                break
            data = self._without(data, found)
        return data[len(before) :]

    def _found(self, data: bytes, rare: Collection[bytes]) -> list[Span]:
        return [span for needle in self._needles if needle.rarest in rare for span in _spans(needle, data)]

    def _without(self, data: bytes, found: list[Span]) -> bytes:
        pieces: list[bytes] = []
        end = 0
        for start, stop, instead in sorted(found, key=lambda span: (span[0], -span[1])):
            if start >= end:
                pieces += (data[end:start], instead)
                self._mask.given.add(instead.decode())
            end = max(end, stop)
        return b"".join((*pieces, data[end:]))


def _unended_key(data: bytes) -> int:
    """Where a private key begins that does not end, or the length of `data`."""
    window = data[-LONGEST_HELD:].decode("latin-1")  # one letter a byte, whatever the bytes mean
    place = unended_key(window)
    return len(data) - len(window) + place if place >= 0 else len(data)


def _last(data: bytes) -> bytes:
    """The end of what was passed on: one whole letter, since whether a word begins behind it depends on it."""
    return last_letter(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _part_of(value: bytes, data: bytes, *, whole: bool) -> int:
    """Where `data` ends with a beginning of `value` (or with all of it, if what follows matters), or its length."""
    place = max(0, len(data) - min(len(value) - (not whole), LONGEST_HELD))
    while (place := data.find(value[:2], place)) >= 0:
        if value.startswith(data[place:]):
            return place
        place += 1
    return len(data) - data.endswith(value[:1])


def _spans(needle: Needle, data: bytes) -> Iterator[Span]:
    place = _find(data, needle.text, 0)
    while place >= 0:
        after = place + 1
        if not needle.pattern:
            if not needle.alone or _stands_alone(data, place, place + len(needle.text)):
                yield place, place + len(needle.text), needle.instead
        else:
            start = place - needle.back
            if needle.opening:
                start = data.rfind(needle.opening, max(0, place - 60), place)
            match = _compiled(needle.pattern).match(data, start) if start >= 0 else None
            if match is not None:
                after = match.end()
                yield (match.end("kept") if "kept" in match.groupdict() else match.start()), after, needle.instead
        place = _find(data, needle.text, after)


def _stands_alone(data: bytes, start: int, stop: int) -> bool:
    before = data[max(0, start - 32) : start].decode("utf-8", "surrogateescape")
    value = data[start:stop].decode("utf-8", "surrogateescape")
    after = data[stop : stop + 4].decode("utf-8", "surrogateescape")
    return stands_alone(before + value + after, len(before), len(before) + len(value))


def _find(data: bytes, text: bytes, start: int) -> int:
    size = len(data) - start
    if size < LARGE:
        return data.find(text, start)
    memory, search = _searching()
    base = memory(data).value
    found = search(base + start, size, text, len(text))
    return found - base if found else -1


@cache
def _searching() -> tuple[Any, Any]:
    """The way to the memory of an object, and the search of the C library: three times as fast as Python's own."""
    import ctypes

    def memory(data: bytes) -> Any:
        return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p)

    search = ctypes.CDLL(None).memmem
    search.restype = ctypes.c_void_p
    search.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return memory, search


@cache
def _tokens() -> tuple[Needle, ...]:
    found: list[Needle] = []
    for hint in HINTS:
        for shape in hint.shapes:
            for text in shape.needles:
                literal, pattern = text.encode(), shape.pattern.encode()
                instead = placeholder(shape.name).encode()
                found.append(Needle(literal, _rarest(literal), pattern, shape.back, shape.opening.encode(), instead))
    return tuple(found)


@cache
def _rarest(text: bytes) -> bytes:
    return next((_RARE[at : at + 1] for at in range(len(_RARE)) if _RARE[at] in text), text[:1])


@cache
def _compiled(pattern: bytes) -> "re.Pattern[bytes]":
    return re.compile(pattern)
