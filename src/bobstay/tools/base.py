"""Base class of tools, with their inputs, outcomes, claims and the services a session offers them."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field

from bobstay.model.event import Durable, Task
from bobstay.model.message import ReplyPart
from bobstay.permissions.access import Access, PolicyDecision
from bobstay.tools.tool_error import ToolError as ToolError  # noqa: PLC0414 - re-exported: tools import it from here

if TYPE_CHECKING:
    from bobstay.config.settings import WorktreeSettings
    from bobstay.http.network import Network
    from bobstay.tools.agent_service import AgentService
    from bobstay.tools.lsp.language_servers import LanguageServers
    from bobstay.tools.search_engines import SearchEngine
    from bobstay.tools.shell_session import ShellSession
    from bobstay.tools.skill_service import SkillService

A = TypeVar("A", bound="Args")


class Args(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Input of a tool. The JSON schema sent to the model is generated from it.

    Describe a field with `Annotated[str, Meta(description="...")]`.
    """


class Outcome(Struct, frozen=True):
    """Result of a tool call."""

    content: str | tuple[ReplyPart, ...]
    """For the model. The toolbox cuts text beyond the tool's cap and saves the rest to a spill file."""
    display: Any = None
    """For people and programs: JSON values only, in the shapes hosts of the wire protocol know."""
    is_error: bool = False
    files: dict[str, str] = {}
    """Path to content hash of each file whose content the model now knows."""
    events: tuple[Durable, ...] = ()
    """Events the call caused, such as `TasksReplaced` or `ModeChanged`."""
    cwd: str = ""
    root: str = ""
    """The directory the session works in from now on, if the call changed it."""
    lines_added: int = 0
    lines_removed: int = 0
    after: tuple[Durable, ...] = ()
    """Events that follow the reply, such as the text of a skill."""
    reminder: str = ""
    """What the model is told beside the result: instruction files that apply to what was read."""
    loads: tuple[str, ...] = ()
    """Names of deferred tools that the model may see from now on."""
    structured: Any = None
    """Set only by the tool that ends a run with structured output."""


class Claim(Struct, frozen=True):
    """A resource a call needs while it runs, such as `file:/a/b`. Shared claims on one name may be held together."""

    name: str
    shared: bool = False


EVERYTHING = Claim("*")
"""The default claim: the call runs alone."""


class FileLedger(Protocol):
    """Records which file contents the model has seen in this session."""

    def known(self, path: str) -> str | None:
        """The content hash the model last saw of `path`, or None if it never did."""
        ...


Need: TypeAlias = Literal[
    "", "person", "search", "schema", "patch", "repository", "languages", "agents", "skills", "tasks", "todos"
]
"""What a session must provide for a tool to be offered: a person to ask, a search engine, an output schema, a model
trained on the patch format, a git repository, a language server, sub-agents, skills.

`tasks`: it keeps single tasks; `todos`: it does not, and the list is written as a whole."""


class ToolServices(Struct):
    """Session-wide services that tools share. A session may lack any of them."""

    shells: "ShellSession | None" = None
    instructions_for: Callable[[str], str] | None = None
    """Returns a reminder of the instruction files that apply to a path and were not told yet, or ""."""
    schema: dict[str, Any] | None = None
    """JSON schema the final answer must match."""
    search: "SearchEngine | None" = None
    network: "Network | None" = None
    may_fetch: Callable[[str], PolicyDecision] | None = None
    """Judges a URL by the permission rules, for redirects."""
    denied_reads: Callable[[], Callable[[str], bool] | None] | None = None
    """Returns a predicate for paths whose reading a rule denies; None if no rule does."""
    tasks: Callable[[], tuple[Task, ...]] | None = None
    """Returns the current task list."""
    last_task_id: Callable[[], int] | None = None
    """Returns the highest id a task was ever given."""
    judge_task: "Callable[[Literal['TaskCreated', 'TaskCompleted'], Task], Awaitable[str]] | None" = None
    """Asks hooks about a change of the list; returns why it is refused, or ""."""
    plan_file: Path | None = None
    worktree: "WorktreeSettings | None" = None
    languages: "LanguageServers | None" = None
    """The language servers of this machine; None where there is none, or the folder is not trusted."""
    is_unread: Callable[[str], bool] | None = None
    """Whether the model still has to be notified that the background command with this id ended."""
    agents: "AgentService | None" = None
    console_socket: str = ""
    """The socket of this user's console, by which messages reach its sessions."""
    skills: "Callable[[], SkillService] | None" = None


class Context(Struct):
    """Everything a tool may use during one call."""

    cwd: Path
    """Base of relative paths: the current directory of the session's shell."""
    root: Path
    """The directory the session works in: its own, or that of a worktree it entered."""
    directories: tuple[Path, ...]
    """All working directories: `root` and the additional ones."""
    files: FileLedger
    spill: Path
    """Directory of this session for output too long to show; created on demand."""
    report: Callable[[str], None]
    """Shows progress (a piece of live output) to people."""
    call_id: str = ""
    session_id: str = ""
    mode: str = "default"
    services: ToolServices = field(default_factory=ToolServices)
    environment: dict[str, str] = {}
    """Environment of child processes, without keys and other secrets."""
    origin: Path | None = None
    """The directory the session was started in, if it works in a worktree now."""


class Tool(ABC, Generic[A]):
    """A tool. Subclass it in a module of its own under `tools/builtin` and override what applies.

    The defaults assume the worst: the call writes, must run alone, and needs approval.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    hint: ClassVar[str] = ""
    """Search terms that find this tool."""
    description: ClassVar[str]
    args: ClassVar[type[Any]]
    cap: ClassVar[int] = 30_000
    """Characters of result shown to the model; the rest goes to a spill file."""
    interaction: ClassVar[Literal["permission", "question", "plan"]] = "permission"
    """Kind of interaction a person sees when this tool needs approval."""
    needs: ClassVar[Need] = ""
    """Stored beside the schema, so that offering a tool does not import it."""

    @property
    def mcp_server(self) -> dict[str, str]:
        """`name` and `source` of the MCP server it belongs to; empty for other tools."""
        return {}

    def read_only(self, args: A, context: Context) -> bool:
        return False

    def destructive(self, args: A, context: Context) -> bool:
        """Whether the call may destroy data for good. People are then offered no lasting permission."""
        return False

    def polls(self, args: A) -> bool:
        """Whether this call only waits for or watches something else, so that repeating it is no error."""
        return False

    def stable_result(self, text: str) -> str:
        """The result without what is new each time, such as ids, so that a call that is repeated is recognised."""
        return text

    def access(self, args: A, context: Context) -> tuple[Access, ...]:
        """Declare everything this call would touch. Has no side effects and decides nothing.

        An empty tuple means "unknown": the call needs approval.
        """
        return ()

    def claims(self, args: A, context: Context) -> tuple[Claim, ...]:
        """Resources this call needs while it runs, exclusively or shared."""
        return (EVERYTHING,)

    async def check(self, args: A, context: Context) -> None:
        """Raise `ToolError` for input that is well formed but makes no sense. No side effects."""

    def content_of(self, display: Any) -> str:
        """The text for the model when a hook replaced the display: derived from `display` alone."""
        if isinstance(display, str):
            return display
        import msgspec

        return msgspec.json.encode(display).decode()

    @abstractmethod
    async def run(self, args: A, context: Context) -> Outcome:
        """Execute the call. Raise `ToolError` for a failure the model should read.

        The call may be cancelled at any await; nothing it started may outlive it.
        """
