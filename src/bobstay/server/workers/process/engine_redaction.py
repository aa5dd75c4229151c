"""Keeps secrets of the server out of what an engine says, stored or shown."""

from bobstay.engine.event_redaction import conceal
from bobstay.engine.live_redaction import LiveRedaction
from bobstay.model.event import BlockDone, Durable
from bobstay.model.live_events import Live
from bobstay.redaction.redactor import Redactor


class EngineRedaction:
    def __init__(self, mask: Redactor) -> None:
        self.mask = mask
        self._live = LiveRedaction(mask)

    def stored(self, event: Durable) -> Durable:
        if isinstance(event, BlockDone):
            self._live.rest(event)  # the whole block is shown from the log
        return conceal(event, self.mask)

    def shown(self, event: Live) -> Live | None:
        """What may be shown of a piece now; the end of one may wait for the next."""
        return self._live.shown(event)

    def over(self) -> None:
        """A turn is over: what still waits is in the log by now."""
        self._live.clear()
