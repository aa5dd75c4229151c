"""One-time notices: shows a notice once and records in a file that it was shown."""

import os

import msgspec

from bobstay.config.environment import Environment
from bobstay.config.secret_variables import unredacted_names
from bobstay.config.settings import Settings
from bobstay.system.safe_read import read_regular


def unredacted_notice(environment: Environment, settings: Settings) -> list[str]:
    """Name the variables that are not redacted because their values are ordinary words."""
    names = (*environment.unredacted, *unredacted_names(settings.variables))
    new = _record_new(os.path.join(environment.paths.bobstay, "notices.json"), "unredacted", names) if names else []
    if not new:
        return []
    text = (
        f"Not redacted, because the values are ordinary words or too short: {', '.join(new)}. Redacting them would "
        "make code that contains the same words unreadable. Use generated values where that matters. (Shown once.)"
    )
    return [text]


def _record_new(path: str, kind: str, names: tuple[str, ...]) -> list[str]:
    """Return the names that no earlier notice of this kind contained, and record them."""
    try:
        recorded = msgspec.json.decode(read_regular(path, 1 << 20) or b"", type=dict[str, list[str]])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        recorded = {}
    known = recorded.get(kind, [])
    new = [name for name in dict.fromkeys(names) if name not in known]
    if new:
        _write(path, msgspec.json.encode({**recorded, kind: [*known, *new]}))
    return new


def _write(path: str, data: bytes) -> None:
    from bobstay.system.atomic_file import replace_content

    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        replace_content(path, data, durable=False)
    except OSError:
        return  # the notice is shown again next time
