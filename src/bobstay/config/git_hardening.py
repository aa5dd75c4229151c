"""Keeps git from running the programs that a repository's own configuration names."""

import os
from collections.abc import Mapping

from bobstay.config.trust import filter_search_path
from bobstay.git_files.git_directory import find_repository, open_repository

USUAL_PATH = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"

NO_PROGRAMS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.sshCommand": "ssh",
    "core.askPass": "",
    "core.alternateRefsCommand": "true",
    "core.gitProxy": "",
    "core.pager": "cat",
    "credential.helper": "",
    "diff.ignoreSubmodules": "all",
    "gpg.program": "gpg",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.x509.program": "gpgsm",
    "interactive.diffFilter": "",
    "log.showSignature": "false",
    "protocol.ext.allow": "never",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
    "status.submoduleSummary": "false",
}
"""Overrides for the settings by which an untrusted repository's configuration could name a program to run."""


def harden_environment(environment: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the environment for programs started in an untrusted folder.

    Programs are not searched for in the folder itself, and git ignores the programs that the repository's configuration
    names, as far as they are known in advance. Not all can be known (`include` may name any file), so git also needs
    permission there.
    """
    repository = find_repository(folder)
    settings = NO_PROGRAMS | (_drivers(repository) if repository else {})
    top = os.path.realpath(os.path.dirname(repository)) if repository else folder
    path = filter_search_path(environment.get("PATH", ""), os.path.realpath(folder), top)
    kept = {name: value for name, value in environment.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}
    count = kept.get("GIT_CONFIG_COUNT", "0")
    first = int(count) if count.isascii() and count.isdigit() else 0
    for number, (key, value) in enumerate(settings.items(), first):
        kept[f"GIT_CONFIG_KEY_{number}"] = key
        kept[f"GIT_CONFIG_VALUE_{number}"] = value
    return {**kept, "PATH": path or USUAL_PATH, "GIT_CONFIG_COUNT": str(first + len(settings))}


def _drivers(entry: str) -> dict[str, str]:
    """Settings that replace the filters and converters a repository defines with harmless programs."""
    from bobstay.git_files.git_config import all_entries

    repository = open_repository(entry)
    settings: dict[str, str] = {}
    for directory in dict.fromkeys((repository.common, repository.directory)):
        for path in (f"{directory}/config", f"{directory}/config.worktree"):
            for setting in all_entries(path):
                settings |= _harmless_drivers(setting.section, setting.subsection, setting.key)
    return settings


def _harmless_drivers(section: str, subsection: str, key: str) -> dict[str, str]:
    driver = f"{section}.{subsection}"
    if section == "filter" and subsection:
        return {f"{driver}.process": "", f"{driver}.clean": "cat", f"{driver}.smudge": "cat"}
    if section == "diff" and subsection:
        return {f"{driver}.textconv": "cat"} | ({f"{driver}.command": "false"} if key == "command" else {})
    return {"diff.external": ""} if (section, key) == ("diff", "external") else {}
