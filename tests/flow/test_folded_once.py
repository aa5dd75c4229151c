"""Each durable event of a turn is folded into the state once, by whoever stores it (H3-1)."""

from typing import ClassVar

import msgspec

from bobstay.engine.state import State
from bobstay.model.event import Event
from bobstay.model.live_events import LIVE
from tests.kit.scripted_session import MakeSession
from tests.modelserver.script import Call, Say, Step
from tests.modelserver.server import ModelServer


class CountedState(State, frozen=True):
    """A state that remembers what was folded into it and into all states made from it."""

    folded: ClassVar[list[Event]] = []

    def apply(self, event: Event) -> State:
        self.folded.append(event)
        return super().apply(event)


async def test_each_event_is_folded_once(model: ModelServer, make_session: MakeSession) -> None:
    session = make_session(mode="bypassPermissions")
    (session.work / "a.txt").write_text("one")
    session.journal.state = CountedState(**msgspec.structs.asdict(session.journal.state))
    CountedState.folded.clear()
    steps = [Step(blocks=[Call("Read", {"file_path": "a.txt", "limit": n + 1}, f"r{n}")]) for n in range(4)]
    await session.run(model.play("count", *steps, Step(blocks=[Say("Done.")])))
    durable = [event for event in session.events if not isinstance(event, LIVE)]
    assert len(durable) == 21
    assert CountedState.folded == durable
