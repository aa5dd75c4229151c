"""Event recorder: stores the output of an engine process in the log, and begins and ends each turn exactly once."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from bobstay.engine.reminders import MESSAGE
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
from bobstay.server.workers.process.line_splitter import LineSplitter, TooLong, parse_frame
from bobstay.server.workers.process.message_tracker import TrackedEvent
from bobstay.server.workers.process.normaliser import CONTROL, Normaliser, unreadable_line
from bobstay.server.workers.process.resume_point import ResumePoint
from bobstay.server.workers.process.whole_output import WholeOutput
from bobstay.server.workflows import MODES
from bobstay.sessions.log import LogError
from bobstay.system.capture import HeadAndTail

log = logging.getLogger(__name__)
LASTING = (Prompted, TurnStarted, InteractionOpened, InteractionClosed, RunDone)
"""Events that must be on disk before anything follows from them."""
KEPT = 8_192
"""Bytes kept of the beginning and of the end of a process's error output."""
SHOWN = 4_000


class RecorderCallbacks(Struct, frozen=True):
    """Callbacks to the worker."""

    control: Callable[[dict[str, Any]], None]
    """A frame of the control protocol."""
    known: Callable[[str], None]
    """The engine's own id of the conversation is known."""
    spoke: Callable[[], None]
    """The first frame of a process arrived."""
    introduced: Callable[[dict[str, Any]], None]
    """An `init` frame arrived, as before each turn."""
    turn_over: Callable[[], None]
    """A turn is about to end."""
    broken: Callable[[LogError], None]
    """The log cannot be written any more."""


class EventRecorder:
    def __init__(
        self, session: OpenSession, redaction: EngineRedaction, past: ResumePoint, callbacks: RecorderCallbacks
    ) -> None:
        view = session.view
        self.normaliser = Normaliser(view.model, view.permission_mode, view.cost if past.conversation().resume else 0.0)
        self.in_turn = False
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when no turn runs."""
        self.over.set_result(None)
        self.malformed = 0
        self.mute = False
        """A process was started that has not sent a frame yet."""
        self.failed = False
        """The last turn ended with an error that the engine reported."""
        self._session = session
        self._redaction = redaction
        self._ids = past.ids
        self._callbacks = callbacks
        self._known = past.engine_session
        self._has_output = False
        """The engine has sent something in this turn."""
        form = view.config.output_format
        self._lines = LineSplitter() if view.config.live or form == "stream-json" else WholeOutput(form)
        self._errors = HeadAndTail(KEPT, KEPT)

    # ------------------------------------------------------------ input

    def receive(self, number: int, data: bytes) -> None:
        """Bytes of the process: 1 for its output, 2 for its error output."""
        if number == 1:
            for line in self._lines.feed(data):
                self._line(line)
        else:
            self._errors.add(data)

    def start_conversation(self, conversation: str) -> None:
        """A process was started that resumes or begins this conversation."""
        if isinstance(self._lines, WholeOutput):
            self._lines.conversation = conversation

    def rest(self, code: int) -> None:
        """The process has ended: a last line may lack its newline."""
        for line in self._lines.rest(code):
            self._line(line)

    def note_once(self, text: str) -> None:
        """Record a warning, unless the session's log has it already."""
        if text and not any(entry.event == Noted(text, "warning") for entry in self._session.read()):
            self.store(Noted(text, "warning"))

    def errors(self) -> str:
        """The error output, as far as kept."""
        return self._redaction.redactor.redact(self._errors.text(SHOWN)).strip()

    def _line(self, line: bytes | TooLong) -> None:
        try:
            self._read(line)
        except LogError as error:
            self._callbacks.broken(error)

    def _read(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            self.malformed += 1
            text = f"The engine wrote a line of {line.size:,} bytes, which is too long: it is ignored."
            self.store(Noted(text, "error"))
            return
        frame = parse_frame(line)
        if frame is not None and self.mute:
            self._callbacks.spoke()
        if frame is None:
            self.malformed += 1
            self._handle_event(unreadable_line(line))
        elif frame.get("type") in CONTROL:
            self._callbacks.control(frame)
        else:
            self._has_output = True
            for tracked in self.normaliser.feed(frame):
                self._handle_event(tracked, frame)
            if frame.get("subtype") == "init":
                self._callbacks.introduced(frame)
            if self.normaliser.engine_session not in ("", self._known):
                self._known = self.normaliser.engine_session
                self._callbacks.known(self._known)

    def _handle_event(self, tracked: TrackedEvent, frame: dict[str, Any] | None = None) -> None:
        event = tracked.event
        if isinstance(event, RunDone):
            self._end_turn(event, frame or {})
            return
        if not tracked.parent_call and not self.in_turn and isinstance(event, BlockDone | MessageBegan | ToolDone):
            self._begin_turn()  # started by the engine: background work has ended, or a prompt was queued in it
        if isinstance(event, LIVE):
            shown = self._redaction.shown(event)
            if shown is not None:
                self._session.show(shown)
            return
        self.store(event, tracked.parent_call, tracked.agent, tracked.id)

    # ------------------------------------------------------------ turns

    def begin(self, queued: InputQueued) -> None:
        """Begin a turn with a prompt that is about to be sent."""
        self.store(_prompted(queued))
        self._begin_turn()

    def steer(self, queued: InputQueued) -> None:
        """Record a prompt that is sent within a turn."""
        self.store(_prompted(queued))

    def end(self, code: int, message: str, *, asked: bool) -> None:
        """The process has ended with this exit code; `asked` if that was requested."""
        if not self.in_turn and (asked or not code) and (late := self.errors()):
            self._note_errors(late)  # it came after the result, so no turn will record it
        if asked or self.normaliser.interrupting:
            self.cut_off("interrupted_tools" if self.normaliser.open_calls else "interrupted_streaming", "")
        elif code:
            self.cut_off("failed", message)
        elif not self._has_output:
            self.cut_off("failed", "The engine ended before it started on the prompt. Send it again.")
        else:
            self.cut_off("completed", "")

    def cut_off(self, ending: Ending, message: str) -> None:
        """The process has ended: end a running turn with nothing left open; a finished turn stays as it is."""
        if not self.in_turn:
            return
        try:
            for tracked in self.normaliser.close_turn():
                self._handle_event(tracked)
            self._finish(RunDone(ending, message))
        finally:
            self._release_turn()

    def _begin_turn(self) -> None:
        view = self._session.view
        self.in_turn = True
        self.failed = self._has_output = False
        self.over = asyncio.get_running_loop().create_future()
        self.store(TurnStarted(view.turns + 1, view.model, view.permission_mode))

    def _end_turn(self, done: RunDone, frame: dict[str, Any]) -> None:
        self.failed = done.ending not in GOOD
        if self.in_turn:
            self._finish(done)
        else:
            self.store(Raw(frame))  # no turn runs: kept, but it ends nothing

    def _finish(self, done: RunDone) -> None:
        """End a turn; the only place that does."""
        try:
            self._callbacks.turn_over()
            if (errors := self.errors()) and errors not in done.text:
                self._note_errors(errors)
            self.store(done)
            kept = self._redaction.stored(done)
            if isinstance(kept, RunDone):
                self._save_artifact(
                    kept
                )  # from the redacted text: a secret that is cut in a title could not be recognised
        finally:
            self._release_turn()

    def _note_errors(self, errors: str) -> None:
        self.store(Noted(f"Error output of the engine:\n{errors}", "warning"))
        self._errors = HeadAndTail(KEPT, KEPT)

    def _release_turn(self) -> None:
        """Release waiters of this turn, even if its end could not be stored."""
        self._errors = HeadAndTail(KEPT, KEPT)
        self.in_turn = False
        self.normaliser.interrupting = False
        self._redaction.over()
        if not self.over.done():
            self.over.set_result(None)

    def _save_artifact(self, done: RunDone) -> None:
        """Record the artifact of the workflow mode for the next one."""
        kind = MODES[self._session.view.config.workflow].leaves
        if done.ending == "completed" and kind and done.text.strip():
            title = done.text.strip().splitlines()[0].lstrip("# ")[:200]
            self.store(ArtifactMade(new_id(), kind, title, done.text))

    # ------------------------------------------------------------ the log

    def store(self, event: Durable, parent_call: str = "", agent: str = "", id: str = "") -> None:
        """Store an event in the log.

        Raises:
            LogError: the log cannot be written any more.
        """
        own = id if is_uuid(id) and id not in self._ids else None
        try:
            self._session.append(
                self._redaction.stored(event),
                sync=isinstance(event, LASTING),
                id=own,
                agent=agent,
                parent_call=parent_call,
            )
        except LogError as error:
            if error.errno is not None:
                raise
            self._session.append(Noted(f"An event of the engine cannot be stored: {error}", "error"))
        if own is not None:
            self._ids.add(own)


def _prompted(queued: InputQueued) -> Prompted:
    if queued.sender:
        return Prompted(queued.id, queued.blocks, "harness", queued.client_id, MESSAGE)
    return Prompted(queued.id, queued.blocks, client_id=queued.client_id)
