"""What happens around the talk of a session: how it is to be run, who runs it, what people say about it."""

from typing import Literal

from msgspec import Struct


class SessionConfig(Struct, frozen=True, omit_defaults=True):
    """How a session is to be run, whoever runs it.

    Values of the environment and the configuration of MCP servers are not here: they may be secret.
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
    """Names of the MCP servers that were given to this session."""
    live: bool = True
    """Whether an external command stays and takes more prompts, or is started once for each."""
    output_format: Literal["stream-json", "json", "text"] = "stream-json"
    """What a command that is started once for each prompt writes; one that stays always streams."""
    ephemeral: bool = False
    """A throw-away session: an external command keeps nothing of it, and it is removed a day after its last entry."""
    inputs: Literal["interactive", "queue", "locked"] = "interactive"
    """Whether people may steer, may only queue, or may not write at all."""
    bypass_until: float = 0.0
    """Until when permission is bypassed; seconds since the epoch."""
    worktree: str = ""
    """The work tree made for this session, if one was."""
    branch: str = ""
    base: str = ""
    """The commit that work tree began from."""
    project: str = ""
    """The directory the session belongs to in lists: where its work tree came from, else where it works."""


class Configured(Struct, frozen=True, tag="configured", omit_defaults=True):
    """From here on the session is to be run like this."""

    config: SessionConfig
    by: str = ""


class SessionChanged(Struct, frozen=True, tag="session_changed", omit_defaults=True):
    """What people say about a session beside the talk; a field that is None stays as it was."""

    title: str | None = None
    archived: bool | None = None
    pinned: bool | None = None
    discarded: bool | None = None
    parent: str | None = None
    """The session this one goes on from."""
    by: str = ""


class WorkerStarted(Struct, frozen=True, tag="worker_started", omit_defaults=True):
    """Something that lives in the session is up: an engine, an external command, a terminal, a watcher."""

    worker: str
    kind: Literal["native", "process", "terminal", "git_diff"]
    epoch: int = 1
    """Which incarnation of this worker."""
    pid: int = 0
    born: str = ""
    """When that process started, as the system counts: with the pid it names one process for ever."""
    engine_session: str = ""
    """The id by which an external engine knows this talk."""
    command: tuple[str, ...] = ()
    ready: bool = True
    """Whether it has answered; a process that was started and has said nothing yet is told of again when it does."""


class WorkerExited(Struct, frozen=True, tag="worker_exited", omit_defaults=True):
    worker: str
    kind: Literal["native", "process", "terminal", "git_diff"] = "native"
    epoch: int = 1
    code: int | None = None
    signal: str = ""
    why: Literal["exit", "stopped", "asleep", "killed", "lost", "not_started"] = "exit"
    error: str = ""
    """What a person should read, where something went wrong."""


class InterruptAsked(Struct, frozen=True, tag="interrupt_asked", omit_defaults=True):
    by: str = ""
    force: bool = False


class ArtifactMade(Struct, frozen=True, tag="artifact_made", omit_defaults=True):
    """A workflow mode left something for the next one: a research note, a plan, a review."""

    id: str
    kind: Literal["research", "plan", "review"]
    title: str
    text: str
    call_id: str = ""
