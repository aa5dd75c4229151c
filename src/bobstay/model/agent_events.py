"""Events of sub-agents, in the log of the session that started them."""

from typing import Literal, TypeAlias

from msgspec import Struct

from bobstay.model.message import Usage

AgentStatus: TypeAlias = Literal["completed", "failed", "killed", "lost"]


class AgentEvent(Struct, frozen=True):
    """Group of the events of sub-agents."""


class AgentStarted(AgentEvent, frozen=True, tag="agent_started", omit_defaults=True):
    """A sub-agent works on a prompt. Its own entries have its id as their `agent`; `AgentEnded` ends its work."""

    id: str
    call_id: str
    """The call that gave it this prompt."""
    agent_type: str
    """Name of its definition."""
    description: str
    prompt: str
    model: str
    mode: str = ""
    """Its permission mode; "" for that of the session."""
    effort: str = ""
    depth: int = 1
    background: bool = False
    first_call: str = ""
    """It had ended before and continues its conversation: the call that started it then."""
    forked_at: str = ""
    """The entry up to which it shares the conversation of the agent that started it; "" if it shares none."""
    worktree: str = ""
    """Its own worktree, if it has one."""
    branch: str = ""

    @property
    def parent_call(self) -> str:
        """The call under which its entries stand."""
        return self.first_call or self.call_id


class AgentEnded(AgentEvent, frozen=True, tag="agent_ended", omit_defaults=True):
    id: str
    call_id: str
    agent_type: str
    description: str
    status: AgentStatus
    """`lost`: the program that ran it ended before it did, and it cannot be resumed."""
    text: str = ""
    """Its last answer, or what went wrong."""
    usage: Usage = Usage()
    tool_uses: int = 0
    duration_ms: int = 0
    worktree: str = ""
    """The worktree with its changes, if one is left."""
    notice: str = ""
    """Id of the `Prompted` that reports it to the agent that started it; "" if the reply to the call does."""
    tell: Literal["wake", "next_turn", "no"] = "no"
    """When that agent is told: at once (in a turn of its own if needed), with the next prompt, or not at all."""

    @property
    def summary(self) -> str:
        match self.status:
            case "completed":
                return f'Agent "{self.description}" completed'
            case "failed":
                return f'Agent "{self.description}" failed: {self.text[:200]}'
            case "killed":
                return f'Agent "{self.description}" was stopped'
            case "lost":
                return f'Agent "{self.description}" was lost: the program that ran it ended before it did'
