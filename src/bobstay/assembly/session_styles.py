"""Output styles of a session: which there are, which applies, and what the model is told of it."""

import os
from typing import TYPE_CHECKING

from bobstay.assembly.session_instructions import earlier_reminders
from bobstay.assembly.start_context import StartContext
from bobstay.config.paths import FOLDERS
from bobstay.context.git_status import find_repository
from bobstay.engine.reminders import OUTPUT_STYLE, remind
from bobstay.model.event import Prompted
from bobstay.model.message import text_of

if TYPE_CHECKING:
    from bobstay.context.output_styles import StyleFolder, StyleText

DEFAULT_STYLE = "default"


class UnknownStyle(ValueError):  # noqa: N818 - the name says what happened
    """No output style has that name."""


class SessionStyles:
    """The style that applies, by name, and those there are."""

    def __init__(self, start: StartContext) -> None:
        self._start = start
        self.current = start.loaded.settings.output_style or DEFAULT_STYLE
        """As it was set, also if there is no such style."""
        self.with_coding = True
        """Whether the system prompt says how to work on code; decided once, so that its bytes stay the same."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._find())

    def begin(self) -> list[Prompted]:
        """Return what the first prompt begins with: the style, unless the history has it as it is now."""
        before = earlier_reminders(self._start, OUTPUT_STYLE)
        style = self._choose(self.current)
        if style is None:
            known = ", ".join(self.names)
            self._start.warnings.append(f"There is no output style {self.current!r}, so none applies. Known: {known}.")
            return []
        self.with_coding = style.keeps_coding
        reminder = self._reminder(style, told=bool(before))
        same = bool(reminder and before) and before[-1] == text_of(reminder[0].blocks)
        return [] if same else reminder

    def change(self, name: str) -> list[Prompted]:
        """Choose another style; returns what the next prompt begins with.

        Raises:
            UnknownStyle: there is none of that name; the text names those there are.
        """
        style = self._choose(name)
        if style is None:
            raise UnknownStyle(f"There is no output style {name!r}. Choose one of {', '.join(self.names)}.")
        told = self.current != DEFAULT_STYLE
        self.current = style.name
        return self._reminder(style, told=told)

    def _choose(self, name: str) -> "StyleText | None":
        from bobstay.context.output_styles import choose_style

        return choose_style(name, self._find())

    def _reminder(self, style: "StyleText", *, told: bool) -> list[Prompted]:
        from bobstay.context.output_styles import style_reminder

        text = self._start.redactor.redact(style_reminder(style, told=told))
        return [remind(text, OUTPUT_STYLE)] if text else []

    def _find(self) -> "dict[str, StyleText]":
        from bobstay.context.output_styles import find_styles

        return find_styles(self._folders())

    def _folders(self) -> "list[StyleFolder]":
        """Return the folders of styles: the user's, then the project's from its top down, of which the last wins."""
        from bobstay.context.output_styles import StyleFolder

        start, paths = self._start, self._start.environment.paths
        sources = start.options.setting_sources
        found: list[StyleFolder] = []
        if sources is None or "user" in sources:
            found += [StyleFolder(f"{folder}/output-styles") for folder in (paths.claude, paths.bobstay)]
        if start.loaded.trusted and (sources is None or "project" in sources):
            repository = find_repository(start.cwd)
            top = os.path.dirname(repository) if repository else start.cwd
            for folder in _between(top, start.cwd):
                found += [StyleFolder(f"{folder}/{each}/output-styles", (folder, top)) for each in reversed(FOLDERS)]
        return found


def _between(top: str, folder: str) -> list[str]:
    """Return the folders from `top` down to `folder`."""
    found = [folder]
    while found[-1] != top and (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found[::-1] if found[-1] == top else [folder]
