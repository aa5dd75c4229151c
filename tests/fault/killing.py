"""One scripted run: start, kill, and checks of the state it left."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from bobstay.model.ids import new_id
from tests.fault import story
from tests.fault.aftermath import Remains, check_all, name_of
from tests.fault.victim import Victim
from tests.kit.program import BOBSTAY, Frame, initialize, prompt
from tests.modelserver import ModelServer

PROMPT = "Do the twenty things."


class Killing:
    def __init__(self, model: ModelServer, folder: Path) -> None:
        self.server, self.folder, self.session = model, folder, new_id()
        story.lay_out(folder / "work")
        self.model = story.Model()
        self.token = model.play("story", self.model)
        self.silent_about = ""
        """The deed about which the person never answers."""

    async def run(self, until: Callable[[Victim], Awaitable[None]], program: str = BOBSTAY) -> Remains:
        """Start it, kill it when `until` returns (unless it killed itself), and check everything."""
        options = ("--session-id", self.session, *story.ARGUMENTS)
        victim = await Victim.begin(self.server, self.folder, *options, program=program, answer=self.person)
        try:
            victim.send(initialize(), prompt(f"{self.token} {PROMPT}"))
            await until(victim)
            if victim.process.returncode is None:
                await victim.kill_now()
        finally:
            await victim.kill()
        self.model.stops = {}
        return await check_all(self.server, self.folder, self.session, self.token, victim, f"{self.token} {PROMPT}")

    def person(self, request: Frame) -> Frame | None:
        """Allows everything but the one thing."""
        if request["subtype"] != "can_use_tool":
            return {}
        return None if name_of(request["tool_use_id"]) == self.silent_about else story.allow(request)
