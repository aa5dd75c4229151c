"""A user's home, a project and a file of managed settings in a temporary folder, and sessions opened there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bobstay.config.paths import Paths

if TYPE_CHECKING:
    from pathlib import Path

    from bobstay.assembly.session import AgentSession


class UserFolders:
    """`home`, `work` and `managed.json`; what runs there gets `variables` and no others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home, self.work, self.managed = folder / "home", folder / "work", folder / "managed.json"
        self.home.mkdir(exist_ok=True)
        self.work.mkdir(exist_ok=True)
        self.variables = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}

    @property
    def paths(self) -> Paths:
        return replace(Paths.read(self.variables), managed=str(self.managed))

    def write(self, path: str, content: Any) -> Path:
        """A file beneath the folder: text as it is, anything else as JSON."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    async def open(self, **options: Any) -> AgentSession:
        """A session in `work`, by the options of the command line."""
        from bobstay.assembly.build_session import open_session
        from bobstay.config.environment import Environment
        from bobstay.config.options import Options

        options.setdefault("model", "demo")
        environment = replace(Environment.read(self.variables), paths=self.paths)
        return await open_session(Options(cwd=str(self.work), **options), environment=environment)
