"""Each durable event of a turn is folded into the state once, by whoever stores it (H3-1)."""

from collections.abc import Callable
from typing import ClassVar

import msgspec

from bobstay.engine.state import State
from bobstay.model.event import Event
from bobstay.model.live_events import LIVE
from tests.flow.world import World
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


class CountedState(State, frozen=True):
    """A state that remembers what was folded into it and into all states made from it."""

    folded: ClassVar[list[Event]] = []

    def apply(self, event: Event) -> State:
        self.folded.append(event)
        return super().apply(event)


async def test_each_event_is_folded_once(server: ModelServer, world: Callable[..., World]) -> None:
    here = world(mode="bypassPermissions")
    (here.work / "a.txt").write_text("one")
    here.journal.state = CountedState(**msgspec.structs.asdict(here.journal.state))
    CountedState.folded.clear()
    steps = [Step(blocks=[Call("Read", {"file_path": "a.txt", "limit": n + 1}, f"r{n}")]) for n in range(4)]
    await here.run(server.play("count", *steps, Step(blocks=[Say("Done.")])))
    durable = [event for event in here.events if not isinstance(event, LIVE)]
    assert len(durable) == 21
    assert CountedState.folded == durable
