"""Trust notice: explains which settings of an untrusted folder are ignored."""

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from bobstay.config.settings import Settings
from bobstay.config.trust import TrustStatus


def untrusted_notice(folder: Sequence[tuple[str, Settings]], cwd: str, status: TrustStatus) -> str:
    """Return the notice for a person; empty if nothing is ignored. `folder` has the settings of each file."""
    ignored: list[str] = []
    for file, settings in folder:
        names = _permissive_keys(settings)
        if names:
            ignored.append(f"{os.path.relpath(file, cwd)} ({_join_names(names)})")
    sentences: list[str] = [status.problem] if status.problem else []
    if status.changed:
        sentences.append(
            f"This folder was trusted, but it has changed since: {_join_names(status.changed)}. It is not trusted now."
        )
    elif ignored:
        sentences.append("This folder is not trusted.")
    if ignored:
        sentences.append(f"Part of its settings is ignored: {'; '.join(ignored)}.")
    if sentences:
        sentences.append(
            "If you know what is in it, start with --trust for this run, or trust it permanently with: "
            f"bobstay trust add {_quote(os.path.realpath(cwd))}"
        )
    # The folder chose these names: they must not move the cursor or fill the screen.
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(sentences))


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(name[:200] for name in names[:12]) + more


def _quote(path: str) -> str:
    from shlex import quote

    return quote(path)


def _permissive_keys(settings: Settings) -> list[str]:
    """Return the keys that are set and do more than restrict."""
    values: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(settings, extra={}))
    permissions = values.pop("permissions", {})
    kept = [f"permissions.{name}" for name in permissions if name not in ("ask", "deny")]
    return [*kept, *values, *settings.extra]
