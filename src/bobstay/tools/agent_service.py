"""The port by which tools start sub-agents, send them messages and stop them; the engine implements it."""

from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from bobstay.model.agent_events import AgentEnded, AgentStarted

Isolation: TypeAlias = Literal["", "worktree"]


class AgentRequest(Struct, frozen=True):
    """What a call asks a sub-agent to do."""

    call_id: str
    description: str
    prompt: str
    type: str = "general-purpose"
    model: str = ""
    effort: str = ""
    background: bool = True
    isolation: Isolation = ""


class AgentService(Protocol):
    """The sub-agents of one agent, and those below them."""

    async def run(self, request: AgentRequest) -> tuple[AgentStarted, AgentEnded]:
        """Start a sub-agent and wait for its end. Cancelling this stops it.

        A call that was interrupted by the end of the program continues its sub-agent where it was.

        Raises:
            ToolError: there is no such type, or a limit is reached.
        """
        ...

    async def start(self, request: AgentRequest) -> AgentStarted:
        """Start a sub-agent in the background; a notice reports its end.

        Raises:
            ToolError: as for `run`.
        """
        ...

    async def send(self, to: str, message: str, *, call_id: str) -> list[tuple[AgentStarted, bool]]:
        """Send a message to a sub-agent by its id or the name of its type, or to all that run (`*`).

        One that runs reads it after its current tool calls; one that has ended continues with it in the background.
        Returns the recipients, and whether each was running.

        Raises:
            ToolError: there is no such agent.
        """
        ...

    async def stop(self, id: str) -> AgentStarted | None:
        """Stop a sub-agent and those below it; None if none with that id runs."""
        ...
