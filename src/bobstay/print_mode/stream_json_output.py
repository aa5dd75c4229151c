"""Stream-json output of print mode: one frame per line, as it happens."""

from bobstay.assembly.session import AgentSession
from bobstay.model.agent_events import AgentStarted
from bobstay.model.event import Event
from bobstay.print_mode.print_face import CommandList, build_encoder, clear_frames
from bobstay.wire.stdio import FrameWriter


class StreamFace:
    def __init__(self, session: AgentSession, output: FrameWriter, *, partial: bool) -> None:
        self._partial = partial
        self._encoder = build_encoder(session, partial=partial)
        self._commands = CommandList(session)
        self._output = output

    def show(self, event: Event) -> None:
        for frame in (*self._encoder.frames(event), *self._commands.changes(event)):
            self._output.send(frame)

    def show_agent(self, started: AgentStarted, event: Event) -> None:
        for frame in self._encoder.background.of_agent(started.id, event):
            self._output.send(frame)

    def end_session(self, session: AgentSession, prompt: str) -> None:
        for frame in clear_frames(session, prompt):
            self._output.send(frame)

    def begin_session(self, session: AgentSession) -> None:
        self._encoder = build_encoder(session, partial=self._partial, results=self._encoder.results)
        self._commands = CommandList(session)

    def finish(self) -> None:
        """Nothing is buffered."""
