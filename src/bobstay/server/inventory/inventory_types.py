"""Types of the inventory of an engine: names and sources, never the secrets of their configuration."""

from typing import Literal, TypeAlias

from msgspec import Struct

Level: TypeAlias = Literal["managed", "user", "project", "local", "session", "plugin", "bundled", "engine"]
"""Where it is configured: by the machine's owner, the user, the project, the project on this machine, the session, a
plugin, bobstay itself; or `engine`, if only the engine reported it."""


class SlashCommand(Struct, frozen=True):
    name: str
    """Without the slash."""
    description: str
    hint: str
    """Hint about its arguments."""
    source: str
    """The file or the MCP server that defines it; empty for commands of the engine itself."""
    level: Level
    trusted: bool
    kind: Literal["command", "skill", "prompt", "builtin"] = "command"
    """A command, a skill, a prompt of an MCP server, or one that is answered without the model."""


class McpToolView(Struct, frozen=True):
    name: str
    """As the server calls it."""
    description: str
    read_only: bool = False
    """What the server claims; nobody relies on it."""


class McpServer(Struct, frozen=True):
    name: str
    state: str
    """As reported by the engine: `connected`, `failed`, `needs-auth`, `pending`, `disabled`; else `configured`, or
    `not_used` if the engine does not use such servers."""
    source: str
    """The file that names it."""
    level: Level
    trusted: bool
    error: str = ""
    """Why it is not connected, or was not started."""
    transport: str = ""
    target: str = ""
    """The command or the address, without secrets."""
    tools: tuple[McpToolView, ...] = ()
    """Those of a connected server."""
    prompts: int = 0
    resources: int = 0
    digest: str = ""
    """Digest of its entry as it is written: an approval is bound to it."""
    needs_approval: bool = False
    """A server of the project that starts once somebody approves its entry."""
    can_sign_in: bool = False
    sign_in: str = ""
    """The address of a sign-in that is under way."""
    live: bool = False
    """The running agent holds it: it can be reconnected, and switched off and on."""


class HookEntry(Struct, frozen=True):
    event: str
    matcher: str
    """Empty to match every such event."""
    command: str
    source: str
    level: Level
    trusted: bool
    in_force: bool
    """Whether the engine would run it."""


class NamedExtension(Struct, frozen=True):
    """A skill or an agent type."""

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
    """Instructions of an untrusted directory are given to the model as content of that directory, not as the user's."""


class SandboxState(Struct, frozen=True):
    enabled: bool
    """Whether the settings enable a sandbox for commands."""
    kind: str
    """The sandbox that works here; empty if none is enabled or none works."""
    problem: str


class Capabilities(Struct, frozen=True):
    """Actions that are possible with this session now. Clients hide those that are false."""

    fork: bool = False
    fork_at_message: bool = False
    rewind: bool = False
    """Undo changes to files since a message."""
    compact: bool = False
    steer: bool = False
    """Messages reach the agent during a turn."""
    queue: bool = False
    images: bool = False
    change_model: bool = False
    change_permission_mode: bool = False
    change_workflow: bool = False
    ask_user: bool = False
    """Its questions and approval requests come to the inbox."""
    edit_input: bool = False
    """A tool call can be allowed with a changed input."""
    plan_review: bool = False
    interrupt: bool = False
    terminal_resume: bool = False
    """Its conversation can be resumed in a terminal."""
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
    """The current branch, or the start of a commit hash; empty without a repository."""
    origin: Literal["settings", "engine", "files"]
    """Source of the inventory: bobstay's settings, the report of a running engine, or the files it would read."""
    at: float | None
    """When the engine reported it."""
    version: str
    trusted: bool
    notice: str
    """What is disabled because the directory is not trusted."""
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
    """Problems with files that cannot be used."""
