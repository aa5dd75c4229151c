"""Frames about sub-agents: their start and end, their progress, and their own messages."""

import time
from collections import Counter
from typing import Any

from bobstay.model.agent_events import AgentEnded, AgentStarted
from bobstay.model.api_shape import message_json, reply_content
from bobstay.model.event import BlockDone, Event, MessageDone, Prompted, ToolDone
from bobstay.model.message import Text, Thinking, ToolCall, Usage
from bobstay.wire import wire_frames
from bobstay.wire.tool_result_frames import display
from bobstay.wire.wire_frames import Frame

KIND = "local_agent"


class AgentFrames:
    """Frames of the sub-agents of one session. Pass it every event of theirs in order."""

    def __init__(self, session_id: str) -> None:
        self._id = session_id
        self._progress: dict[str, _Progress] = {}
        self._all: dict[str, tuple[AgentStarted, AgentEnded | None]] = {}
        """Every sub-agent as it was first started, and how its work ended last."""

    @property
    def stats(self) -> Frame:
        """How many sub-agents there were so far, and what became of them."""
        started = [each for each, _ in self._all.values()]
        ends = [ended for _, ended in self._all.values() if ended is not None]
        killed = [ended for ended in ends if ended.status == "killed"]
        background = sum(each.background for each in started)
        by_person = sum(ended.tell == "next_turn" for ended in killed)
        return {
            "spawned": len(started),
            "requested": {"background": background, "foreground": len(started) - background, "unset": 0},
            "started_in_background": background,
            "max_depth": max((each.depth for each in started), default=0),
            "spawned_by_subagents": sum(each.depth > 1 for each in started),
            "completed": sum(ended.status == "completed" for ended in ends),
            "failed": sum(ended.status in ("failed", "lost") for ended in ends),
            "killed": {"parent": len(killed) - by_person, "user": by_person, "system": 0},
            "by_type": dict(Counter(each.agent_type for each in started)),
        }

    @property
    def running(self) -> list[Frame]:
        """The agents in the background, for the list of background tasks."""
        return [
            {"task_id": id_, "task_type": KIND, "description": each.started.description}
            for id_, each in self._progress.items()
            if each.started.background
        ]

    def frames(self, agent: str, event: Event) -> list[Frame]:
        """Frames for an event of the sub-agent with this id, its start and its end included."""
        if isinstance(event, AgentStarted):
            return self._started(event)
        if isinstance(event, AgentEnded):
            return self._ended(event)
        progress = self._progress.get(agent)
        if progress is None:
            return []
        if isinstance(event, BlockDone):
            return self._block(progress, event)
        if isinstance(event, ToolDone):
            return self._tool_done(progress, event)
        if isinstance(event, MessageDone):
            progress.usage += event.usage
        elif isinstance(event, Prompted) and event.why == "agent" and not progress.started.background:
            content = [{"type": "text", "text": block.text} for block in event.blocks if isinstance(block, Text)]
            return [self._of(progress.started, wire_frames.user(self._id, content))]
        return []

    def _started(self, started: AgentStarted) -> list[Frame]:
        self._progress[started.id] = _Progress(started)
        self._all[started.id] = (self._all.get(started.id, (started, None))[0], None)
        return [
            wire_frames.system(
                self._id,
                "task_started",
                task_id=started.id,
                tool_use_id=started.call_id,
                description=started.description,
                subagent_type=started.agent_type,
                is_backgrounded=started.background,
                spawn_depth=started.depth,
                task_type=KIND,
                prompt=started.prompt,
            )
        ]

    def _ended(self, ended: AgentEnded) -> list[Frame]:
        self._progress.pop(ended.id, None)
        if (known := self._all.get(ended.id)) is not None:
            self._all[ended.id] = (known[0], ended)
        usage = _usage(ended.usage, ended.tool_uses, ended.duration_ms)
        told = {"output_file": "", "summary": ended.summary, "usage": usage}
        return wire_frames.task_end(self._id, ended.id, ended.call_id, ended.status, **told)

    def _block(self, progress: "_Progress", event: BlockDone) -> list[Frame]:
        block, started = event.block, progress.started
        if isinstance(block, Thinking) or (isinstance(block, Text) and not started.background):
            return []  # hosts show what a foreground agent does; its text is the result of the call
        message = message_json("assistant", (block,), id=event.message_id, model=event.model, usage=event.usage)
        frames = [self._of(started, wire_frames.assistant(self._id, message))]
        if isinstance(block, ToolCall):
            progress.last_tool = block.name
            progress.tool_uses += 1
            frames.append(self._progress_frame(progress))
        return frames

    def _tool_done(self, progress: "_Progress", event: ToolDone) -> list[Frame]:
        reply = event.reply
        content = {
            "tool_use_id": reply.call_id,
            "type": "tool_result",
            "content": reply_content(reply),
            "is_error": reply.is_error,
        }
        return [self._of(progress.started, wire_frames.user(self._id, [content], tool_use_result=display(event)))]

    def _progress_frame(self, progress: "_Progress") -> Frame:
        started = progress.started
        elapsed = int((time.monotonic() - progress.began) * 1000)
        return wire_frames.system(
            self._id,
            "task_progress",
            task_id=started.id,
            tool_use_id=started.call_id,
            description=started.description,
            usage=_usage(progress.usage, progress.tool_uses, elapsed),
            last_tool_name=progress.last_tool,
        )

    def _of(self, started: AgentStarted, frame: Frame) -> Frame:
        frame["parent_tool_use_id"] = started.parent_call
        return frame | {
            "agent_id": started.id,
            "subagent_type": started.agent_type,
            "task_description": started.description,
        }


class _Progress:
    def __init__(self, started: AgentStarted) -> None:
        self.started = started
        self.usage = Usage()
        self.tool_uses = 0
        self.last_tool = ""
        self.began = time.monotonic()


def _usage(usage: Usage, tool_uses: int, duration_ms: int) -> dict[str, Any]:
    return {"total_tokens": usage.context, "tool_uses": tool_uses, "duration_ms": duration_ms}
