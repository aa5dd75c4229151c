"""What a session lends its tools, and what it remembers about them: files seen, where the shell stands."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bobstay.model.event import Event, PermissionsChanged, Task, TasksReplaced, ToolDone
from bobstay.tools.base import Context


class ToolEnvironment:
    """A fold over the same events as the state, kept apart because only tools look at it."""

    def __init__(
        self,
        *,
        session_id: str,
        root: Path,
        directories: tuple[Path, ...],
        spill: Path,
        environment: dict[str, str],
    ) -> None:
        self.session_id = session_id
        self.root = root
        self.cwd = root
        self.spill = spill
        self.environment = environment
        self.parts: dict[str, Any] = {"tasks": lambda: self.tasks}
        self.tasks: tuple[Task, ...] = ()
        self.directories = directories
        self._known: dict[str, str] = {}

    def known(self, path: str) -> str | None:
        return self._known.get(path)

    def apply(self, event: Event) -> None:
        if isinstance(event, ToolDone):
            self._known.update(event.files)
            if event.cwd:
                self.cwd = Path(event.cwd)
        elif isinstance(event, TasksReplaced):
            self.tasks = event.tasks
        elif isinstance(event, PermissionsChanged):
            for update in event.updates:
                self._change_directories(update)

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
            parts=self.parts,
            environment=self.environment,
        )

    def _change_directories(self, update: dict[str, Any]) -> None:
        named = tuple(Path(str(path)) for path in update.get("directories") or ())
        if update.get("type") == "addDirectories":
            self.directories += tuple(path for path in named if path not in self.directories)
        elif update.get("type") == "removeDirectories":
            self.directories = tuple(path for path in self.directories if path not in named or path == self.root)
