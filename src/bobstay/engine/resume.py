"""Resumes the tool calls of an answer after a crash: a call that had started is not run again, the others are run.

A call that had started a sub-agent runs again, because it continues that sub-agent where it was.
"""

from bobstay.engine.agent import Agent, RequestBuilder
from bobstay.engine.approval import PriorProgress
from bobstay.engine.engine_ports import Route
from bobstay.engine.state import State
from bobstay.engine.step import Step
from bobstay.engine.turn_control import TurnControl
from bobstay.model.event import InteractionClosed, ToolDone
from bobstay.model.message import Text, ToolCall, ToolReply

LOST = "The program ended while this ran. What it did until then stays done: check before trying again."
SECRET = "The program ended before this ran, and its input held a secret that is not stored. It had no effect."  # noqa: S105 - a message


class ResumedStep(Step):
    """A step without a model request: the answer is stored, but some of its calls have no reply."""

    def __init__(self, agent: Agent, route: Route, state: State, control: TurnControl, call_ids: set[str]) -> None:
        super().__init__(agent, route, RequestBuilder().request(agent, state, route), control, call_ids)
        self._state = state
        self.stop = "tool_use"

    async def _pump(self) -> None:
        for call in self._state.unanswered:
            granted = self._state.granted.get(call.id)
            opened = next((entry for entry in self._state.interactions if entry.call.id == call.id), None)
            if call.id in self._state.started and not self._started_agent(call):
                self._box.put(_interrupted_reply(call, LOST))
            elif self._agent.toolbox.redactor.find_placeholder([call.input, granted.input if granted else None]):
                if opened is not None:
                    self._box.put(InteractionClosed(opened.id, "cancelled", SECRET, "restart"))
                self._box.put(_interrupted_reply(call, SECRET))
            else:
                self._start(call, PriorProgress(opened, granted))

    def _started_agent(self, call: ToolCall) -> bool:
        return any(agent.call_id == call.id for agent in self._state.agents.values())


def _interrupted_reply(call: ToolCall, text: str) -> ToolDone:
    return ToolDone(ToolReply(call.id, (Text(text),), is_error=True), name=call.name, interrupted=True)
