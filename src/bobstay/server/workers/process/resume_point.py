"""What the log of a session says to a process that takes it up: which talk of the engine it is, and what waits."""

from msgspec import Struct

from bobstay.model.event import BlockDone, InputQueued
from bobstay.model.ids import is_uuid, new_id
from bobstay.model.message import Text
from bobstay.model.session_events import SessionChanged, WorkerStarted
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.workers.process.engine_command_line import EngineConversation


class ResumePoint(Struct):
    """A fold over the log, taken further whenever something new is looked for."""

    engine_session: str = ""
    """The engine's id of the talk, as it was last told."""
    inherited: str = ""
    """That of the session this one began as a copy of; it must not be gone on with, only copied."""
    cut: str = ""
    """The engine's entry up to which the copy goes."""
    inputs: dict[str, InputQueued] = {}
    ids: set[str] = set()
    """Ids of entries that an engine chose."""
    seq: int = 0

    def catch_up(self, session: OpenSession) -> None:
        waiting = {entry.id for entry in session.view.queued}
        text = ""
        for envelope in session.read(self.seq):
            self.seq = envelope.seq
            match envelope.event:
                case WorkerStarted(engine_session=id) if id:
                    self.engine_session = id
                case SessionChanged(parent=parent) if parent:
                    self.inherited, self.engine_session = self.engine_session, ""
                    self.cut = text
                case InputQueued(id=id) if id in waiting:
                    self.inputs[id] = envelope.event
                case BlockDone(block=block) if not envelope.parent_call:
                    self.ids.add(envelope.id)
                    text = envelope.id if isinstance(block, Text) else text
                case _:
                    continue
        self.inputs = {id: queued for id, queued in self.inputs.items() if id in waiting}

    def talk(self, *, ephemeral: bool = False, form: str = "stream-json") -> EngineConversation:
        """How the engine is told which talk to go on with. Only UUIDs: nothing else is an id to it.

        An `ephemeral` engine has none to go on with. One that does not stream tells no ids of entries, so its copies
        are of the whole talk; and where it writes text alone, it is given the id of the copy.
        """
        if ephemeral:
            return EngineConversation(new=new_id())
        if is_uuid(self.engine_session):
            return EngineConversation(resume=self.engine_session)
        if is_uuid(self.inherited):
            at = self.cut if form == "stream-json" and is_uuid(self.cut) else ""
            return EngineConversation(resume=self.inherited, fork=True, at=at, new=new_id() if form == "text" else "")
        return EngineConversation(new=new_id())


def engine_session(session: OpenSession) -> str:
    """The id by which the engine knows this session: `claude --resume ID` goes on with it in a terminal (S004-35)."""
    past = ResumePoint()
    past.catch_up(session)
    return past.engine_session
