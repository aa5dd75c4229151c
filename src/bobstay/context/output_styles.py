"""Output styles: texts that say how the model works and answers, built in or from Markdown files."""

import os
from collections.abc import Iterable

from msgspec import Struct

from bobstay.context.instruction_reader import FileReach, is_within_reach, read_instruction
from bobstay.context.instructions import as_reminder, visible
from bobstay.context.markdown_header import header_text, split_header

DEFAULT = "default"
_MOST = 200
_LONGEST_NAME = 100
_TRUE = frozenset({"true", "yes", "on", "1"})
_BACK = "No output style applies any more: work and answer as you would without one."

_EXPLANATORY = """\
Do the work as usual, and let the person understand it as it grows.
- Before and after a change that embodies a decision, say in two or three sentences why it is done this way here: which
  pattern of this code base it follows, which alternative was left, what it costs.
- Explain what is particular to this code, not what every textbook says.
- Explanations belong into the conversation, never into comments that the code does not need."""
_LEARNING = """\
Work together with a person who wants to learn by doing.
- Do the routine parts yourself. Where a decision matters (an algorithm, the handling of an error, the shape of data),
  leave a piece of five to ten lines to the person: prepare its place, mark it with `TODO(human)`, and make sure that
  there is only one such mark.
- Then ask for it: what it is to do, in which file, what to weigh. Stop there and wait for it.
- Read what they wrote, say what is good and what you would change, and go on.
- Say in two or three sentences why things are done this way here, as they come up."""


class StyleText(Struct, frozen=True):
    name: str
    text: str = ""
    description: str = ""
    keeps_coding: bool = True
    """Whether the model is still told how to work on code and how to answer."""


class StyleFolder(Struct, frozen=True):
    """A folder of styles."""

    path: str
    links: tuple[str, ...] = ()
    """Folders that symbolic links may lead into; () for any place."""
    prefix: str = ""
    """Comes before each name, such as `plugin:`."""


BUILT_IN = (
    StyleText(DEFAULT, description="Does the work and answers briefly"),
    StyleText("Explanatory", _EXPLANATORY, "Explains its decisions while it works"),
    StyleText("Learning", _LEARNING, "Leaves pieces of code to you, and talks them over"),
)


def find_styles(folders: Iterable[StyleFolder]) -> dict[str, StyleText]:
    """Return all styles by name. A later folder replaces what an earlier one has under the same name."""
    found = {style.name: style for style in BUILT_IN}
    for folder in folders:
        for style in _read_folder(folder):
            found[style.name] = style
    return found


def choose_style(name: str, styles: dict[str, StyleText]) -> StyleText | None:
    """Return the style of a name, whose case matters only where two differ in nothing else."""
    if name in styles:
        return styles[name]
    return next((style for each, style in styles.items() if each.casefold() == name.casefold()), None)


def style_reminder(style: StyleText, *, told: bool = False) -> str:
    """Return what the model is told of a style; "" for none. `told`: another style was told before."""
    if style.text:
        return as_reminder(f"The person chose the output style {style.name}. Follow it.\n\n{style.text}")
    return as_reminder(_BACK) if told else ""


def _read_folder(folder: StyleFolder) -> list[StyleText]:
    reach = FileReach(folder.links)
    try:
        names = sorted(name for name in os.listdir(folder.path) if name.endswith(".md"))[:_MOST]
    except OSError:
        return []
    paths = [os.path.join(folder.path, name) for name in names]
    return [style for path in paths if is_within_reach(path, reach) and (style := _read_style(path, folder.prefix))]


def _read_style(path: str, prefix: str) -> StyleText | None:
    text = read_instruction(path)
    if text is None:
        return None
    header, body = split_header(text)
    stem = os.path.splitext(os.path.basename(path))[0]
    name = " ".join(header_text(header, "name").split())[:_LONGEST_NAME] or stem
    keeps = header_text(header, "keep-coding-instructions").lower() in _TRUE
    return StyleText(prefix + visible(name), body.strip(), header_text(header, "description"), keeps)
