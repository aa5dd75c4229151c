"""Message encoding with a cache: a step of a long session encodes only the new messages."""

from collections.abc import Callable
from typing import Any

import msgspec

from bobstay.model.message import Message


class EncodingCache:
    """The encoded messages of a turn's last request, by identity: messages are frozen, and the history keeps them.

    It belongs to the turn, so that a session waiting for its next prompt keeps no second copy of its history.
    """

    __slots__ = ("__weakref__", "encoder", "known")

    def __init__(self) -> None:
        self.encoder: MessageEncoder | None = None
        # The message is kept too: otherwise its id could be reused for another one.
        self.known: dict[int, tuple[Message, bytes]] = {}


class MessageEncoder:
    """Encodes messages, reusing the bytes in the turn's cache."""

    def __init__(self, encode: Callable[[Message], bytes]) -> None:
        self._encode = encode

    def encode_all(self, messages: tuple[Message, ...], cache: EncodingCache) -> list[bytes]:
        before = cache.known if cache.encoder is self else {}
        now: dict[int, tuple[Message, bytes]] = {}
        encoded: list[bytes] = []
        for message in messages:
            entry = before.get(id(message)) or (message, self._encode(message))
            now[id(message)] = entry
            encoded.append(entry[1])
        cache.encoder, cache.known = self, now
        return encoded


class CachedEncoder:
    """The same for a part of the request that rarely changes, such as the tools."""

    def __init__(self, encode: Callable[[Any], bytes]) -> None:
        self._encode = encode
        self._value: Any = None
        self._data = b""

    def encode(self, value: Any) -> bytes:
        if value is not self._value and value != self._value:
            self._data = self._encode(value)
        self._value = value
        return self._data


def to_json(value: Any) -> bytes:
    """Encode to JSON; invalid Unicode, as in some file names, is replaced rather than refused."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_repair_text(value))


def from_json(data: bytes) -> Any:
    """Decode JSON; invalid UTF-8 is replaced rather than refused.

    Raises:
        ValueError: The data is not JSON, or nested too deeply.
    """
    try:
        return msgspec.json.decode(data)
    except UnicodeDecodeError:
        return msgspec.json.decode(data.decode("utf-8", "replace").encode())
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


def _repair_text(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_repair_text(key): _repair_text(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_repair_text(inner) for inner in value]
    return value
