"""The official SDK, driving the installed program against the scripted model."""

import os
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, query

from tests.kit.installed_command import InstalledCommand
from tests.kit.program import BOBSTAY
from tests.modelserver import ModelServer


class SdkHost(InstalledCommand):
    """Options that lead the SDK to the installed command."""

    def __init__(self, model: ModelServer, folder: Path) -> None:
        super().__init__(model, folder)
        (self.work / "a.txt").write_text("one\ntwo\n")
        # The SDK says this itself, and also that it reads states.
        del self.variables["CLAUDE_CODE_ENTRYPOINT"], self.variables["CLAUDE_CODE_SDK_READS_SESSION_STATE"]

    def play(self, *steps: Any, name: str = "main") -> str:
        return f"{self.model.play(name, *steps)} go"

    def options(self, **more: Any) -> ClaudeAgentOptions:
        env = {**self.variables, **more.pop("env", {})}
        more.setdefault("cwd", str(self.work))
        return ClaudeAgentOptions(cli_path=BOBSTAY, env=env, **more)

    async def query(self, prompt: str, **more: Any) -> list[Any]:
        return [message async for message in query(prompt=prompt, options=self.options(**more))]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [asked.body for asked in self.model.requests]


@pytest.fixture
def sdk(model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SdkHost:
    # The SDK hands its own environment down: nothing of the tester's may get through.
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "ANTHROPIC", "BOBSTAY", "OPENAI", "GEMINI")):
            monkeypatch.delenv(name)
    return SdkHost(model, tmp_path)
