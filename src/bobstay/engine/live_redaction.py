"""Redacts live events: the end of a piece of text is held back while it may be the beginning of a secret."""

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
    """Redacts the live events of one session, fed in order."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._streams: dict[tuple[str, int], tuple[RedactedStream, Live]] = {}

    def redact(self, event: Live) -> Live | None:
        """Return what may be shown of an event now; None if all of it waits for the next piece."""
        match event:
            case TextDelta() | ThinkingDelta():
                text = self._feed(event.message_id, event.index, event.text, event)
                return _with_text(event, text) if text else None
            case InputDelta():
                text = self._feed(event.message_id, event.index, event.json, event)
                return _with_text(event, text) if text else None
            case ToolProgress():  # `ProgressChannel` has already held back what may begin a secret
                return _with_text(event, self._redactor.redact(event.text))
            case Retrying():
                error, reason = self._redactor.redact(event.error), self._redactor.redact(event.reason)
                same = error is event.error and reason is event.reason
                return event if same else replace(event, error=error, reason=reason)
            case Requesting() | MessageBegan() | BlockBegan():
                return event

    def flush(self, done: BlockDone) -> Live | None:
        """Return what was still held back of a block that is complete now."""
        held = self._streams.pop((done.message_id, done.index), None)
        if held is None:
            return None
        stream, last = held
        text = stream.flush()
        return _with_text(last, text) if text else None

    def clear(self) -> None:
        """Drop what is held back at the end of a turn: it is in the log by now."""
        self._streams.clear()

    def _feed(self, id: str, index: int, text: str, event: Live) -> str:
        held = self._streams.get((id, index))
        stream = held[0] if held else self._redactor.stream()
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
