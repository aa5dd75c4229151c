"""Files that a project's server runs: the session's own tools could rewrite them before the server is started again."""

from bobstay.mcp.server_config import McpServerConfig


class RewrittenServerError(Exception):
    """A server is not started by itself, because what it runs was changed. The text is for a person."""


class ServerFiles:
    """Knows the content of the files that the command of a project's server names; of other servers nothing."""

    def __init__(self, config: McpServerConfig, folder: str) -> None:
        self._command = " ".join((config.command, *config.args))
        self._folder = folder if config.scope == "project" and config.transport == "stdio" else ""
        self._known = self._digest()

    def accept(self) -> None:
        """A person has the server started: the files are right as they are now."""
        self._known = self._digest()

    def check(self) -> None:
        """Raises:
        RewrittenServerError: one of them was changed since.
        """
        known, now = self._known, self._digest()
        changed = next((path for path in (*known, *now) if known.get(path) != now.get(path)), "")
        if changed:
            raise RewrittenServerError(
                f"{changed} was changed since this session began; look at it, then connect the server anew"
            )

    def _digest(self) -> dict[str, str]:
        if not self._folder:
            return {}
        from bobstay.config.digest import DigestLimitError, digest_files
        from bobstay.config.trust_parts import find_referenced_files

        try:
            return digest_files(find_referenced_files(self._command, self._folder))
        except DigestLimitError as error:
            return {str(error): ""}
