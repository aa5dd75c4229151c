"""TEMPORARY: definitions of sub-agents until the library package is here."""

from msgspec import Struct


class AgentDefinition(Struct, frozen=True):
    name: str
    description: str
    prompt: str
    tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    permission_mode: str = ""
    max_turns: int | None = None
    isolation: str = ""


BUILT_IN = (
    AgentDefinition("general-purpose", "Any task of several steps", "You do one task on behalf of another agent."),
    AgentDefinition("Explore", "Searches code", "You search code.", ("Glob", "Grep", "Read", "Bash")),
)
