"""Trust warning: selects the executable parts of a folder that would actually run something of the folder."""

import os
import re
from collections.abc import Iterable

from bobstay.config.trust_parts import STARTUP_FILES
from bobstay.git_files.git_directory import looks_bare

_IGNORED = frozenset({*STARTUP_FILES, ".git", ".gitattributes", "git directory", "git common directory"})
"""Parts that other programs obey whether or not the folder is trusted, or that have no effect by themselves."""
_LARGEST = 1 << 20
_INERT_KEYS: dict[str, frozenset[str] | None] = {
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
"""Keys of git's configuration that run nothing, by section; None for a section in which no key does.
All other keys count as running something: aliases, filters, fsmonitor, hooksPath, and any that git may add."""
_SECTION = re.compile(r"\[\s*([A-Za-z0-9.-]+)(?:\s+\"(?:[^\"\\]|\\.)*\")?\s*\]")


def select_risky_parts(folder: str, parts: Iterable[str]) -> tuple[str, ...]:
    """Select the executable parts of a folder that a person should know about before trusting it."""
    return tuple(sorted(name for name in parts if not _is_ignored(folder, name)))


def _is_ignored(folder: str, name: str) -> bool:
    if name in _IGNORED or name.endswith(("/info/attributes", "/commondir")):
        return True
    directory, base = os.path.split(name)
    is_git = ".git" in directory.split("/") or (not directory and looks_bare(folder))
    return is_git and base in ("config", "config.worktree") and _is_inert_file(os.path.join(folder, name))


def _is_inert_file(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError:
        return False
    return len(data) <= _LARGEST and is_inert_configuration(data)


def is_inert_configuration(configuration: bytes) -> bool:
    """Whether a git configuration has only keys that are known to run nothing."""
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
        # Continued lines are not parsed; transports such as `ext::` run a program.
        if line.endswith("\\") or "::" in value or not _is_inert_key(section, key.strip().lower()):
            return False
    return True


def _is_inert_key(section: str, key: str) -> bool:
    if section == "branch" and key.startswith(("vscode-", "gk-")):
        return True
    allowed = _INERT_KEYS.get(section, frozenset())
    return allowed is None or key in allowed
