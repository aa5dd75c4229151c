"""Text output of print mode: the final answer on stdout, delays and notes on stderr."""

import sys

from bobstay.assembly.session import AgentSession
from bobstay.model.agent_events import AgentStarted
from bobstay.model.event import Event, ModelChanged, Noted, RunDone
from bobstay.model.live_events import Retrying
from bobstay.wire.result_frame import RESULT_ROWS, failure_text
from bobstay.wire.stdio import FrameWriter


class TextFace:
    def __init__(self, output: FrameWriter, max_turns: int | None = None) -> None:
        self._output = output
        self._max_turns = max_turns
        self._done: RunDone | None = None

    def show(self, event: Event) -> None:
        if isinstance(event, RunDone):
            self._done = event
        elif isinstance(event, Retrying):
            # Minutes of silence look like a hang.
            count = f"{event.attempt} of {event.attempts}"
            why = _one_line(event.reason or event.error).rstrip(".")
            _show_line(f"{why}. Trying again in {event.delay:.0f} s ({count}).")
        elif isinstance(event, ModelChanged) and event.why == "fallback":
            text = f"{event.previous} did not answer: using {event.model} until this turn ends."
            _show_line(_one_line(text))
        elif isinstance(event, ModelChanged) and event.why == "restored":
            _show_line(_one_line(f"Using {event.model} again; {event.previous} was its fallback in the last turn."))
        elif isinstance(event, Noted) and event.level != "info":
            show_note(event)

    def show_agent(self, started: AgentStarted, event: Event) -> None:
        if isinstance(event, Noted | Retrying):
            self.show(event)

    def end_session(self, session: AgentSession, prompt: str) -> None:
        """Nothing to say: the new session is as empty as one that was just started."""

    def begin_session(self, session: AgentSession) -> None:
        """The text is that of the last answer, whichever session it comes from."""

    def finish(self) -> None:
        if self._done is not None and (text := self._text(self._done)):
            self._output.write(f"{text}\n".encode(errors="replace"))

    def _text(self, done: RunDone) -> str:
        if done.ending == "max_turns":
            return f"Error: Reached max turns ({self._max_turns or done.turns})"
        if RESULT_ROWS[done.ending].has_result:
            return done.text
        return f"Error: {failure_text(done)}"


def _show_line(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _one_line(text: str) -> str:
    """`text` of a server on one line, without control characters."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text[:500])
    return " ".join(shown.split())


def show_note(note: Noted) -> None:
    """Write a note to stderr, without control characters, because its text may be untrusted."""
    shown = "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in note.text)
    begin = f"{note.level.capitalize()}: " if note.level in ("warning", "error") else ""
    sys.stderr.write(f"{begin}{shown}\n")
