"""The installed command with the settings of a user and a project, and only the variables a test sets."""

import json
import os
from pathlib import Path
from typing import Any

from tests.kit.installed_command import Ended, InstalledCommand
from tests.modelserver import ModelServer
from tests.wire.flows import say


class UserEnvironment(InstalledCommand):
    """Without a key or address of a model, unless a run is given them."""

    def __init__(self, model: ModelServer, folder: Path) -> None:
        super().__init__(model, folder)
        self.variables = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "CLAUDE_CODE_MAX_RETRIES": "0",
        }

    def user(self, settings: Any, folder: str = ".bobstay") -> Path:
        return self._settings(f"home/{folder}", settings)

    def project(self, settings: Any, folder: str = ".claude") -> Path:
        return self._settings(f"work/{folder}", settings)

    def ask(self, *arguments: str, **variables: str) -> Ended:
        """Run a prompt that the scripted model answers with `Hello.`"""
        return self.run("-p", self.model.play("t", say("Hello.")), *arguments, **variables)

    def anthropic(self, **more: str) -> dict[str, str]:
        return {"ANTHROPIC_API_KEY": "key-of-the-environment", "ANTHROPIC_BASE_URL": self.model.url, **more}

    def _settings(self, folder: str, settings: Any) -> Path:
        text = settings if isinstance(settings, str) else json.dumps(settings, indent=1)
        return self.write(f"{folder}/settings.json", text)
