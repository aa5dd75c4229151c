"""What a tool is: one class in one file, found by scanning, never registered elsewhere."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from bobstay.model.event import Durable
from bobstay.model.message import ReplyPart
from bobstay.permissions.access import Access

A = TypeVar("A", bound="Args")


class Args(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Input of a tool. The JSON schema the model is given is generated from this.

    Say what a field means with `Annotated[str, Meta(description="...")]`.
    """


class Outcome(Struct, frozen=True):
    """What a call gave."""

    content: str | tuple[ReplyPart, ...]
    """For the model. Text beyond the tool's cap is cut and spilled by the toolbox."""
    display: Any = None
    """For people and programs, JSON values only; SPEC 5.3 names the shapes hosts know."""
    is_error: bool = False
    files: dict[str, str] = {}
    """Path to content hash of each file whose content the model now knows."""
    events: tuple[Durable, ...] = ()
    """Facts the call brought about, such as `TasksReplaced` or `ModeChanged`."""
    cwd: str = ""
    lines_added: int = 0
    lines_removed: int = 0
    structured: Any = None
    """Set only by the tool that ends a run with structured output."""


class ToolError(Exception):
    """An expected failure. Its text is handed to the model as an error reply."""

    def __init__(self, message: str, *, display: Any = None) -> None:
        super().__init__(message)
        self.display = display


class Claim(Struct, frozen=True):
    """A resource a call needs while it runs, such as `file:/a/b`. Shared claims of one name go together."""

    name: str
    shared: bool = False


EVERYTHING = Claim("*")
"""What a call claims that does not know better: it runs alone."""


class FileLedger(Protocol):
    """Which file contents the model has seen in this session."""

    def known(self, path: str) -> str | None:
        """The content hash the model last saw of `path`, or None if it never did."""
        ...


Need: TypeAlias = Literal["", "person", "search", "schema"]
"""What a session must have for a tool to be offered in it: somebody to ask, a way to search the web, a schema."""


class Context(Struct):
    """What the session lends a tool for one call."""

    cwd: Path
    """Where relative paths start: the session's directory, or where its shell stands."""
    root: Path
    """The session's own directory; it never changes."""
    directories: tuple[Path, ...]
    """All working directories: `root` and those added to it."""
    files: FileLedger
    spill: Path
    """A directory of this session for output too long to show; made on demand."""
    report: Callable[[str], None]
    """Show progress (a piece of live output) to people."""
    call_id: str = ""
    session_id: str = ""
    mode: str = "default"
    parts: dict[str, Any] = {}
    """Session-long objects by name, for tools that share one:

    `shells` (tools.shells.Shells), `instructions` (path -> text of instruction files newly entered, or ""),
    `schema` (the JSON schema asked for), `search` (tools.search.Search), `may_fetch` (url -> Decision, for redirects),
    `hides` (() -> None, or a function that tells whether a rule denies reading the file at a path),
    `tasks` (() -> tuple[Task, ...], the list as it stands), `plan_file` (Path),
    `unread` (id -> bool, whether the model is still to be told that this background command ended)."""
    environment: dict[str, str] = {}
    """What child processes inherit, already scrubbed of keys."""


class Tool(ABC, Generic[A]):
    """Subclass it in a module of its own under `tools/builtin`; state what is true, leave the rest.

    What is not stated is assumed the unsafe way: the call writes, runs alone, and is asked about.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    hint: ClassVar[str] = ""
    """Words by which a search over tools finds this one."""
    description: ClassVar[str]
    args: ClassVar[type[Any]]
    cap: ClassVar[int] = 30_000
    """Characters of result shown to the model; the rest goes to a spill file."""
    interaction: ClassVar[Literal["permission", "question", "plan"]] = "permission"
    """What kind of question a person sees when this tool is asked about."""
    needs: ClassVar[Need] = ""
    """Kept beside the schema as data, so that offering tools imports none of them."""

    def read_only(self, args: A, context: Context) -> bool:
        return False

    def destructive(self, args: A, context: Context) -> bool:
        """Whether the call may destroy what cannot be brought back. People are then offered no lasting permission."""
        return False

    def polls(self, args: A) -> bool:
        """Whether this call only waits, or looks at something that changes by itself: repeating it is no error."""
        return False

    def access(self, args: A, context: Context) -> tuple[Access, ...]:
        """State all that this call would touch. It decides nothing and does nothing.

        An empty answer means "unknown", and is asked about.
        """
        return ()

    def claims(self, args: A, context: Context) -> tuple[Claim, ...]:
        """The resources this call needs to itself, or may share, while it runs."""
        return (EVERYTHING,)

    async def check(self, args: A, context: Context) -> None:
        """Refuse, by `ToolError`, what is well formed but makes no sense. No side effects."""

    def content_of(self, display: Any) -> str:
        """What the model reads of a result whose display a hook replaced; nothing but what stands in it."""
        if isinstance(display, str):
            return display
        import msgspec

        return msgspec.json.encode(display).decode()

    @abstractmethod
    async def run(self, args: A, context: Context) -> Outcome:
        """Do it. Raise `ToolError` for a failure the model should read.

        May be cancelled at any await; what it started must then not outlive it.
        """
