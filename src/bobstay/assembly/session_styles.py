"""Output styles of a session: which there are, which applies, and what the model is told of it."""

from bobstay.assembly.session_instructions import earlier_reminders
from bobstay.assembly.session_library import SessionLibrary
from bobstay.assembly.start_context import StartContext
from bobstay.context.instruction_reader import LONGEST
from bobstay.context.instruction_text import drop_comments
from bobstay.context.instructions import as_reminder
from bobstay.engine.reminders import OUTPUT_STYLE, remind
from bobstay.library.bundled_definitions import DEFAULT_STYLE
from bobstay.library.command_text import expand_variables
from bobstay.library.definition import OutputStyle
from bobstay.library.definition_body import BodyUnreadableError, read_body
from bobstay.library.output_styles import choose_style
from bobstay.model.event import Prompted
from bobstay.model.message import text_of

_BACK = "No output style applies any more: work and answer as you would without one."


class UnknownStyle(ValueError):  # noqa: N818 - the name says what happened
    """No output style has that name, or it cannot be read."""


class SessionStyles:
    """The style that applies, by name, and those there are."""

    def __init__(self, start: StartContext, library: SessionLibrary) -> None:
        self._start = start
        self._library = library
        self.current = start.loaded.settings.output_style or DEFAULT_STYLE.name
        """As it was set, also if there is no such style."""
        self.with_coding = True
        """Whether the system prompt says how to work on code; decided once, so that its bytes stay the same."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(style.name for style in self._library.find_styles(self._start))

    def begin(self) -> list[Prompted]:
        """Return what the first prompt begins with: the style, unless the history has it as it is now."""
        before = earlier_reminders(self._start, OUTPUT_STYLE)
        style = self._choose(self.current)
        if style is None:
            known = ", ".join(self.names)
            text = f"There is no output style {self.current!r}, so none applies. Known: {known}.{self._withheld()}"
            self._start.warnings.append(text)
            return []
        try:
            reminder = self._reminder(style, told=bool(before))
        except BodyUnreadableError as error:
            self._start.warnings.append(f"The output style {style.name} does not apply. {error}")
            return []
        self.with_coding = style.keep_coding_instructions
        same = bool(reminder and before) and before[-1] == text_of(reminder[0].blocks)
        return [] if same else reminder

    def change(self, name: str) -> list[Prompted]:
        """Choose another style; returns what the next prompt begins with.

        Raises:
            UnknownStyle: there is none of that name, or its file is gone; the text says what to do.
        """
        style = self._choose(name)
        if style is None:
            known = ", ".join(self.names)
            raise UnknownStyle(f"There is no output style {name!r}. Choose one of {known}.{self._withheld()}")
        try:
            reminder = self._reminder(style, told=self.current != DEFAULT_STYLE.name)
        except BodyUnreadableError as error:
            raise UnknownStyle(str(error)) from error
        self.current = style.name
        return reminder

    def _reminder(self, style: OutputStyle, *, told: bool) -> list[Prompted]:
        """Return what the model is told of a style. `told`: another style was told before."""
        text = _read_text(style)
        if text:
            shown = as_reminder(f"The person chose the output style {style.name}. Follow it.\n\n{text}")
        else:
            shown = as_reminder(_BACK) if told else ""
        return [remind(self._start.redactor.redact(shown), OUTPUT_STYLE)] if shown else []

    def _withheld(self) -> str:
        trusted = self._start.loaded.trusted
        return "" if trusted else " Those of this folder count only when it is trusted: bobstay trust add"

    def _choose(self, name: str) -> OutputStyle | None:
        return choose_style(name, self._library.find_styles(self._start))


def _read_text(style: OutputStyle) -> str:
    """Return the text of a style without its comments, cut if it is long.

    Raises:
        BodyUnreadableError: its file cannot be read any more.
    """
    text = drop_comments(expand_variables(style, read_body(style).text)).strip()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n(cut at {LONGEST // 1024} KiB)"
