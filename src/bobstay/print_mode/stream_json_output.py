"""Stream-json output of print mode: one frame per line, as it happens."""

from bobstay.model.agent_events import AgentStarted
from bobstay.model.event import Event
from bobstay.wire.event_encoder import EventEncoder
from bobstay.wire.stdio import FrameWriter


class StreamFace:
    def __init__(self, encoder: EventEncoder, output: FrameWriter) -> None:
        self._encoder = encoder
        self._output = output

    def show(self, event: Event) -> None:
        for frame in self._encoder.frames(event):
            self._output.send(frame)

    def show_agent(self, started: AgentStarted, event: Event) -> None:
        for frame in self._encoder.background.of_agent(started.id, event):
            self._output.send(frame)

    def finish(self) -> None:
        """Nothing is buffered."""
