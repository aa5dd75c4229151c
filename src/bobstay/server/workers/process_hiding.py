"""Keeps secrets of the server out of what an engine says, stored or shown."""

from msgspec.structs import replace

from bobstay.engine.conceal import conceal
from bobstay.kit.secrets import Mask, Stream
from bobstay.model.event import BlockDone, Durable, Raw, ToolDone
from bobstay.model.live import InputDelta, Live, TextDelta, ThinkingDelta


class Hiding:
    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self._streams: dict[tuple[str, int], Stream] = {}

    def stored(self, event: Durable) -> Durable:
        if isinstance(event, BlockDone):
            self._streams.pop((event.message_id, event.index), None)
        hidden = conceal(event, self.mask)
        if isinstance(hidden, ToolDone):
            return replace(hidden, reply=self.mask.value(hidden.reply))
        return Raw(self.mask.value(hidden.data)) if isinstance(hidden, Raw) else hidden

    def shown(self, event: Live) -> Live | None:
        """What may be shown of a piece now; the end of one may wait for the next."""
        match event:
            case TextDelta(text=words) | ThinkingDelta(text=words):
                words = self._fed(event.message_id, event.index, words)
                return replace(event, text=words) if words else None
            case InputDelta(json=words):
                words = self._fed(event.message_id, event.index, words)
                return replace(event, json=words) if words else None
            case _:
                return event

    def over(self) -> None:
        """A turn is over: what still waits is in the log by now."""
        self._streams.clear()

    def _fed(self, message_id: str, index: int, words: str) -> str:
        key = (message_id, index)
        if key not in self._streams:
            self._streams[key] = self.mask.stream()
        return self._streams[key].feed(words)
