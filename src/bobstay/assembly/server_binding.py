"""Binds the MCP servers of a project's agents to the files they run: the session's own tools could rewrite these."""

from collections.abc import Iterable
from typing import Any

from bobstay.library.definition import FROM_FOLDERS, AgentDefinition


class ServerBinding:
    """Knows the content of the files that the servers name, as it was when the session began."""

    def __init__(self, folder: str, definitions: Iterable[AgentDefinition]) -> None:
        self._folder = folder
        self._files = {
            each.origin.file: self._digest(each)
            for each in definitions
            if each.mcp_servers and each.origin.source in FROM_FOLDERS
        }

    def find_changed(self, definition: AgentDefinition) -> str:
        """Return a file of a definition's servers that was changed since; "" if there is none."""
        if definition.origin.source not in FROM_FOLDERS:
            return ""
        now = self._digest(definition)
        before = self._files.setdefault(definition.origin.file, now)
        return next((path for path in (*before, *now) if now.get(path) != before.get(path)), "")

    def _digest(self, definition: AgentDefinition) -> dict[str, str]:
        from bobstay.config.digest import DigestLimitError, digest_files
        from bobstay.config.trust_parts import find_referenced_files

        files = [
            path for text in _commands(definition.mcp_servers) for path in find_referenced_files(text, self._folder)
        ]
        try:
            return digest_files(files)
        except DigestLimitError as error:
            return {str(error): ""}


def _commands(servers: Iterable[str | dict[str, Any]]) -> list[str]:
    """The command lines of servers, whatever else their entries hold."""
    found = []
    for entry in servers:
        for raw in entry.values() if isinstance(entry, dict) else ():
            args = raw.get("args") if isinstance(raw, dict) else None
            words = [raw.get("command"), *(args if isinstance(args, list) else ())] if isinstance(raw, dict) else []
            found.append(" ".join(word for word in words if isinstance(word, str)))
    return found
