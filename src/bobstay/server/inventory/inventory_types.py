"""What an engine has around it, as a page shows it: names and places, never the secrets they are set up with."""

from typing import Literal, TypeAlias

from msgspec import Struct

Level: TypeAlias = Literal["managed", "user", "project", "local", "session", "engine"]
"""Who set it up: the machine's owner, the person, the folder, the folder on this machine, this session; or nobody
knows, and the engine told of it."""


class SlashCommand(Struct, frozen=True):
    name: str
    """Without the slash."""
    description: str
    hint: str
    """What may follow it."""
    source: str
    """The file it stands in; empty for those of the engine itself."""
    level: Level
    trusted: bool


class McpServer(Struct, frozen=True):
    name: str
    state: str
    """As the engine says: `connected`, `failed`, `needs-auth`, `pending`, `disabled`; else `configured`, or
    `not_used` where the engine has no use for such servers."""
    source: str
    level: Level
    trusted: bool


class HookEntry(Struct, frozen=True):
    event: str
    matcher: str
    """Empty: at every such moment."""
    command: str
    source: str
    level: Level
    trusted: bool
    in_force: bool
    """Whether the engine would run it."""


class NamedExtension(Struct, frozen=True):
    """A skill, or a kind of agent."""

    name: str
    description: str
    source: str
    level: Level
    trusted: bool


class InstructionFile(Struct, frozen=True):
    path: str
    bytes: int
    level: Level
    trusted: bool
    """What a folder nobody trusts says is given to the model as that folder's words, not as a person's."""


class SandboxState(Struct, frozen=True):
    enabled: bool
    """The settings want commands to run in one."""
    kind: str
    """Which one works here; empty where none is wanted, or none works."""
    problem: str


class Capabilities(Struct, frozen=True):
    """What can really be done with this session now. A page shows no button for what is false."""

    fork: bool = False
    fork_at_message: bool = False
    rewind: bool = False
    """Undo what was done to files since a message."""
    compact: bool = False
    steer: bool = False
    """Words reach the agent within a turn."""
    queue: bool = False
    images: bool = False
    change_model: bool = False
    change_permission_mode: bool = False
    change_workflow: bool = False
    ask_user: bool = False
    """Its questions and requests for permission come to the inbox."""
    edit_input: bool = False
    """A call can be allowed with another input."""
    plan_review: bool = False
    interrupt: bool = False
    terminal_resume: bool = False
    """Its talk can be gone on with in a terminal."""
    slash_commands: bool = False
    mcp: bool = False
    hooks: bool = False
    skills: bool = False
    agents: bool = False
    sandbox: bool = False


class EngineInventory(Struct, frozen=True):
    engine: str
    cwd: str
    branch: str
    """The branch checked out there, or the start of a commit's hash; empty where there is no repository."""
    origin: Literal["settings", "engine", "files"]
    """Where this is from: our own settings, the words of a running engine, or files it would read."""
    at: float | None
    """When the engine said so."""
    version: str
    trusted: bool
    notice: str
    """What is left out because nobody trusts the directory."""
    tools: tuple[str, ...]
    commands: tuple[SlashCommand, ...]
    mcp_servers: tuple[McpServer, ...]
    hooks: tuple[HookEntry, ...]
    skills: tuple[NamedExtension, ...]
    agents: tuple[NamedExtension, ...]
    instructions: tuple[InstructionFile, ...]
    sandbox: SandboxState
    capabilities: Capabilities
    problems: tuple[str, ...]
    """Files that cannot be used, in words for a person."""
