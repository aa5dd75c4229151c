"""What an engine says is around it when it begins: commands, servers, skills. Kept short, and only where it is new."""

from typing import Any

from bobstay.model.event import Raw
from bobstay.server.workers.process.untrusted_fields import text

MOST = 500
"""Entries of one list that are kept."""
LONGEST = 300
"""Characters of one text."""
NAMED = ("tools", "slash_commands", "skills", "agents")
"""Lists of names; some engines say objects with a `name`."""
WORDS = ("model", "cwd", "claude_code_version", "output_style", "apiKeySource")


class EngineSurface:
    """One engine process. `told` gives what is worth storing of its `init`, which comes before each turn."""

    def __init__(self) -> None:
        self._commands: list[dict[str, str]] = []
        self._last: dict[str, Any] = {}

    def described(self, frame: dict[str, Any]) -> None:
        """Take note of an answer to `initialize`, which knows more about commands than their names."""
        inner = frame.get("response")
        answer = inner.get("response") if isinstance(inner, dict) else None
        if isinstance(answer, dict) and isinstance(answer.get("commands"), list):
            self._commands = _described(answer["commands"])

    def told(self, frame: dict[str, Any]) -> tuple[Raw, ...]:
        """The frame with what is needed of it; nothing if it says nothing, or nothing new."""
        lists = {name: found for name in NAMED if (found := _names(frame.get(name)))}
        if servers := _servers(frame.get("mcp_servers")):
            lists["mcp_servers"] = servers
        if not lists:
            return ()
        words = {name: text(frame, name)[:LONGEST] for name in WORDS if text(frame, name)}
        kept = {"type": "system", "subtype": "init", **words, **lists}
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


def _described(given: list[Any]) -> list[dict[str, str]]:
    entries = [entry for entry in given[:MOST] if isinstance(entry, dict) and text(entry, "name")]
    return [
        {name: text(entry, name)[:LONGEST] for name in ("name", "description", "argumentHint")} for entry in entries
    ]
