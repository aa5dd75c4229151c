"""Loads deferred tools for one sub-agent: what it finds is offered to it alone."""

from bobstay.assembly.session_parts import SharedTools
from bobstay.engine.state import State
from bobstay.engine.toolbox import Toolbox
from bobstay.model.event import Event, ToolDone
from bobstay.model.message import ToolReply


class AgentToolLoading:
    """Observes the journal of a sub-agent, whose toolbox begins with the tools that its session had loaded."""

    def __init__(self, toolbox: Toolbox, shared: SharedTools, state: State) -> None:
        """`state`: its conversation so far, which may hold searches of its own or of the agent it is a copy of."""
        self._toolbox = toolbox
        self._hidden = shared.hidden
        self._found = shared.found
        replies = (block for message in state.messages for block in message.blocks if isinstance(block, ToolReply))
        self._load({name for reply in replies for name in reply.loads})

    def apply(self, event: Event) -> None:
        if isinstance(event, ToolDone) and event.reply.loads:
            self._load(set(event.reply.loads))

    def _load(self, names: set[str]) -> None:
        self._found |= self._hidden & names
        self._hidden -= names
        self._toolbox.offer(self._toolbox.registry, self._hidden, self._found)
