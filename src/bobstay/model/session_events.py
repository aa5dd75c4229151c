"""Session-level events: configuration, workers, and changes of title and status."""

from typing import Literal

from msgspec import Struct


class SessionEvent(Struct, frozen=True):
    """Group of the events that concern the session as a whole."""


class WorkerEvent(Struct, frozen=True):
    """Group of the events of a worker of the session."""


class SessionConfig(Struct, frozen=True, omit_defaults=True):
    """The configuration of a session, whichever engine runs it.

    Environment variables and the configuration of MCP servers are not included: they may be secret.
    """

    engine: str = "native"
    """`native`, or the name of an external command such as `claude`."""
    workflow: Literal["chat", "research", "plan", "review_plan", "implement"] = "chat"
    model: str = ""
    permission_mode: str = ""
    max_turns: int = 100
    max_budget_usd: float | None = None
    system_prompt: str = ""
    append_system_prompt: str = ""
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    mcp_servers: tuple[str, ...] = ()
    """Names of the MCP servers configured for this session."""
    live: bool = True
    """Whether an external command keeps running and accepts more prompts, or is started once per prompt."""
    output_format: Literal["stream-json", "json", "text"] = "stream-json"
    """Output format of a command that is started once per prompt; one that keeps running always streams."""
    ephemeral: bool = False
    """A temporary session: an external command stores nothing of it, and it is removed a day after its last entry."""
    inputs: Literal["interactive", "queue", "locked"] = "interactive"
    """Whether people may steer, may only queue messages, or may not write at all."""
    bypass_until: float = 0.0
    """Until when permission is bypassed; seconds since the epoch."""
    worktree: str = ""
    """The worktree made for this session, if there is one."""
    branch: str = ""
    base: str = ""
    """The commit the worktree was created from."""
    project: str = ""
    """The directory under which the session is listed: the repository of its worktree, else its working directory."""


class Configured(SessionEvent, frozen=True, tag="configured", omit_defaults=True):
    """The configuration of the session was set or changed."""

    config: SessionConfig
    by: str = ""


class SessionChanged(SessionEvent, frozen=True, tag="session_changed", omit_defaults=True):
    """Title, flags or parent of the session changed; a field that is None stays as it was."""

    title: str | None = None
    archived: bool | None = None
    pinned: bool | None = None
    discarded: bool | None = None
    parent: str | None = None
    """The session this one continues."""
    by: str = ""


class WorkerStarted(WorkerEvent, frozen=True, tag="worker_started", omit_defaults=True):
    """A worker of the session started: an engine, an external command, a terminal, or a watcher."""

    worker: str
    kind: Literal["native", "process", "terminal", "git_diff"]
    epoch: int = 1
    """Which incarnation of this worker."""
    pid: int = 0
    born: str = ""
    """Start time of the process in the system's units: with the pid it identifies the process uniquely."""
    engine_session: str = ""
    """The id an external engine uses for this session."""
    command: tuple[str, ...] = ()
    ready: bool = True
    """Whether it has answered; a process that has not yet is reported again when it does."""


class WorkerExited(WorkerEvent, frozen=True, tag="worker_exited", omit_defaults=True):
    worker: str
    kind: Literal["native", "process", "terminal", "git_diff"] = "native"
    epoch: int = 1
    code: int | None = None
    signal: str = ""
    why: Literal["exit", "stopped", "asleep", "killed", "lost", "not_started"] = "exit"
    error: str = ""
    """The error for a person, if something went wrong."""


class InterruptAsked(SessionEvent, frozen=True, tag="interrupt_asked", omit_defaults=True):
    by: str = ""
    force: bool = False


class ArtifactMade(SessionEvent, frozen=True, tag="artifact_made", omit_defaults=True):
    """A workflow mode produced a document for the next one: a research note, a plan, or a review."""

    id: str
    kind: Literal["research", "plan", "review"]
    title: str
    text: str
    call_id: str = ""
