"""Takes secrets out of what is shown while it happens: pieces of text whose ends may wait for the next piece."""

from msgspec.structs import replace

from bobstay.model.event import BlockDone
from bobstay.model.live_events import (
    BlockBegan,
    InputDelta,
    Live,
    MessageBegan,
    Requesting,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
)
from bobstay.redaction.redactor import RedactedStream, Redactor


class LiveRedaction:
    """The live events of one session, in their order."""

    def __init__(self, mask: Redactor) -> None:
        self._mask = mask
        self._streams: dict[tuple[str, int], tuple[RedactedStream, Live]] = {}

    def shown(self, event: Live) -> Live | None:
        """What may be shown of an event now; None if all of it waits for the next piece."""
        match event:
            case TextDelta() | ThinkingDelta():
                text = self._fed(event.message_id, event.index, event.text, event)
                return _with_text(event, text) if text else None
            case InputDelta():
                text = self._fed(event.message_id, event.index, event.json, event)
                return _with_text(event, text) if text else None
            case ToolProgress():  # comes from a `Channel`, which has held back what a piece may begin
                return _with_text(event, self._mask.text(event.text))
            case Retrying():
                error, reason = self._mask.text(event.error), self._mask.text(event.reason)
                same = error is event.error and reason is event.reason
                return event if same else replace(event, error=error, reason=reason)
            case Requesting() | MessageBegan() | BlockBegan():
                return event

    def rest(self, done: BlockDone) -> Live | None:
        """What still waited of a block that is complete now."""
        held = self._streams.pop((done.message_id, done.index), None)
        if held is None:
            return None
        stream, last = held
        text = stream.flush()
        return _with_text(last, text) if text else None

    def clear(self) -> None:
        """A turn is over: what still waits is in the log by now."""
        self._streams.clear()

    def _fed(self, id: str, index: int, text: str, event: Live) -> str:
        held = self._streams.get((id, index))
        stream = held[0] if held else self._mask.stream()
        self._streams[id, index] = (stream, event)
        return stream.feed(text)


def _with_text(event: Live, text: str) -> Live:
    match event:
        case TextDelta() | ThinkingDelta() | ToolProgress():
            return event if text == event.text else replace(event, text=text)
        case InputDelta():
            return event if text == event.json else replace(event, json=text)
        case Requesting() | MessageBegan() | BlockBegan() | Retrying():
            return event
