"""Turns messages into JSON once: a step of a long session encodes what is new and joins the rest."""

from collections.abc import Callable
from typing import Any

import msgspec

from bobstay.model.message import Message


class EncodingCache:
    """The bytes of the messages of a turn's last request, by identity: messages are frozen, and a history keeps them.

    It belongs to the turn: a session that waits for its next prompt keeps no second copy of its history.
    """

    __slots__ = ("__weakref__", "encoder", "known")

    def __init__(self) -> None:
        self.encoder: EncodedMessages | None = None
        # The message is held too: its id could otherwise come to mean another one.
        self.known: dict[int, tuple[Message, bytes]] = {}


class EncodedMessages:
    """One way to encode messages, which takes the bytes of those that the last request held from the turn's cache."""

    def __init__(self, encode: Callable[[Message], bytes]) -> None:
        self._encode = encode

    def all(self, messages: tuple[Message, ...], cache: EncodingCache) -> list[bytes]:
        before = cache.known if cache.encoder is self else {}
        now: dict[int, tuple[Message, bytes]] = {}
        encoded: list[bytes] = []
        for message in messages:
            entry = before.get(id(message)) or (message, self._encode(message))
            now[id(message)] = entry
            encoded.append(entry[1])
        cache.encoder, cache.known = self, now
        return encoded


class EncodedOnce:
    """The same for a part of the request that is one object and seldom changes, such as the tools."""

    def __init__(self, encode: Callable[[Any], bytes]) -> None:
        self._encode = encode
        self._value: Any = None
        self._data = b""

    def of(self, value: Any) -> bytes:
        if value is not self._value and value != self._value:
            self._data = self._encode(value)
        self._value = value
        return self._data


def to_json(value: Any) -> bytes:
    """Encode; text that is no proper Unicode (a file name, say) is mended rather than refused."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_mended(value))


def from_json(data: bytes) -> Any:
    """Decode; bytes that are no proper UTF-8 are mended rather than refused.

    Raises:
        ValueError: It is not JSON, or nested beyond reason.
    """
    try:
        return msgspec.json.decode(data)
    except UnicodeDecodeError:
        return msgspec.json.decode(data.decode("utf-8", "replace").encode())
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_mended(key): _mended(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(inner) for inner in value]
    return value
