"""Command line options as plain data, independent of the parser."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

OutputFormat: TypeAlias = Literal["text", "json", "stream-json"]
InputFormat: TypeAlias = Literal["text", "stream-json"]


class Options(Struct, frozen=True, kw_only=True):
    """One field per flag. A default value means that the flag was not given, so the settings files decide."""

    # prompt, input and output
    prompt: str | None = None
    print: bool = False
    """Print mode: no terminal UI. Also set when stdin or stdout is not a terminal."""
    output_format: OutputFormat = "text"
    input_format: InputFormat = "text"
    verbose: bool = False
    include_partial_messages: bool = False
    include_hook_events: bool = False
    replay_user_messages: bool = False
    session_mirror: bool = False
    json_schema: dict[str, Any] | None = None

    # the model
    model: str | None = None
    """A model's name, or `provider/name`; None = the settings decide."""
    fallback_models: tuple[str, ...] = ()
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    thinking: Literal["adaptive", "disabled"] | None = None
    thinking_display: str | None = None
    max_thinking_tokens: int | None = None
    betas: tuple[str, ...] = ()

    # limits
    max_turns: int | None = None
    """Maximum number of model calls in one turn."""
    max_budget_usd: float | None = None
    task_budget: int | None = None
    max_tokens_total: int | None = None
    max_seconds: float | None = None

    # the system prompt
    system_prompt: str | None = None
    """None = the default one, "" = none at all."""
    system_prompt_file: str | None = None
    append_system_prompt: str | None = None
    append_system_prompt_file: str | None = None

    # tools and permission
    tools: tuple[str, ...] | None = None
    """The built-in tools to offer: None = the default set, () = none."""
    allowed_tools: tuple[str, ...] = ()
    """Allow rules, one per entry: `Bash(git log:*)`."""
    disallowed_tools: tuple[str, ...] = ()
    permission_mode: str | None = None
    permission_prompt_tool: str | None = None
    """`stdio` = the host is asked over the wire."""
    ask: Literal["", "console"] = ""
    """Who approves in print mode: nobody, or a person at the console."""
    dangerously_skip_permissions: bool = False
    allow_dangerously_skip_permissions: bool = False
    read_only: bool = False
    """Everything but reading needs an approval, whatever mode and rules say. For callers that start sessions."""
    add_dirs: tuple[str, ...] = ()
    trust: bool = False
    """Trust the working directory, for this run only."""

    # the session
    continue_: bool = False
    resume: str | None = None
    session_id: str | None = None
    fork_session: bool = False
    resume_session_at: str | None = None
    resume_drops_turn: str | None = None
    no_session_persistence: bool = False
    name: str | None = None

    # settings and extensions
    settings: str | None = None
    """A path, or JSON text."""
    setting_sources: tuple[str, ...] | None = None
    """None = all, () = none but the command line."""
    mcp_config: tuple[str, ...] = ()
    strict_mcp_config: bool = False
    agent: str | None = None
    agents: dict[str, Any] | None = None
    coordinator: bool = False
    """The session's own agent only coordinates others."""
    plugin_dirs: tuple[str, ...] = ()
    disable_slash_commands: bool = False

    # environment
    cwd: str | None = None
    debug: str | None = None
    """None = off, "" = everything, else the names of components."""
    debug_file: str | None = None
    entrypoint: str = ""
    """The program that drives this one, from the environment: `sdk-py`, `sdk-ts`, ..."""
    session_state_frames: Literal["", "host_only", "all"] = ""
    """Whether the host requested, in the environment, frames for running, requires_action and idle."""
    background_wait: float = 600.0
    """Seconds that print mode waits, after its last answer, for background commands."""

    @property
    def background_limit(self) -> float:
        return min(self.background_wait, self.max_seconds) if self.max_seconds is not None else self.background_wait


_MINIMUMS = {"max_turns": 1, "max_tokens_total": 1, "task_budget": 1, "max_thinking_tokens": 0}
"""Minimum of each limit that is a whole number; the others must be above 0."""


def check_limits(options: Options) -> None:
    """Refuse limits that would prevent any work, as the command line does for its flags.

    Raises:
        ValueError: names the limit.
    """
    for name, least in _MINIMUMS.items():
        value = getattr(options, name)
        if value is not None and value < least:
            raise ValueError(f"{name} is {value!r}. It must be a whole number, {least} or more.")
    for name in ("max_budget_usd", "max_seconds"):
        value = getattr(options, name)
        if value is not None and not 0 < value < float("inf"):
            raise ValueError(f"{name} is {value!r}. It must be a number above 0. Leave it out for no limit.")
