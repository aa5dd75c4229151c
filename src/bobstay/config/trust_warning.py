"""Picks out of a folder's executable parts those worth a warning: what would really run something of the folder."""

import os
import re
from collections.abc import Iterable

from bobstay.config.git_directory import looks_bare
from bobstay.config.trust_parts import OBEYED_AT_START

_QUIET = frozenset({*OBEYED_AT_START, ".git", ".gitattributes", "git directory", "git common directory"})
"""Obeyed by other programs whether or not the folder is trusted, or without effect by themselves."""
_LARGEST = 1 << 20
_INERT: dict[str, frozenset[str] | None] = {
    "core": frozenset(
        {
            *("repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode"),
            *("symlinks", "autocrlf", "eol", "safecrlf", "longpaths", "quotepath", "untrackedcache", "splitindex"),
            *("sparsecheckout", "sparsecheckoutcone", "protectntfs", "protecthfs", "commitgraph", "multipackindex"),
        }
    ),
    "remote": frozenset({"url", "pushurl", "fetch", "push", "tagopt", "prune", "mirror", "gh-resolved", "promisor"}),
    "branch": frozenset({"remote", "merge", "rebase", "pushremote", "description"}),
    "submodule": frozenset({"url", "active", "branch", "ignore"}),
    "user": frozenset({"name", "email", "signingkey"}),
    "push": frozenset({"default", "followtags", "autosetupremote"}),
    "extensions": frozenset({"objectformat", "worktreeconfig", "partialclone", "refstorage", "preciousobjects"}),
    "lfs": frozenset({"repositoryformatversion", "access"}),
    "commit": frozenset({"gpgsign"}),
    "tag": frozenset({"gpgsign"}),
    **dict.fromkeys(("pull", "init", "gc", "color", "advice", "maintenance", "rebase", "feature", "index")),
}
"""Keys of git's configuration that make nothing run, by section; None for a section without any that does.
Whatever is not here counts as running something: aliases, filters, fsmonitor, hooksPath, and what git may learn yet."""
_SECTION = re.compile(r"\[\s*([A-Za-z0-9.-]+)(?:\s+\"(?:[^\"\\]|\\.)*\")?\s*\]")


def parts_to_warn_of(folder: str, parts: Iterable[str]) -> tuple[str, ...]:
    """Those of a folder's executable parts that a person should know of before trusting it."""
    return tuple(sorted(name for name in parts if not _is_quiet(folder, name)))


def _is_quiet(folder: str, name: str) -> bool:
    if name in _QUIET or name.endswith(("/info/attributes", "/commondir")):
        return True
    place, base = os.path.split(name)
    of_git = ".git" in place.split("/") or (not place and looks_bare(folder))
    return of_git and base in ("config", "config.worktree") and _is_inert(os.path.join(folder, name))


def _is_inert(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError:
        return False
    return len(data) <= _LARGEST and runs_nothing(data)


def runs_nothing(configuration: bytes) -> bool:
    """Whether a git configuration has only keys that are known to make nothing run."""
    section = ""
    for raw in configuration.split(b"\n"):
        line = os.fsdecode(raw).strip()
        if not line or line.startswith(("#", ";")):
            continue
        if header := _SECTION.match(line):
            section = header[1].lower()
            line = line[header.end() :].strip()
            if not line:
                continue
        key, _, value = line.partition("=")
        # A line that goes on is not followed; `ext::` and its like have the transport run a program.
        if line.endswith("\\") or "::" in value or not _is_known(section, key.strip().lower()):
            return False
    return True


def _is_known(section: str, key: str) -> bool:
    if section == "branch" and key.startswith(("vscode-", "gk-")):
        return True
    allowed = _INERT.get(section, frozenset())
    return allowed is None or key in allowed
