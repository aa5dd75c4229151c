"""What a person is told about the settings of a folder that nobody trusted."""

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from bobstay.config.settings import Settings
from bobstay.config.trust import TrustStatus


def untrusted_notice(folder: Sequence[tuple[str, Settings]], cwd: str, how: TrustStatus) -> str:
    """What to tell a person; empty if nothing was left out. `folder` is what each file said."""
    left_out: list[str] = []
    for file, settings in folder:
        names = _permissive(settings)
        if names:
            left_out.append(f"{os.path.relpath(file, cwd)} ({_shortened(names)})")
    said: list[str] = [how.problem] if how.problem else []
    if how.changed:
        said.append(
            f"This folder was trusted, but it is not what it was then: {_shortened(how.changed)}. "
            "It is not trusted now."
        )
    elif left_out:
        said.append("This folder is not trusted.")
    if left_out:
        said.append(f"Part of its settings was left out: {'; '.join(left_out)}.")
    if said:
        said.append(
            "If you know what is in it, start with --trust for this run, or keep your trust with: "
            f"bobstay trust add {_quoted(os.path.realpath(cwd))}"
        )
    # The folder chose these names: they must not move the cursor nor fill the screen.
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(said))


def _shortened(names: Sequence[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(name[:200] for name in names[:12]) + more


def _quoted(path: str) -> str:
    from shlex import quote

    return quote(path)


def _permissive(settings: Settings) -> list[str]:
    """The keys that were set and do more than forbid."""
    said: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(settings, extra={}))
    permissions = said.pop("permissions", {})
    kept = [f"permissions.{name}" for name in permissions if name not in ("ask", "deny")]
    return [*kept, *said, *settings.extra]
