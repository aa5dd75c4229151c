"""Inventory in an engine's `init` frame: commands, servers and skills, shortened and stored only if it changed."""

from typing import Any

from bobstay.model.event import Raw
from bobstay.server.workers.process.untrusted_fields import text

MOST = 500
"""Entries of one list that are kept."""
LONGEST = 300
"""Characters of one text."""
NAME_LISTS = ("tools", "slash_commands", "skills", "agents")
"""Lists of names; some engines send objects with a `name`."""
TEXT_FIELDS = ("model", "cwd", "claude_code_version", "output_style", "apiKeySource")


class EngineSurface:
    """The inventory of one engine process, which sends an `init` frame before each turn."""

    def __init__(self) -> None:
        self._commands: list[dict[str, str]] = []
        self._last: dict[str, Any] = {}

    def learn_commands(self, frame: dict[str, Any]) -> None:
        """Store the commands in a response to `initialize`, which has more than their names."""
        inner = frame.get("response")
        answer = inner.get("response") if isinstance(inner, dict) else None
        if isinstance(answer, dict) and isinstance(answer.get("commands"), list):
            self._commands = _describe_commands(answer["commands"])

    def new_inventory(self, frame: dict[str, Any]) -> tuple[Raw, ...]:
        """The relevant fields of an `init` frame; nothing if there are none, or none that changed."""
        lists = {name: found for name in NAME_LISTS if (found := _names(frame.get(name)))}
        if servers := _servers(frame.get("mcp_servers")):
            lists["mcp_servers"] = servers
        if not lists:
            return ()
        texts = {name: text(frame, name)[:LONGEST] for name in TEXT_FIELDS if text(frame, name)}
        kept = {"type": "system", "subtype": "init", **texts, **lists}
        if self._commands:
            kept["commands"] = self._commands
        if kept == self._last:
            return ()
        self._last = kept
        return (Raw(kept),)


def _names(given: Any) -> list[Any]:
    if not isinstance(given, list):
        return []
    names = [
        entry if isinstance(entry, str) else text(entry, "name") for entry in given if isinstance(entry, str | dict)
    ]
    return [name[:LONGEST] for name in names[:MOST] if name]


def _servers(given: Any) -> list[Any]:
    entries = [entry for entry in given if isinstance(entry, dict)] if isinstance(given, list) else []
    return [
        {"name": text(entry, "name")[:LONGEST], "status": text(entry, "status")[:LONGEST]}
        for entry in entries[:MOST]
        if text(entry, "name")
    ]


def _describe_commands(given: list[Any]) -> list[dict[str, str]]:
    entries = [entry for entry in given[:MOST] if isinstance(entry, dict) and text(entry, "name")]
    return [
        {name: text(entry, name)[:LONGEST] for name in ("name", "description", "argumentHint")} for entry in entries
    ]
