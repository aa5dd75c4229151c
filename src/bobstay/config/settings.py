"""Types of the settings files; unknown keys are kept and tolerated."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field

ModeName: TypeAlias = Literal["default", "manual", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"]


class Permissions(Struct, frozen=True, rename="camel", omit_defaults=True):
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    default_mode: ModeName | None = None
    additional_directories: tuple[str, ...] = ()
    disable_bypass_permissions_mode: Literal["disable"] | None = None


class Timeouts(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Seconds."""

    first_event: float | None = None
    """From sending a request to the model's first event."""
    between_events: float | None = None


class BashSettings(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Seconds, and characters of output shown to the model."""

    timeout: float | None = None
    longest_timeout: float | None = None
    background_after: float | None = None
    output_length: int | None = None


class SandboxNetwork(Struct, frozen=True, rename="camel", omit_defaults=True):
    allowed_domains: tuple[str, ...] = ()
    """Hosts that commands may reach through a proxy; none means no network."""
    unix_sockets: bool | None = None
    """Whether commands may use sockets in the file system, as some test suites do."""


class SandboxSettings(Struct, frozen=True, rename="camel", omit_defaults=True):
    enabled: bool | None = None
    auto_allow: bool | None = None
    """In default mode, do not ask for approval of commands that run in the sandbox."""
    fail_if_unavailable: bool | None = None
    """Refuse commands if no sandbox works; true by default."""
    allow_unverified: bool | None = None
    """Use the macOS profile, which is untested."""
    network: SandboxNetwork = SandboxNetwork()
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    """Paths that commands must not see, in addition to those of keys and credentials."""
    variables: tuple[str, ...] = ()
    """Environment variables to pass in addition to the default ones."""


class SearchSettings(Struct, frozen=True, rename="camel", omit_defaults=True):
    kind: Literal["searxng", "brave", "tavily"] | None = None
    url: str | None = None
    key_variable: str | None = None
    """Name of the environment variable that holds the key; the key itself does not belong in a file."""


class WorktreeSettings(Struct, frozen=True, rename="camel", omit_defaults=True):
    folder: str | None = None
    """Where worktrees are created, absolute or relative to the repository; beside the repository by default."""
    branch_prefix: str | None = None
    """What the names of their branches begin with; `worktree-` by default."""


class LspServer(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A language server of the user's choice."""

    command: tuple[str, ...] = ()
    languages: dict[str, str] = {}
    """File name endings with their dot, and the name of the language, such as `{".lua": "lua"}`."""
    root_markers: tuple[str, ...] = ()
    """Files at the top of a project."""
    options: dict[str, Any] = {}
    """Its `initializationOptions`."""


class LspSettings(Struct, frozen=True, rename="camel", omit_defaults=True):
    enabled: bool | None = None
    servers: dict[str, LspServer] = {}
    diagnose_edits: bool | None = None
    """Tell the model of new errors after an edit; true by default."""


class ProviderSettings(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A model server under a name of the user's choice, or, under the name of a built-in provider, changes to it."""

    api: Literal["anthropic", "responses", "chat", "gemini"] | None = None
    """The API format of the server."""
    base_url: str | None = None
    key_env: str | None = None
    """Name of the environment variable that holds the key."""
    headers: dict[str, str] = {}
    """Sent with every request to the server."""
    models: dict[str, dict[str, Any]] = {}
    """Facts about its models, as in `Settings.models`."""


class AutoMode(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What the auto mode judge is given in addition to the call, in plain language."""

    model: str | None = None
    """The model that judges; the vendor's small model by default."""
    allow: tuple[str, ...] = ()
    soft_deny: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()


class Settings(Struct, frozen=True, rename="camel", omit_defaults=True):
    permissions: Permissions = Permissions()
    model: str | None = None
    fallback_model: str | tuple[str, ...] | None = None
    fallback_models: tuple[str, ...] | None = None
    env: dict[str, str | int | float | bool] = {}
    """Variables for child processes; those that concern models and networks also apply to bobstay itself."""
    pass_variables: tuple[str, ...] = ()
    """Names or patterns of secret variables that are passed to commands nevertheless."""
    hooks: dict[str, Any] = {}
    disable_all_hooks: bool | None = None
    disable_skill_shell_execution: bool | None = None
    """Replace the shell commands in commands and skills by a note."""
    max_turns: int | None = None
    max_budget_usd: float | None = None
    max_concurrent_tools: int | None = None
    task_tools: bool | None = None
    """Offer tools for single tasks in place of the one that writes the whole list."""
    models: dict[str, dict[str, Any]] = {}
    """Additions to the model catalogue, by model name."""
    providers: dict[str, ProviderSettings] = {}
    api_key_helper: str | None = None
    """A command that prints a key for Anthropic. Ignored in the settings of a folder."""
    search: SearchSettings | None = None
    timeouts: Timeouts | None = None
    bash: BashSettings | None = None
    worktree: WorktreeSettings | None = None
    lsp: LspSettings | None = None
    auto_mode: AutoMode = AutoMode()
    sandbox: SandboxSettings = SandboxSettings()
    mcp_servers: dict[str, Any] = {}
    enable_all_project_mcp_servers: bool | None = None
    """Start the servers of a trusted folder's `.mcp.json` without an approval of each."""
    enabled_mcpjson_servers: tuple[str, ...] = ()
    disabled_mcpjson_servers: tuple[str, ...] = ()
    """Servers of `.mcp.json` that are not started, whatever else is set."""
    trusted_folders: tuple[str, ...] = ()
    effort: str | None = field(default=None, name="effortLevel")
    language: str | None = None
    append_system_prompt: str | None = None
    agent: str | None = None
    """The definition of the session's own agent."""
    coordinator: bool | None = None
    """The session's own agent only coordinates: all work is done by agents that it starts."""
    output_style: str | None = None
    claude_md_excludes: tuple[str, ...] = ()
    """Globs of instruction files that do not count."""
    compact_threshold: float | None = None
    """Fraction of the context window at which older messages are summarised."""
    cleanup_period_days: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    """Remove sessions not used for so many days; never if not set. Ignored in the settings of a folder."""
    extra: dict[str, Any] = field(default={}, name=" extra")
    """Unknown keys of the file. The blank in its name keeps files from setting it."""

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """The fallback models in order, from either key."""
        if self.fallback_models is not None:
            return self.fallback_models
        if isinstance(self.fallback_model, str):
            return tuple(name.strip() for name in self.fallback_model.split(",") if name.strip())
        return self.fallback_model or ()

    @property
    def variables(self) -> dict[str, str]:
        """`env` with its values as strings."""
        return {name: _variable_text(value) for name, value in self.env.items()}


KNOWN_KEYS = frozenset(info.encode_name for info in msgspec.structs.fields(Settings))


def _variable_text(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
