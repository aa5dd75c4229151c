"""Redacts the output of a program: bytes that arrive in pieces, at about the speed at which they arrive.

`redactor` defines what is a secret. It searches a text once for each kind of token, which is too slow for ten
megabytes. Here a piece is first checked for the rarest letter of a token's literal, then searched for the literal by
the C library, and only there matched against the pattern.
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
    find_open_escape,
    find_open_key,
    last_letter,
    move_before_values,
    placeholder,
    stands_alone,
)
from bobstay.redaction.token_shapes import BREAKS, HINTS, OPENERS

Span: TypeAlias = tuple[int, int, bytes]

LONGEST_HELD = 1 << 16
"""Bytes that may be held back for the end of a possible secret, such as a large armoured private key."""
LARGE = 4_096
"""Size in bytes from which the C library is faster."""
NEAR = 256
"""Bytes at the end of a piece that are searched first for the beginning of an unfinished word."""
_RARE = b"J-_AxBV"
"""Letters that are rare in most output, in order of preference. Most needles contain one of them."""
_OPENERS = tuple(opener.encode() for opener in OPENERS)
_PARTS = frozenset(opener[:size] for opener in _OPENERS for size in range(1, len(opener)))
_LONGEST = max(map(len, _PARTS))
_BREAKS = tuple(letter.encode() for letter in BREAKS)
_BEARER = b"bearer "
_KEY = b"PRIVATE KEY"


class Needle(Struct, frozen=True):
    """A literal that every token of some kind contains."""

    text: bytes
    rarest: bytes
    """A letter of it that is rare in other text."""
    pattern: bytes = b""
    """The pattern of the whole token; empty for a known value."""
    back: int = 0
    """Distance from the beginning of the token to the needle."""
    opening: bytes = b""
    """How the token begins, if the distance is not fixed."""
    replacement: bytes = b""
    alone: bool = False
    """A short value, which is redacted only as a whole word."""


class RedactedByteStream:
    """Redacts one stream of output. The end of a piece is held back if a secret may begin there."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        values = [
            (value.encode("utf-8", "surrogateescape"), replacement.encode()) for value, replacement in redactor.values
        ]
        alone = frozenset(value.encode("utf-8", "surrogateescape") for value, _ in redactor.values if len(value) < LONG)
        known = (
            Needle(value, _rarest(value), replacement=replacement, alone=value in alone)
            for value, replacement in values
        )
        self._needles = (*known, *_tokens())
        self._rare = frozenset(needle.rarest for needle in self._needles)
        self._values = tuple(value for value, _ in values)
        self._alone = alone
        self._held = b""
        self._last = b""

    def feed(self, data: bytes) -> bytes:
        """Return what can be passed on now; the same object if there is nothing to redact or hold back."""
        if self._held:
            data = self._held + data
        rare = [letter for letter in self._rare if letter in data]
        position = self._find_open_secret(data, rare)
        if position == len(data) or len(data) - position > LONGEST_HELD:
            self._held = b""
            return self._redact(data, rare)
        self._held = data[position:]
        return self._redact(data[:position], rare)

    def flush(self) -> bytes:
        """Return what is still held back, at the end of the stream."""
        data, self._held = self._held, b""
        return self._redact(data, self._rare)

    def _find_open_secret(self, data: bytes, rare: Collection[bytes]) -> int:
        """Return where in `data` a possible secret begins that is not complete; its length if nowhere."""
        near = data[-NEAR:]
        run = max(map(near.rfind, _BREAKS)) + 1
        if run <= len(_BEARER) and len(data) > NEAR:  # a long one, without a break
            near = data[-LONGEST_HELD:]
            run = max(map(near.rfind, _BREAKS)) + 1
        openers = _OPENERS if len(near) == NEAR else [one for one in _OPENERS if _rarest(one) in near]
        found = [_find(near, opener, run) for opener in openers]
        if run >= len(_BEARER) and near[run - len(_BEARER) : run].lower() == _BEARER:
            found.append(run - len(_BEARER))
        position = len(data) - len(near) + min((one for one in found if one >= 0), default=len(near))
        end = near[-24:].decode("latin-1")  # one letter a byte
        position = min(position, len(data) - len(end) + find_open_escape(end))
        if (_rarest(_KEY) in rare and _find(data, _KEY, 0) >= 0) or b"-----BEGIN " in near[-70:]:
            position = min(position, _find_open_key(data))
        for size in range(min(_LONGEST, len(data)), len(data) - position, -1):
            if data[-size:] in _PARTS:
                position = len(data) - size
                break
        for value in self._values:
            position = min(position, _find_partial_value(value, data, whole=value in self._alone))
        return move_before_values(self._values, data, position) if position < len(data) else position

    def _redact(self, data: bytes, rare: Collection[bytes]) -> bytes:
        if not data:
            return data
        before, self._last = self._last, _last(self._last + data[-32:])
        if not self._find_spans(data, rare):
            return data
        data = before + data  # the start of a word depends on the letter before it
        for _ in range(ROUNDS):
            found = self._find_spans(data, self._rare)
            if not found:
                break
            data = self._replace_spans(data, found)
        return data[len(before) :]

    def _find_spans(self, data: bytes, rare: Collection[bytes]) -> list[Span]:
        return [span for needle in self._needles if needle.rarest in rare for span in _spans(needle, data)]

    def _replace_spans(self, data: bytes, found: list[Span]) -> bytes:
        pieces: list[bytes] = []
        end = 0
        for start, stop, replacement in sorted(found, key=lambda span: (span[0], -span[1])):
            if start >= end:
                pieces += (data[end:start], replacement)
                self._redactor.placeholders.add(replacement.decode())
            end = max(end, stop)
        return b"".join((*pieces, data[end:]))


def _find_open_key(data: bytes) -> int:
    """Return where an unfinished private key begins, or the length of `data`."""
    window = data[-LONGEST_HELD:].decode("latin-1")  # one letter a byte, whatever the bytes mean
    position = find_open_key(window)
    return len(data) - len(window) + position if position >= 0 else len(data)


def _last(data: bytes) -> bytes:
    """Return the last whole letter: whether a word begins after it depends on it."""
    return last_letter(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _find_partial_value(value: bytes, data: bytes, *, whole: bool) -> int:
    """Return where `data` ends with a prefix of `value` (with `whole`, also with all of it), or its length."""
    position = max(0, len(data) - min(len(value) - (not whole), LONGEST_HELD))
    while (position := data.find(value[:2], position)) >= 0:
        if value.startswith(data[position:]):
            return position
        position += 1
    return len(data) - data.endswith(value[:1])


def _spans(needle: Needle, data: bytes) -> Iterator[Span]:
    position = _find(data, needle.text, 0)
    while position >= 0:
        after = position + 1
        if not needle.pattern:
            if not needle.alone or _stands_alone(data, position, position + len(needle.text)):
                yield position, position + len(needle.text), needle.replacement
        else:
            start = position - needle.back
            if needle.opening:
                start = data.rfind(needle.opening, max(0, position - 60), position)
            match = _compiled(needle.pattern).match(data, start) if start >= 0 else None
            if match is not None:
                after = match.end()
                yield (match.end("kept") if "kept" in match.groupdict() else match.start()), after, needle.replacement
        position = _find(data, needle.text, after)


def _stands_alone(data: bytes, start: int, stop: int) -> bool:
    before = data[max(0, start - 32) : start].decode("utf-8", "surrogateescape")
    value = data[start:stop].decode("utf-8", "surrogateescape")
    after = data[stop : stop + 4].decode("utf-8", "surrogateescape")
    return stands_alone(before + value + after, len(before), len(before) + len(value))


def _find(data: bytes, text: bytes, start: int) -> int:
    size = len(data) - start
    if size < LARGE:
        return data.find(text, start)
    memory, search = _load_memmem()
    base = memory(data).value
    found = search(base + start, size, text, len(text))
    return found - base if found else -1


@cache
def _load_memmem() -> tuple[Any, Any]:
    """Return a function for an object's address, and `memmem` of the C library, three times as fast as `bytes.find`."""
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
                replacement = placeholder(shape.name).encode()
                found.append(
                    Needle(literal, _rarest(literal), pattern, shape.back, shape.opening.encode(), replacement)
                )
    return tuple(found)


@cache
def _rarest(text: bytes) -> bytes:
    return next((_RARE[at : at + 1] for at in range(len(_RARE)) if _RARE[at] in text), text[:1])


@cache
def _compiled(pattern: bytes) -> "re.Pattern[bytes]":
    return re.compile(pattern)
