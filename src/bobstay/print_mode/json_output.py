"""JSON output of print mode: the result frame, or with `verbose` an array of all frames."""

from collections.abc import Iterable

from bobstay.assembly.session import AgentSession
from bobstay.model.agent_events import AgentStarted
from bobstay.model.event import Event, Noted
from bobstay.model.live_events import LIVE
from bobstay.print_mode.print_face import build_encoder, clear_frames
from bobstay.print_mode.text_output import show_note
from bobstay.wire.line_limit import encode_line
from bobstay.wire.stdio import FrameWriter
from bobstay.wire.wire_frames import Frame

MAX_FRAME = 64 * 1024 * 1024
"""Characters of one frame. The output is one document, so the 1 MiB line limit of hosts does not apply."""


class JsonFace:
    def __init__(self, session: AgentSession, output: FrameWriter, *, verbose: bool) -> None:
        self._encoder = build_encoder(session)
        self._output = output
        self._verbose = verbose
        self._frames: list[bytes] = []
        self._result: Frame | None = None

    def show(self, event: Event) -> None:
        if isinstance(event, LIVE):
            return
        if isinstance(event, Noted) and event.level != "info" and not self._verbose:
            show_note(event)
        self._collect(self._encoder.frames(event))

    def show_agent(self, started: AgentStarted, event: Event) -> None:
        if not isinstance(event, LIVE):
            self._collect(self._encoder.background.of_agent(started.id, event))

    def _collect(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            if self._verbose:
                self._frames.append(encode_line(frame, MAX_FRAME))
            elif frame["type"] == "result":
                self._result = frame

    def end_session(self, session: AgentSession, prompt: str) -> None:
        self._collect(clear_frames(session, prompt))

    def begin_session(self, session: AgentSession) -> None:
        self._encoder = build_encoder(session, results=self._encoder.results)

    def finish(self) -> None:
        if self._verbose:
            self._output.write(b"[" + b",".join(self._frames) + b"]\n")
        elif self._result is not None:
            self._output.write(encode_line(self._result, MAX_FRAME) + b"\n")
