"""The environment of a session's tools: directories, services, known files, and the shell's working directory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bobstay.model.event import Event, PermissionsChanged, ToolDone
from bobstay.tools.base import Context, ToolServices


class ToolEnvironment:
    """A fold of the same events as `State`, separate because only tools use it."""

    def __init__(
        self,
        *,
        session_id: str,
        root: Path,
        directories: tuple[Path, ...],
        spill: Path,
        environment: dict[str, str],
        services: ToolServices,
    ) -> None:
        self.session_id = session_id
        self.root = root
        self.cwd = root
        self.spill = spill
        self.environment = environment
        self.services = services
        self.directories = directories
        self._origin = root
        self._known: dict[str, str] = {}

    def known(self, path: str) -> str | None:
        return self._known.get(path)

    def apply(self, event: Event) -> None:
        if isinstance(event, ToolDone):
            self._known.update(event.files)
            if event.root:
                self.set_root(Path(event.root))
            if event.cwd:
                self.cwd = Path(event.cwd)
        elif isinstance(event, PermissionsChanged):
            for update in event.updates:
                self._change_directories(update)

    def set_root(self, root: Path) -> None:
        """Work in another directory: a worktree, or the session's own again."""
        others = tuple(path for path in self.directories if path not in (self.root, root))
        self.root = self.cwd = root
        self.directories = (root, *others)
        if self.services.shells is not None:
            self.services.shells.cwd = None  # the next command starts in `cwd`

    @property
    def origin(self) -> Path:
        """The directory the session was started in."""
        return self._origin

    def context(self, call_id: str, mode: str, report: Callable[[str], None]) -> Context:
        return Context(
            cwd=self.cwd,
            root=self.root,
            directories=self.directories,
            files=self,
            spill=self.spill,
            report=report,
            call_id=call_id,
            session_id=self.session_id,
            mode=mode,
            services=self.services,
            environment=self.environment,
            origin=self._origin if self.root != self._origin else None,
        )

    def _change_directories(self, update: dict[str, Any]) -> None:
        named = tuple(Path(str(path)) for path in update.get("directories") or ())
        if update.get("type") == "addDirectories":
            self.directories += tuple(path for path in named if path not in self.directories)
        elif update.get("type") == "removeDirectories":
            self.directories = tuple(path for path in self.directories if path not in named or path == self.root)
