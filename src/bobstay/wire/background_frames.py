"""Frames about background commands and sub-agents."""

from typing import TYPE_CHECKING

from bobstay.model.agent_events import AgentStarted
from bobstay.model.background_events import BackgroundEnded, BackgroundStarted
from bobstay.model.event import Event
from bobstay.wire import wire_frames
from bobstay.wire.wire_frames import Frame

if TYPE_CHECKING:
    from bobstay.wire.agent_frames import AgentFrames

_KIND = "local_bash"

_NO_AGENTS: Frame = {
    "spawned": 0,
    "requested": {"background": 0, "foreground": 0, "unset": 0},
    "started_in_background": 0,
    "max_depth": 0,
    "spawned_by_subagents": 0,
    "completed": 0,
    "failed": 0,
    "killed": {"parent": 0, "user": 0, "system": 0},
    "by_type": {},
}
"""What `AgentFrames.stats` has without any sub-agent; that module is loaded with the first one."""


class BackgroundTasks:
    """Tracks the running commands and sub-agents: hosts get the whole list with each change."""

    def __init__(self, session_id: str) -> None:
        self._id = session_id
        self._running: dict[str, Frame] = {}
        self._agents: AgentFrames | None = None

    @property
    def agent_stats(self) -> Frame:
        """How many sub-agents there were, for the result of a turn."""
        return self._agents.stats if self._agents is not None else _NO_AGENTS

    def of_agent(self, agent: str, event: Event) -> list[Frame]:
        """Frames for an event of the sub-agent with this id."""
        if self._agents is None:
            from bobstay.wire.agent_frames import AgentFrames

            self._agents = AgentFrames(self._id)
        before = self._agents.running
        frames = self._agents.frames(agent, event)
        if self._agents.running == before:
            return frames
        return [self._changed(), *frames] if isinstance(event, AgentStarted) else [*frames, self._changed()]

    def frames(self, event: BackgroundStarted | BackgroundEnded) -> list[Frame]:
        return self._started(event) if isinstance(event, BackgroundStarted) else self._ended(event)

    def _started(self, event: BackgroundStarted) -> list[Frame]:
        self._running[event.id] = {"task_id": event.id, "task_type": _KIND, "description": event.title}
        started = wire_frames.system(
            self._id,
            "task_started",
            task_id=event.id,
            tool_use_id=event.call_id,
            description=event.title,
            is_backgrounded=True,
            task_type=_KIND,
        )
        return [self._changed(), started]

    def _ended(self, event: BackgroundEnded) -> list[Frame]:
        if event.note:
            return []  # a hook, which hosts were not told about as a task
        self._running.pop(event.id, None)
        told = {"output_file": event.output_file, "summary": event.summary}
        return [*wire_frames.task_end(self._id, event.id, event.call_id, event.status, **told), self._changed()]

    def _changed(self) -> Frame:
        agents = self._agents.running if self._agents is not None else []
        return wire_frames.system(self._id, "background_tasks_changed", tasks=[*self._running.values(), *agents])
