"""Recognises commands that destroy data irrecoverably, so that no lasting permission is offered for them.

This is a hint for people: it may be wrong both ways, and the policy does not use it.
"""

import re

from bobstay.permissions.path_resolution import FileSystemView
from bobstay.permissions.shell.analyzer import analyze

_FLAGS = r"(?:\s+\S+)*?\s+"
_DESTRUCTIVE = re.compile(
    r"(?:rm|rmdir|unlink|shred|dd|truncate|mkfs(?:\.\w+)?|fdisk|parted|wipefs|mkswap)(?=\s|$)"
    rf"|find{_FLAGS}-delete(?=\s|$)"
    rf"|git\s+push{_FLAGS}(?:-f\b|-d\b|--force|--delete|--mirror|--prune|\+|:\S)"
    rf"|git\s+reset{_FLAGS}--(?:hard|merge)\b"
    r"|git\s+(?:clean|restore|filter-branch|filter-repo)(?=\s|$)"
    rf"|git\s+(?:checkout|switch){_FLAGS}(?:--(?=\s|$)|-f\b|--force\b|--discard-changes\b|\.(?=\s|$))"
    rf"|git\s+(?:branch|tag){_FLAGS}(?:-\w*[dD]|--delete)\b"
    r"|git\s+stash\s+(?:drop|clear)\b"
    r"|git\s+(?:reflog\s+(?:expire|delete)|update-ref\s+-d|worktree\s+remove|gc\b.*--prune)"
    r"|(?:docker|podman)\s+(?:\w+\s+)?(?:rm|rmi|prune)\b"
    r"|(?:kubectl|helm|terraform)\s+(?:delete|uninstall|destroy)\b"
)
_DOWNLOADER = re.compile(r"(?:curl|wget)(?=\s|$)")
_BARE_SHELL = re.compile(r"(?:sh|bash|dash|zsh|ksh|python3?|perl|ruby|node)(?:\s+-s?)?$")
"""A shell or an interpreter that reads its program from standard input."""


def is_destructive(command: str, cwd: str, directory: str) -> bool:
    """Whether some part of the command, also behind wrappers, destroys data or runs what it downloads."""
    found = analyze(command, cwd, FileSystemView(directory, "/nonexistent", ()))
    starts = [text[at:] for text, begins in found.rule_texts for at in begins]
    if any(_DESTRUCTIVE.match(text) for text in starts):
        return True
    return any(map(_DOWNLOADER.match, starts)) and any(map(_BARE_SHELL.match, starts))
