"""Log codec: encodes envelopes to log lines strictly, and decodes lines leniently."""

from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.event import Envelope, Raw

LINE_START = b'{"seq":'
"""The start of every line; it identifies an incomplete line as a log entry."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Envelope)


class Unstorable(ValueError):  # noqa: N818 - the name says what happened
    """The event cannot be encoded as JSON."""


class BadLine(ValueError):  # noqa: N818 - the name says what happened
    """The line is not a log entry; the text says why."""


def encode(envelope: Envelope) -> bytes:
    """Return `envelope` as one line, including its newline."""
    return to_json(envelope) + b"\n"


def to_json(value: Any) -> bytes:
    """Return `value` as JSON on one line.

    Invalid Unicode (a lone surrogate from a file name or a model) and values without a JSON form are replaced rather
    than refused: an event must not be lost because of one bad character.

    Raises:
        Unstorable: the value still cannot be encoded.
    """
    try:
        return _encoder.encode(value)
    except (UnicodeEncodeError, TypeError):
        pass
    except RecursionError:
        raise Unstorable("its data is nested too deeply") from None
    try:
        return _encoder.encode(_to_plain(msgspec.to_builtins(value, enc_hook=str)))
    except RecursionError:
        raise Unstorable("its data is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise Unstorable(str(error)) from None


def decode(line: bytes) -> Envelope:
    """Return the entry on `line`. An event of an unknown kind or shape is kept as `Raw`.

    Raises:
        BadLine: the line is not an entry.
    """
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        return _decode_unknown(line)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise BadLine(str(error)) from None


class _LooseEnvelope(Struct):
    """The minimum of a valid entry; all other fields may have any shape."""

    seq: int
    id: str
    event: dict[str, Any]
    parent: Any = ""
    at: Any = 0.0
    agent: Any = ""
    parent_call: Any = ""
    epoch: Any = 0


_loose_decoder = msgspec.json.Decoder(_LooseEnvelope)


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


def renumber(line: bytes, seq: int, parent: str) -> bytes:
    """Return `line` with another sequence number and parent; all other fields, even unknown ones, are kept."""
    fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    fields["seq"] = msgspec.Raw(_encoder.encode(seq))
    fields["parent"] = msgspec.Raw(_encoder.encode(parent))
    return _encoder.encode({"seq": fields.pop("seq"), **fields}) + b"\n"


def _to_plain(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case None | bool() | int() | float():
            return value
        case dict():
            return {_to_plain(str(key)): _to_plain(entry) for key, entry in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_to_plain(entry) for entry in value]
        case _:
            return _to_plain(str(value))
