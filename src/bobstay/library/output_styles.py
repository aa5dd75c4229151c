"""Output styles: texts that say how the model works and answers; those that apply, and the one that a name means."""

from collections.abc import Sequence

from bobstay.library.definition import DefinitionOrigin, LibraryNotice, OutputStyle
from bobstay.library.definition_folder import DefinitionFolder, read_styles
from bobstay.library.discovery import BUNDLED, LibrarySources, managed_folders, project_folders, user_folders
from bobstay.library.library import PluginDefinitions, choose_named

DEFAULT_STYLE = OutputStyle(
    name="default",
    origin=DefinitionOrigin("bundled"),
    description="Does the work and answers briefly",
    keep_coding_instructions=True,
)


def find_styles(
    sources: LibrarySources, plugins: Sequence[PluginDefinitions], notices: list[LibraryNotice]
) -> tuple[OutputStyle, ...]:
    """Read the front matter of the styles that apply, those of bobstay first.

    A style says how to work, so those of a folder that nobody trusts do not count.
    """
    project = (folder for folder in project_folders(sources) if folder.trusted)
    folders = (*managed_folders(sources), *project, *user_folders(sources))
    styles = [style for folder in folders for style in read_styles(folder, notices)]
    styles += [each for plugin in plugins for each in plugin.styles]
    styles += [DEFAULT_STYLE, *read_styles(DefinitionFolder(BUNDLED, "bundled"), notices)]
    return tuple(sorted(choose_named(styles), key=_rank))


def choose_style(name: str, styles: Sequence[OutputStyle]) -> OutputStyle | None:
    """Return the style of a name, whatever its case."""
    return next((style for style in styles if style.name.casefold() == name.casefold()), None)


def _rank(style: OutputStyle) -> int:
    return 0 if style is DEFAULT_STYLE else 1 if style.origin.source == "bundled" else 2
