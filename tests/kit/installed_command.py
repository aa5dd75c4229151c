"""The installed command as a user runs it: in a project, with a home, the scripted model, and no other variables."""

import json
import subprocess
from pathlib import Path
from typing import Any, TypeAlias

from tests.kit.program import BOBSTAY, Frame, Program, environment
from tests.kit.user_folders import UserFolders
from tests.modelserver.server import ModelServer

Ended: TypeAlias = "subprocess.CompletedProcess[str]"
Started: TypeAlias = "subprocess.Popen[str]"


class InstalledCommand(UserFolders):
    """Runs in `work` with `variables`, which may be changed."""

    def __init__(self, model: ModelServer, folder: Path) -> None:
        super().__init__(folder)
        self.model = model
        self.variables = environment(model, self.home)

    def start(self, *arguments: str, stdin: int = subprocess.DEVNULL, **variables: str) -> Started:
        pipe = subprocess.PIPE
        env = {**self.variables, **variables}
        return subprocess.Popen(
            [BOBSTAY, *arguments], stdin=stdin, stdout=pipe, stderr=pipe, text=True, cwd=self.work, env=env
        )

    def run(self, *arguments: str, stdin: str | None = None, **variables: str) -> Ended:
        """Run it to its end; without `stdin` nothing can be read."""
        with self.start(*arguments, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE, **variables) as run:
            try:
                out, errors = run.communicate(stdin, timeout=200)
            finally:
                run.kill()
        return subprocess.CompletedProcess(arguments, run.returncode, out, errors)

    def frames(self, prompt: str, *arguments: str) -> list[Frame]:
        """What it tells hosts about a prompt."""
        ended = self.run("-p", prompt, "--output-format", "stream-json", "--verbose", *arguments)
        return [json.loads(line) for line in ended.stdout.splitlines()]

    async def host(self, *arguments: str, **more: Any) -> Program:
        """Start it as a host does; `more` is for `Program.start`."""
        return await Program.start(BOBSTAY, *arguments, cwd=self.work, env=self.variables, **more)
