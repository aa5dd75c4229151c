"""Decodes frames of the streams for translation by the compatibility routes."""

from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.event import Durable, Raw
from bobstay.server.streams.stream_frames import Transition

Message = dict[str, Any]
"""A message to a client of a compatibility route."""


class FrameEntry(Struct, frozen=True):
    """A frame: of a stored event if it has a `seq`, else transient."""

    type: str
    data: msgspec.Raw
    session_id: str = ""
    seq: int = 0
    id: str = ""
    ts: str = ""
    parent_call: str = ""
    agent: str = ""
    status: Transition | None = None
    threshold: str = ""

    @property
    def event(self) -> Durable:
        try:
            return _event.decode(self.data)
        except msgspec.ValidationError:
            return Raw(msgspec.json.decode(self.data, type=dict[str, Any]))

    @property
    def payload(self) -> Message:
        """The data of a transient frame."""
        return msgspec.json.decode(self.data, type=dict[str, Any])


_entry = msgspec.json.Decoder(FrameEntry)
_event: "msgspec.json.Decoder[Durable]" = msgspec.json.Decoder(Durable)


def decode_frame(frame: bytes) -> FrameEntry:
    return _entry.decode(frame)
