"""Reads the definitions below one folder such as `.claude`: bounded, and without following links out of it."""

import errno
import os
from collections.abc import Iterator

from msgspec import Struct

from bobstay.config.trust import is_inside
from bobstay.library.definition import (
    AgentDefinition,
    CommandDefinition,
    DefinitionFolder,
    DefinitionOrigin,
    FileStamp,
    LibraryNotice,
    OutputStyle,
)
from bobstay.library.definition_fields import FileFacts, build_agent, build_command, build_style, is_name
from bobstay.markdown.field_values import as_line
from bobstay.markdown.front_matter import LONGEST, FrontMatter, split_front_matter
from bobstay.system.safe_read import NotRegularFile, open_regular, read_up_to

LARGEST = 1 << 20
"""Bytes of a definition."""
MOST_FILES = 500
"""Definitions of one kind in one folder."""
MOST_ENTRIES = 2_000
"""Entries of one directory that are looked at."""
DEEPEST = 6
_HEAD = 8 * 1024
"""Bytes that are read of a file at first; they nearly always hold its front matter."""
_MOST_PROBLEMS = 3


class FoundFile(Struct, frozen=True):
    """A file that was opened, with its front matter."""

    path: str
    real: str
    stamp: FileStamp
    matter: FrontMatter
    first_line: str


def read_skills(
    folder: DefinitionFolder, notices: list[LibraryNotice], below: str = "skills", *, itself: bool = False
) -> list[CommandDefinition]:
    """Read `NAME/SKILL.md`, one level deep. With `itself`, the path may also be the folder of one skill."""
    top = _resolve_top(folder, below, notices)
    if not top:
        return []
    if itself:
        own = _read_file(folder, os.path.join(top, "SKILL.md"), notices, missing_ok=True)
        if own is not None:
            return _keep([_build_skill(folder, os.path.basename(top), top, own, notices)])
    found: list[CommandDefinition | None] = []
    for name, path, is_directory in _list_directory(folder, top, notices):
        if not is_directory:
            continue
        if len(found) >= MOST_FILES:
            notices.append(LibraryNotice(top, f"only the first {MOST_FILES} skills are used"))
            break
        file = _read_file(folder, os.path.join(path, "SKILL.md"), notices, missing_ok=True)
        if file is not None:
            found.append(_build_skill(folder, name, path, file, notices))
    return _keep(found)


def read_commands(
    folder: DefinitionFolder, notices: list[LibraryNotice], below: str = "commands"
) -> list[CommandDefinition]:
    """Read `**/*.md`; folders are part of the name, joined by colons."""
    found: list[CommandDefinition] = []
    for stem, file in _read_markdown(folder, below, notices):
        if all(is_name(part) for part in stem.split("/")):
            found.append(build_command(_facts(folder, stem.replace("/", ":"), file), notices))
        else:
            notices.append(LibraryNotice(file.path, "its name cannot be typed as a command; rename it"))
    return found


def read_agents(folder: DefinitionFolder, notices: list[LibraryNotice], below: str = "agents") -> list[AgentDefinition]:
    """Read `**/*.md`; files without a name or description are left out."""
    files = _read_markdown(folder, below, notices)
    built = (build_agent(_facts(folder, os.path.basename(stem), file), notices) for stem, file in files)
    return [agent for agent in built if agent is not None]


def read_styles(
    folder: DefinitionFolder, notices: list[LibraryNotice], below: str = "output-styles"
) -> list[OutputStyle]:
    files = _read_markdown(folder, below, notices, deepest=1)
    built = (build_style(_facts(folder, stem, file)) for stem, file in files)
    return [style for style in built if style is not None]


def _build_skill(
    folder: DefinitionFolder, name: str, path: str, file: FoundFile, notices: list[LibraryNotice]
) -> CommandDefinition | None:
    if not is_name(name):
        notices.append(LibraryNotice(file.path, "the name of its folder cannot be typed as a command; rename it"))
        return None
    return build_command(_facts(folder, name, file, path), notices, folder.scope)


def _keep(found: list[CommandDefinition | None]) -> list[CommandDefinition]:
    return [each for each in found if each is not None]


def _facts(folder: DefinitionFolder, stem: str, file: FoundFile, path: str = "") -> FileFacts:
    origin = DefinitionOrigin(
        folder.source,
        file.path,
        folder.plugin,
        folder.trusted,
        file.real if file.real != file.path else "",
        file.stamp,
    )
    return FileFacts(
        origin, file.matter.fields, stem, file.first_line, folder.prefix, path, folder.variables, folder.grants
    )


def _read_markdown(
    folder: DefinitionFolder, below: str, notices: list[LibraryNotice], deepest: int = DEEPEST
) -> Iterator[tuple[str, FoundFile]]:
    """The Markdown files below a path, by their name relative to it without `.md`; or the one file that the path is."""
    top = _resolve_top(folder, below, notices)
    if not top:
        return
    if below.endswith(".md"):
        file = _read_file(folder, top, notices)
        if file is not None:
            yield os.path.basename(below).removesuffix(".md"), file
        return
    for number, (stem, path) in enumerate(_walk(folder, top, "", deepest, notices)):
        if number >= MOST_FILES:
            notices.append(LibraryNotice(top, f"only the first {MOST_FILES} files are used"))
            return
        file = _read_file(folder, path, notices)
        if file is not None:
            yield stem, file


def _walk(
    folder: DefinitionFolder, directory: str, prefix: str, depth: int, notices: list[LibraryNotice]
) -> Iterator[tuple[str, str]]:
    for name, path, is_directory in _list_directory(folder, directory, notices):
        if is_directory:
            if depth > 1:
                yield from _walk(folder, path, f"{prefix}{name}/", depth - 1, notices)
        elif name.endswith(".md") and name != ".md":
            yield prefix + name.removesuffix(".md"), path


def _list_directory(
    folder: DefinitionFolder, directory: str, notices: list[LibraryNotice]
) -> list[tuple[str, str, bool]]:
    """The entries of a directory, sorted: name, path, whether it is a directory. Links that lead out are left out."""
    found: list[tuple[str, str, bool]] = []
    try:
        with os.scandir(directory) as entries:
            for number, entry in enumerate(entries):
                if number >= MOST_ENTRIES:
                    notices.append(LibraryNotice(directory, f"only {MOST_ENTRIES} of its entries are looked at"))
                    break
                if entry.name.startswith("."):
                    continue
                is_directory = _is_directory(entry)
                if is_directory and entry.is_symlink() and not _may_follow(folder, entry.path, notices):
                    continue
                found.append((entry.name, entry.path, is_directory))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError) as error:
        notices.append(LibraryNotice(directory, f"cannot be read: {getattr(error, 'strerror', None) or error}"))
    return sorted(found)


def _is_directory(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _resolve_top(folder: DefinitionFolder, below: str, notices: list[LibraryNotice]) -> str:
    """The path of a part of the folder; empty if there is none, or if a link on the way to it leads out."""
    top = os.path.normpath(os.path.join(folder.path, below))
    if not os.path.lexists(top) or not _may_follow(folder, top, notices):
        return ""
    return top


def _may_follow(folder: DefinitionFolder, path: str, notices: list[LibraryNotice]) -> bool:
    if not folder.confined or is_inside(os.path.realpath(path), folder.confined):
        return True
    notices.append(LibraryNotice(path, f"is not used: it links out of {folder.confined}. Put the file itself there"))
    return False


def _read_file(
    folder: DefinitionFolder, path: str, notices: list[LibraryNotice], *, missing_ok: bool = False
) -> FoundFile | None:
    real = path
    try:
        if os.path.islink(path):
            if not _may_follow(folder, path, notices):
                return None
            real = os.path.realpath(path)
        descriptor = open_regular(real, follow=False)
    except (FileNotFoundError, NotADirectoryError):
        if not missing_ok:
            notices.append(LibraryNotice(path, "leads to no file"))
        return None
    except (OSError, ValueError) as error:
        notices.append(LibraryNotice(path, _describe(error)))
        return None
    try:
        return _read_open_file(folder, path, real, descriptor, notices)
    except OSError as error:
        notices.append(LibraryNotice(path, _describe(error)))
        return None
    finally:
        os.close(descriptor)


def _read_open_file(
    folder: DefinitionFolder, path: str, real: str, descriptor: int, notices: list[LibraryNotice]
) -> FoundFile | None:
    status = os.fstat(descriptor)
    if folder.owners and status.st_uid not in folder.owners:
        return None
    if status.st_size > LARGEST:
        notices.append(LibraryNotice(path, f"is not used: it is larger than {LARGEST >> 20} MiB"))
        return None
    data = read_up_to(descriptor, _HEAD)
    matter = split_front_matter(data)
    if matter.unclosed and len(data) == _HEAD:
        data += read_up_to(descriptor, LONGEST)
        matter = split_front_matter(data)
    notices.extend(
        LibraryNotice(path, f"{problem.text}. The rest of the file is used", problem.line)
        for problem in matter.problems[:_MOST_PROBLEMS]
    )
    stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
    return FoundFile(path, real, stamp, matter, _first_line(data, matter))


def _first_line(data: bytes, matter: FrontMatter) -> str:
    if matter.fields.get("description"):
        return ""
    for line in data[matter.body_start : matter.body_start + 2_000].decode(errors="replace").split("\n"):
        if text := line.strip("# \t\r\ufeff"):
            return as_line(text[:200])
    return ""


def _describe(error: Exception) -> str:
    if isinstance(error, NotRegularFile):
        return "is not used: it is not a regular file"
    if getattr(error, "errno", None) == errno.ELOOP:
        return "is not used: it is a link that leads nowhere"
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"
