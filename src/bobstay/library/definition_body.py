"""Reads the body of a definition when it is used."""

import os

from msgspec import Struct

from bobstay.library.definition import AgentDefinition, CommandDefinition, DefinitionOrigin, OutputStyle
from bobstay.library.definition_folder import LARGEST
from bobstay.markdown.front_matter import decode_body, split_front_matter
from bobstay.system.safe_read import open_regular, read_up_to


class DefinitionBody(Struct, frozen=True):
    text: str
    changed: bool = False
    """The file is not the one that was found at the start: what it granted then may no longer fit its text."""


class BodyUnreadableError(Exception):
    """The file of a definition cannot be read any more. The text says why."""


def read_body(definition: CommandDefinition | AgentDefinition | OutputStyle) -> DefinitionBody:
    """Return the body, without the front matter, as it is in the file now.

    Raises:
        BodyUnreadableError: with a text for a person.
    """
    origin = definition.origin
    if not origin.file:
        return DefinitionBody(definition.prompt if isinstance(definition, AgentDefinition) else "")
    return _read(origin)


def _read(origin: DefinitionOrigin) -> DefinitionBody:
    try:
        descriptor = open_regular(origin.real_file or origin.file, follow=False)
        try:
            status = os.fstat(descriptor)
            data = read_up_to(descriptor, LARGEST + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BodyUnreadableError(f"{origin.file} cannot be read: {reason}.") from error
    if len(data) > LARGEST:
        raise BodyUnreadableError(f"{origin.file} is larger than {LARGEST >> 20} MiB.")
    stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
    changed = origin.stamp is not None and stamp != origin.stamp
    return DefinitionBody(decode_body(data, split_front_matter(data)), changed)
