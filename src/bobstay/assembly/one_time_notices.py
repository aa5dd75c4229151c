"""Notices that a person reads once, not at every start: which ones were given is kept in a file."""

import os

import msgspec

from bobstay.config.environment import Environment
from bobstay.config.secret_variables import unredacted_names
from bobstay.config.settings import Settings


def unredacted_notice(environment: Environment, settings: Settings) -> list[str]:
    """Say which variables are not redacted because their values are ordinary words."""
    names = (*environment.unredacted, *unredacted_names(settings.variables))
    new = _not_yet_told(os.path.join(environment.paths.bobstay, "notices.json"), "unredacted", names) if names else []
    if not new:
        return []
    text = (
        f"Not redacted, because the values are ordinary words or too short: {', '.join(new)}. Redacting them would "
        "make code unreadable that contains the same words. Use generated values where that matters. (Said once.)"
    )
    return [text]


def _not_yet_told(path: str, kind: str, names: tuple[str, ...]) -> list[str]:
    """The names that no earlier notice of this kind had; they are noted as told."""
    try:
        with open(path, "rb") as file:
            told = msgspec.json.decode(file.read(), type=dict[str, list[str]])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        told = {}
    known = told.get(kind, [])
    new = [name for name in dict.fromkeys(names) if name not in known]
    if new:
        _write(path, msgspec.json.encode({**told, kind: [*known, *new]}))
    return new


def _write(path: str, data: bytes) -> None:
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(f"{path}.{os.getpid()}", "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
        os.replace(file.name, path)
    except OSError:
        return  # it is said again next time
