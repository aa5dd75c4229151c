"""The environment of a session's tools: directories, services, known files, and the shell's working directory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bobstay.model.event import Event, PermissionsChanged, Prompted, Pruned, ToolDone
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
        self._shown: dict[str, tuple[str, str]] = {}
        """Content hash, and the call that showed it, of each file that the model saw as a whole."""

    def known(self, path: str) -> str | None:
        return self._known.get(path)

    def shown(self, path: str) -> str | None:
        """The content hash of a file that the model saw as a whole and still sees, or None."""
        return self._shown.get(path, (None, ""))[0]

    def apply(self, event: Event) -> None:
        if isinstance(event, ToolDone):
            self._known.update(event.files)
            if event.files:
                self._note_shown(event)
            if event.root:
                self.set_root(Path(event.root))
            if event.cwd:
                self.cwd = Path(event.cwd)
        elif isinstance(event, Prompted):
            self._known.update(event.files)
            self._shown.update({path: (known, "") for path, known in event.files.items()})
        elif isinstance(event, Pruned):
            self._shown = {path: seen for path, seen in self._shown.items() if seen[1] not in event.call_ids}
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

    def _note_shown(self, done: ToolDone) -> None:
        for path, known in done.files.items():
            # Who changes a file knows the rest of it as well as before.
            if shows_everything(done.display) or path in self._shown:
                self._shown[path] = (known, done.reply.call_id)

    def _change_directories(self, update: dict[str, Any]) -> None:
        named = tuple(Path(str(path)) for path in update.get("directories") or ())
        if update.get("type") == "addDirectories":
            self.directories += tuple(path for path in named if path not in self.directories)
        elif update.get("type") == "removeDirectories":
            self.directories = tuple(path for path in self.directories if path not in named or path == self.root)


def shows_everything(display: Any) -> bool:
    """Whether a reply shows all lines or pages of one file."""
    file = display.get("file") if isinstance(display, dict) else None
    if not isinstance(file, dict):
        return False
    if "totalLines" in file:
        return file.get("startLine") == 1 and file.get("numLines") == file["totalLines"]
    return "totalPages" not in file or (file.get("firstPage") == 1 and file.get("lastPage") == file["totalPages"])
