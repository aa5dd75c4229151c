"""Redacts secrets of the server in the events of an engine, stored or live."""

from bobstay.engine.event_redaction import redact_event
from bobstay.engine.live_redaction import LiveRedaction
from bobstay.model.event import BlockDone, Durable
from bobstay.model.live_events import Live
from bobstay.redaction.redactor import Redactor


class EngineRedaction:
    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._live = LiveRedaction(redactor)

    def stored(self, event: Durable) -> Durable:
        if isinstance(event, BlockDone):
            self._live.flush(event)  # the complete block is shown from the log
        return redact_event(event, self.redactor)

    def shown(self, event: Live) -> Live | None:
        """The redacted live event; the end of a piece may be held back until the next one."""
        return self._live.redact(event)

    def over(self) -> None:
        """A turn has ended: held back pieces are in the log by now."""
        self._live.clear()
