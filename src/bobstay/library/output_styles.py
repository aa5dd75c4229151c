"""Output styles: texts that say how the model works and answers; those that apply, and the one that a name means."""

from collections.abc import Sequence

from bobstay.library.bundled_definitions import BUNDLED_STYLES
from bobstay.library.definition import LibraryNotice, OutputStyle
from bobstay.library.definition_folder import read_styles
from bobstay.library.discovery import LibrarySources, managed_folders, project_folders, user_folders
from bobstay.library.library import PluginDefinitions, choose_named


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
    chosen = choose_named((*styles, *BUNDLED_STYLES))
    bundled = [each for each in BUNDLED_STYLES if each in chosen]
    return (*bundled, *(each for each in chosen if each not in bundled))


def choose_style(name: str, styles: Sequence[OutputStyle]) -> OutputStyle | None:
    """Return the style of a name, whatever its case."""
    return next((style for style in styles if style.name.casefold() == name.casefold()), None)
