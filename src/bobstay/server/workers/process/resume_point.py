"""Resume point of a session, folded from its log: the conversation of the engine, and queued inputs."""

from msgspec import Struct

from bobstay.model.agent_events import AgentEvent
from bobstay.model.background_events import BackgroundEvent
from bobstay.model.event import (
    BlockDone,
    InputDropped,
    InputQueued,
    InteractionEvent,
    MessageDone,
    NoticeEvent,
    Prompted,
    Pruned,
    RunDone,
    SessionStarted,
    SettingsEvent,
    ToolEvent,
    TurnStarted,
)
from bobstay.model.ids import is_uuid, new_id
from bobstay.model.message import Text
from bobstay.model.session_events import (
    ArtifactMade,
    Configured,
    InterruptAsked,
    SessionChanged,
    WorkerExited,
    WorkerStarted,
)
from bobstay.server.sessions.open_session import OpenSession
from bobstay.server.workers.process.engine_command_line import EngineConversation


class ResumePoint(Struct):
    """A fold over the log that is continued on demand."""

    engine_session: str = ""
    """The engine's id of the conversation, as last reported."""
    inherited: str = ""
    """That of the session this one was forked from; it must be copied, not resumed."""
    cut: str = ""
    """The engine's last entry that belongs to the copy."""
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
                case (
                    InteractionEvent()
                    | ToolEvent()
                    | SettingsEvent()
                    | BackgroundEvent()
                    | AgentEvent()
                    | NoticeEvent()
                ):
                    continue
                case InputQueued() | InputDropped() | Prompted() | TurnStarted() | BlockDone():
                    continue
                case MessageDone() | Pruned() | RunDone():
                    continue
                case WorkerStarted() | WorkerExited():
                    continue
                case SessionStarted() | Configured() | SessionChanged() | InterruptAsked() | ArtifactMade():
                    continue
        self.inputs = {id: queued for id, queued in self.inputs.items() if id in waiting}

    def conversation(self, *, ephemeral: bool = False, form: str = "stream-json") -> EngineConversation:
        """The conversation that the engine resumes or begins. Its ids are UUIDs only.

        An `ephemeral` engine cannot resume one. An engine that does not stream reports no ids of entries, so its
        copies are of the whole conversation; if it writes plain text, it is given the id of the copy.
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
    """The engine's id of this session: `claude --resume ID` resumes it in a terminal."""
    past = ResumePoint()
    past.catch_up(session)
    return past.engine_session
