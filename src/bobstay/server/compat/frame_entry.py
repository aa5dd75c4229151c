"""Frames of our streams, read again: the compatibility routes say the same in other words."""

from typing import Any

import msgspec
from msgspec import Struct

from bobstay.model.event import Durable, Raw
from bobstay.server.streams.stream_frames import Transition

Message = dict[str, Any]
"""What goes to a client of a compatibility route."""


class FrameEntry(Struct, frozen=True):
    """A frame. With a `seq` it is of a stored event, without one it is transient."""

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
    def words(self) -> Message:
        """The data of a transient frame."""
        return msgspec.json.decode(self.data, type=dict[str, Any])


_entry = msgspec.json.Decoder(FrameEntry)
_event: "msgspec.json.Decoder[Durable]" = msgspec.json.Decoder(Durable)


def read(frame: bytes) -> FrameEntry:
    return _entry.decode(frame)
