"""Writes into the log what an engine process says, and keeps the turns: each begins once and ends once."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from bobstay.model.event import (
    BlockDone,
    Durable,
    Ending,
    InputQueued,
    InteractionClosed,
    InteractionOpened,
    Noted,
    Prompted,
    Raw,
    RunDone,
    ToolDone,
    TurnStarted,
)
from bobstay.model.ids import is_uuid, new_id
from bobstay.model.live_events import LIVE, MessageBegan
from bobstay.model.session_events import ArtifactMade
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.sessions.session_status import GOOD
from bobstay.server.workers.process.engine_redaction import EngineRedaction
from bobstay.server.workers.process.line_splitter import LineSplitter, TooLong, frame_of
from bobstay.server.workers.process.message_tracker import TrackedEvent
from bobstay.server.workers.process.normaliser import CONTROL, Normaliser, unreadable
from bobstay.server.workers.process.resume_point import ResumePoint
from bobstay.server.workers.process.whole_output import WholeOutput
from bobstay.server.workflows import MODES
from bobstay.sessions.log import LogError
from bobstay.system.capture import HeadAndTail

log = logging.getLogger(__name__)
LASTING = (Prompted, TurnStarted, InteractionOpened, InteractionClosed, RunDone)
"""What must survive a power cut before anything follows from it."""
KEPT = 8_192
"""Bytes kept of each end of what a process says on its error output."""
SHOWN = 4_000


class RecorderCallbacks(Struct, frozen=True):
    """Who is told of what is not for the log."""

    control: Callable[[dict[str, Any]], None]
    """A frame of the control protocol."""
    known: Callable[[str], None]
    """The engine's own id of the talk."""
    spoke: Callable[[], None]
    """The first frame of a process came."""
    introduced: Callable[[dict[str, Any]], None]
    """The engine says what it is, before each turn."""
    turn_over: Callable[[], None]
    """A turn is about to end."""
    broken: Callable[[LogError], None]
    """Nothing can be stored any more."""


class EventRecorder:
    def __init__(
        self, session: OpenSession, hiding: EngineRedaction, past: ResumePoint, ears: RecorderCallbacks
    ) -> None:
        view = session.view
        self.normaliser = Normaliser(view.model, view.permission_mode, view.cost if past.talk().resume else 0.0)
        self.in_turn = False
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when no turn runs."""
        self.over.set_result(None)
        self.malformed = 0
        self.mute = False
        """A process was started that has not said a frame yet."""
        self.failed = False
        """The last turn ended with an error, as the engine said itself."""
        self._session = session
        self._hiding = hiding
        self._ids = past.ids
        self._ears = ears
        self._known = past.engine_session
        self._heard = False
        """The engine has said something in this turn."""
        form = view.config.output_format
        self._lines = LineSplitter() if view.config.live or form == "stream-json" else WholeOutput(form)
        self._errors = HeadAndTail(KEPT, KEPT)

    # ------------------------------------------------------------ what comes in

    def receive(self, number: int, data: bytes) -> None:
        """Bytes of the process: 1 for its output, 2 for its error output."""
        if number == 1:
            for line in self._lines.feed(data):
                self._line(line)
        else:
            self._errors.add(data)

    def begins(self, talk: str) -> None:
        """A process was started that goes on with this talk, or begins it."""
        if isinstance(self._lines, WholeOutput):
            self._lines.talk = talk

    def rest(self, code: int) -> None:
        """The process has ended: a last line may lack its newline."""
        for line in self._lines.rest(code):
            self._line(line)

    def note_once(self, text: str) -> None:
        """Tell the person something, unless the session's log says it already."""
        if text and not any(entry.event == Noted(text, "warning") for entry in self._session.read()):
            self.store(Noted(text, "warning"))

    def errors(self) -> str:
        """What it said on its error output, as far as kept."""
        return self._hiding.mask.text(self._errors.text(SHOWN)).strip()

    def _line(self, line: bytes | TooLong) -> None:
        try:
            self._read(line)
        except LogError as error:
            self._ears.broken(error)

    def _read(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            self.malformed += 1
            text = f"The engine wrote a line of {line.size:,} bytes, which is too long: it is left out."
            self.store(Noted(text, "error"))
            return
        frame = frame_of(line)
        if frame is not None and self.mute:
            self._ears.spoke()
        if frame is None:
            self.malformed += 1
            self._said(unreadable(line))
        elif frame.get("type") in CONTROL:
            self._ears.control(frame)
        else:
            self._heard = True
            for said in self.normaliser.feed(frame):
                self._said(said, frame)
            if frame.get("subtype") == "init":
                self._ears.introduced(frame)
            if self.normaliser.engine_session not in ("", self._known):
                self._known = self.normaliser.engine_session
                self._ears.known(self._known)

    def _said(self, said: TrackedEvent, frame: dict[str, Any] | None = None) -> None:
        event = said.event
        if isinstance(event, RunDone):
            self._ended(event, frame or {})
            return
        if not said.parent_call and not self.in_turn and isinstance(event, BlockDone | MessageBegan | ToolDone):
            self._begun()  # by itself: work in the background has ended, or a prompt that waited in the engine
        if isinstance(event, LIVE):
            shown = self._hiding.shown(event)
            if shown is not None:
                self._session.show(shown)
            return
        self.store(event, said.parent_call, said.agent, said.id)

    # ------------------------------------------------------------ turns

    def begin(self, queued: InputQueued) -> None:
        """A person's words are about to be sent, and a turn begins with them."""
        self.store(Prompted(queued.id, queued.blocks, client_id=queued.client_id))
        self._begun()

    def steer(self, queued: InputQueued) -> None:
        """The same within a turn."""
        self.store(Prompted(queued.id, queued.blocks, client_id=queued.client_id))

    def end(self, code: int, words: str, *, asked: bool) -> None:
        """The process has ended, with this exit code; `asked` if somebody wanted that (S000-19..21)."""
        if not self.in_turn and (asked or not code) and (late := self.errors()):
            self._note_errors(late)  # it came after the result: no turn will tell it, nor the way it ended
        if asked or self.normaliser.interrupting:
            self.cut_off("interrupted_tools" if self.normaliser.open_calls else "interrupted_streaming", "")
        elif code:
            self.cut_off("failed", words)
        elif not self._heard:
            self.cut_off("failed", "The engine ended before it took up the prompt. Send it again.")
        else:
            self.cut_off("completed", "")

    def cut_off(self, ending: Ending, words: str) -> None:
        """The process is gone. A turn that runs is over, with nothing left open; one that is over stays as it was."""
        if not self.in_turn:
            return
        try:
            for said in self.normaliser.settle():
                self._said(said)
            self._finish(RunDone(ending, words))
        finally:
            self._released()

    def _begun(self) -> None:
        view = self._session.view
        self.in_turn = True
        self.failed = self._heard = False
        self.over = asyncio.get_running_loop().create_future()
        self.store(TurnStarted(view.turns + 1, view.model, view.permission_mode))

    def _ended(self, done: RunDone, frame: dict[str, Any]) -> None:
        self.failed = done.ending not in GOOD
        if self.in_turn:
            self._finish(done)
        else:
            self.store(Raw(frame))  # nobody asked: kept, but it ends nothing

    def _finish(self, done: RunDone) -> None:
        """The one place where a turn ends (FM-11)."""
        try:
            self._ears.turn_over()
            if (words := self.errors()) and words not in done.text:
                self._note_errors(words)
            self.store(done)
            kept = self._hiding.stored(done)
            if isinstance(kept, RunDone):
                self._leave(kept)  # made from what may be kept: a title is cut, and half a secret is not known again
        finally:
            self._released()

    def _note_errors(self, words: str) -> None:
        self.store(Noted(f"The engine said on its error output:\n{words}", "warning"))
        self._errors = HeadAndTail(KEPT, KEPT)

    def _released(self) -> None:
        """Nobody waits for this turn any longer, even if its end could not be stored."""
        self._errors = HeadAndTail(KEPT, KEPT)
        self.in_turn = False
        self.normaliser.interrupting = False
        self._hiding.over()
        if not self.over.done():
            self.over.set_result(None)

    def _leave(self, done: RunDone) -> None:
        """What the workflow's mode leaves for the next one."""
        kind = MODES[self._session.view.config.workflow].leaves
        if done.ending == "completed" and kind and done.text.strip():
            title = done.text.strip().splitlines()[0].lstrip("# ")[:200]
            self.store(ArtifactMade(new_id(), kind, title, done.text))

    # ------------------------------------------------------------ the log

    def store(self, event: Durable, parent_call: str = "", agent: str = "", id: str = "") -> None:
        """Put an event into the log.

        Raises:
            LogError: nothing can be stored any more.
        """
        own = id if is_uuid(id) and id not in self._ids else None
        try:
            self._session.append(
                self._hiding.stored(event),
                sync=isinstance(event, LASTING),
                id=own,
                agent=agent,
                parent_call=parent_call,
            )
        except LogError as error:
            if error.errno is not None:
                raise
            self._session.append(Noted(f"Something the engine said cannot be kept: {error}", "error"))
        if own is not None:
            self._ids.add(own)
