"""Sessions opened in a folder with its files and settings, whose model is the scripted one, and what it was told."""

from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from bobstay.assembly.session_library import AGENTS
from bobstay.model.event import Event
from tests.kit.environments import model_variables
from tests.kit.user_folders import UserFolders
from tests.modelserver.script import Say, Step
from tests.modelserver.server import ModelServer

SESSION = "00000000-0000-4000-8000-0000000000f5"


class FolderSessions(UserFolders):
    """Every session is in the trusted folder `work`, unless the options say otherwise."""

    def __init__(self, model: ModelServer, folder: Path) -> None:
        super().__init__(folder)
        self.model = model
        self.variables |= {**model_variables(model), "BOBSTAY_HOME": str(self.home / ".bobstay")}
        self.warnings: list[str] = []

    async def ask(
        self, *prompts: str, steps: tuple[Step | Callable[[Any], Step], ...] = (), **options: Any
    ) -> list[Event]:
        """Open a session, work on each prompt, and close it; `steps` answer the first prompt."""
        events: list[Event] = []
        session = await self.open(**{"model": "claude-sonnet-4-5", "trust": True, **options})
        try:
            for number, prompt in enumerate(prompts):
                answers = steps if steps and not number else (Step(blocks=[Say("ok")]),)
                token = self.model.play(f"s{len(self.model.requests)}x{number}", *answers)
                async with aclosing(session.run(f"{prompt} {token}")) as turn:
                    events += [event async for event in turn]
        finally:
            self.warnings = session.warnings
            await session.close()
        return events

    def blocks(self, request: int = -1, message: int = 0) -> list[str]:
        """The texts of one message of a request, without the list of agents that every session begins with."""
        content = self.model.requests[request].body["messages"][message]["content"]
        texts = [content] if isinstance(content, str) else [block.get("text", "") for block in content]
        return [text for text in texts if AGENTS not in text]

    def system(self, request: int = -1) -> str:
        return str(self.model.requests[request].body["system"])
