"""Runs the program as a user does: with a home, settings, a folder, and only the variables a test sets."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, TypeAlias

from tests.kit.program import BOBSTAY
from tests.modelserver import ModelServer

Ended: TypeAlias = "subprocess.CompletedProcess[str]"


class UserEnvironment:
    def __init__(self, model: ModelServer, folder: Path) -> None:
        self.server = model
        self.home = folder / "home"
        self.work = folder / "work"
        self.home.mkdir()
        self.work.mkdir()

    def user(self, settings: Any, folder: str = ".bobstay") -> Path:
        return self._write(self.home / folder / "settings.json", settings)

    def project(self, settings: Any, folder: str = ".claude") -> Path:
        return self._write(self.work / folder / "settings.json", settings)

    def run(self, *arguments: str, stdin: str | None = None, **variables: str) -> Ended:
        """Without a key or address, unless `variables` has them."""
        env = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            **variables,
        }
        return subprocess.run(
            [BOBSTAY, *arguments],
            input="" if stdin is None else stdin,
            capture_output=True,
            text=True,
            cwd=self.work,
            env=env,
            timeout=200,
            check=False,
        )

    def ask(self, *arguments: str, **variables: str) -> Ended:
        """Run a prompt that the scripted model answers with `Hello.`"""
        from tests.wire.flows import say

        return self.run("-p", self.server.play("t", say("Hello.")), *arguments, **variables)

    def anthropic(self, **more: str) -> dict[str, str]:
        return {"ANTHROPIC_API_KEY": "key-of-the-environment", "ANTHROPIC_BASE_URL": self.server.url, **more}

    def _write(self, path: Path, settings: Any) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(settings if isinstance(settings, str) else json.dumps(settings, indent=1))
        return path
