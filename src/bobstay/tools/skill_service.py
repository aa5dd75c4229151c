"""The port by which the Skill tool calls commands and skills; assembly implements it."""

from typing import Protocol

from msgspec import Struct


class SkillResult(Struct, frozen=True):
    name: str
    text: str
    """What the model reads after the result: the body, or the report of the sub-agent that carried it out."""
    allowed_tools: tuple[str, ...] = ()
    agent: str = ""
    """Id of the sub-agent that carried it out."""


class SkillService(Protocol):
    def needs_permission(self, name: str) -> bool:
        """Whether calling it changes what may be done afterwards."""
        ...

    async def call(self, name: str, arguments: str, call_id: str) -> SkillResult:
        """Call a skill or command for the model.

        Raises:
            ToolError: there is none of that name, the model may not call it, or one of its inserts is not allowed.
        """
        ...
