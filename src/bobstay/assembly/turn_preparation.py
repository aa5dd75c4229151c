"""What comes before the turn of a session: its MCP servers, interrupted sub-agents, and what its agent says first."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from bobstay.assembly.server_connector import ServerConnector
from bobstay.engine.agent_tree import AgentTree
from bobstay.engine.driver import Driver
from bobstay.engine.prompt_expansion import ExpandPrompt
from bobstay.engine.running_agent import ParentAgent
from bobstay.engine.turn_control import TurnControl
from bobstay.model.event import Event
from bobstay.model.message import Text


class TurnPreparation:
    """One per session."""

    def __init__(self, driver: Driver, agents: AgentTree, servers: ServerConnector, initial_prompt: str) -> None:
        """`initial_prompt` gets a turn of its own before the first prompt; "" for none."""
        self._driver = driver
        self._agents = agents
        self._servers = servers
        self._initial_prompt = initial_prompt
        driver.prepare = self._prepare

    def begin(self, turn: AsyncGenerator[Event, None], expand: ExpandPrompt) -> AsyncGenerator[Event, None]:
        """Prepare a turn that works on a prompt."""
        initial, self._initial_prompt = self._initial_prompt, ""
        return _chain(self._driver.turn((Text(initial),), expand=expand), turn) if initial else turn

    async def _prepare(self, control: TurnControl) -> None:
        """Wait for MCP servers, and continue sub-agents that the end of an earlier process interrupted."""
        self._driver.opening += await control.unless_aborted(self._servers.prepare_turn()) or []
        if self._driver.state.running_agents and not self._agents.list_running():
            await self._agents.resume_background(ParentAgent(self._driver.journal))


async def _chain(*turns: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    for turn in turns:
        async with aclosing(turn):
            async for event in turn:
                yield event
