"""Envelopes to lines of the log and back: strict in what is written, forgiving in what is read."""

from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.event import Envelope, Raw

START = b'{"seq":'
"""What every line begins with; by it a torn one is known as ours."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Envelope)


class Unstorable(ValueError):  # noqa: N818 - reads as what happened
    """The event has no JSON form."""


class BadLine(ValueError):  # noqa: N818 - reads as what happened
    """The line is no entry of a log; the text says why."""


def encode(envelope: Envelope) -> bytes:
    """Return `envelope` as one line, its newline included."""
    return to_json(envelope) + b"\n"


def to_json(value: Any) -> bytes:
    """Return `value` as JSON on one line.

    Text that is not valid Unicode (half a surrogate pair, from a file name or a model) and values foreign to JSON
    are replaced rather than refused: an event must not be lost for one bad character.

    Raises:
        Unstorable: even so it cannot be done.
    """
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, TypeError):
        pass
    except RecursionError:
        raise Unstorable("its data is nested too deeply") from None
    try:
        return _encoder.encode(_plain(msgspec.to_builtins(value, enc_hook=str)))
    except RecursionError:
        raise Unstorable("its data is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise Unstorable(str(error)) from None


def decode(line: bytes) -> Envelope:
    """Return the entry on `line`. An event of a kind or shape we do not know is kept as `Raw`.

    Raises:
        BadLine: there is no entry on it.
    """
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        return _decode_unknown(line)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadLine(str(error)) from None


class _Loose(Struct):
    """The least an entry must have to find its place: all else may be of any shape."""

    seq: int
    id: str
    event: dict[str, Any]
    parent: Any = ""
    at: Any = 0.0
    agent: Any = ""
    parent_call: Any = ""
    epoch: Any = 0


_loose_decoder = msgspec.json.Decoder(_Loose)


def _decode_unknown(line: bytes) -> Envelope:
    try:
        loose = _loose_decoder.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadLine(str(error)) from None
    return Envelope(
        loose.seq,
        loose.id,
        loose.parent if isinstance(loose.parent, str) else "",
        float(loose.at) if isinstance(loose.at, int | float) else 0.0,
        Raw(loose.event),
        loose.agent if isinstance(loose.agent, str) else "",
        loose.parent_call if isinstance(loose.parent_call, str) else "",
        loose.epoch if isinstance(loose.epoch, int) else 0,
    )


def renumbered(line: bytes, seq: int, parent: str) -> bytes:
    """Return `line` under another number and parent, all else as it was: fields of newer versions are kept."""
    fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    fields["seq"] = msgspec.Raw(_encoder.encode(seq))
    fields["parent"] = msgspec.Raw(_encoder.encode(parent))
    return _encoder.encode({"seq": fields.pop("seq"), **fields}) + b"\n"


def _plain(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case None | bool() | int() | float():
            return value
        case dict():
            return {_plain(str(key)): _plain(entry) for key, entry in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(entry) for entry in value]
        case _:
            return _plain(str(value))
