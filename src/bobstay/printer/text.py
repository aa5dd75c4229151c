"""Print mode for people and shell scripts: the final answer, nothing else."""

from bobstay.model.event import Event, RunDone
from bobstay.wire.results import VERDICTS, failure_text
from bobstay.wire.stdio import Output


class TextFace:
    def __init__(self, output: Output, max_turns: int | None = None) -> None:
        self._output = output
        self._max_turns = max_turns
        self._done: RunDone | None = None

    def show(self, event: Event) -> None:
        if isinstance(event, RunDone):
            self._done = event

    def finish(self) -> None:
        if self._done is not None and (text := self._text(self._done)):
            self._output.write(f"{text}\n".encode(errors="replace"))

    def _text(self, done: RunDone) -> str:
        if done.ending == "max_turns":
            return f"Error: Reached max turns ({self._max_turns or done.turns})"
        if VERDICTS[done.ending].says_result:
            return done.text
        return f"Error: {failure_text(done)}"
