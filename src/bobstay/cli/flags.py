"""Table of command-line flags, one row per flag."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

Kind: TypeAlias = Literal["switch", "value", "optional", "rules", "repeat", "paths"]
"""`optional`: a value may follow; `rules`: a comma-separated list, or several arguments that look like rules; `repeat`:
one value each time; `paths`: one or more existing paths (or JSON)."""

MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan")


class Flag(Struct, frozen=True):
    names: tuple[str, ...]
    field: str
    """The field of `Options` it sets; "" for a flag that is accepted and ignored."""
    kind: Kind = "switch"
    metavar: str = ""
    """Name of its value in the help."""
    help: str = ""
    """"" leaves it out of the help."""
    group: str = ""
    choices: tuple[str, ...] = ()
    convert: Literal["", "integer", "count", "number", "json", "commas"] = ""
    const: Any = True
    """Value of a switch, and of an `optional` without a value."""
    refuse: str = ""
    """Why it is refused; accepting it would promise something unsupported."""


_SERVICE = "it needs a service of another vendor, which bobstay does not use"
_LATER = "this version cannot do it yet"

FLAGS: tuple[Flag, ...] = (
    # output and input
    Flag(("-p", "--print"), "print", help="answer, print, exit (the default when not on a terminal)", group="Output"),
    Flag(
        ("--output-format",),
        "output_format",
        "value",
        "FORMAT",
        "text (default), json (one result), stream-json (one line per event)",
        "Output",
        choices=("text", "json", "stream-json"),
    ),
    Flag(
        ("--input-format",),
        "input_format",
        "value",
        "FORMAT",
        "text (default) or stream-json (prompts and control requests as lines)",
        "Output",
        choices=("text", "stream-json"),
    ),
    Flag(("--verbose",), "verbose", help="every frame, not only the result", group="Output"),
    Flag(
        ("--include-partial-messages",),
        "include_partial_messages",
        help="partial text as it arrives (stream-json only)",
        group="Output",
    ),
    Flag(("--include-hook-events",), "include_hook_events", help="frames for command hooks", group="Output"),
    Flag(
        ("--replay-user-messages",), "replay_user_messages", help="echo prompts when they are accepted", group="Output"
    ),
    Flag(
        ("--json-schema",),
        "json_schema",
        "value",
        "JSON",
        "the answer must match this schema",
        "Output",
        convert="json",
    ),
    Flag(("--session-mirror",), "session_mirror"),
    Flag(("--forward-subagent-text",), ""),
    Flag(("--prompt-suggestions",), "", "optional"),
    Flag(("--brief",), ""),
    # model
    Flag(("--model",), "model", "value", "MODEL", "a model's name, or provider/name", "Model"),
    Flag(
        ("--fallback-model",),
        "fallback_models",
        "value",
        "MODELS",
        "used when the first is overloaded (comma list)",
        "Model",
        convert="commas",
    ),
    Flag(
        ("--effort",),
        "effort",
        "value",
        "LEVEL",
        "low, medium, high, xhigh, max",
        "Model",
        choices=("low", "medium", "high", "xhigh", "max"),
    ),
    Flag(("--thinking",), "thinking", "value", "MODE", choices=("adaptive", "enabled", "disabled")),
    Flag(("--thinking-display",), "thinking_display", "value", "MODE"),
    Flag(("--max-thinking-tokens",), "max_thinking_tokens", "value", "N", convert="count"),
    Flag(("--betas",), "betas", "value", "NAMES", "beta headers of the API", "Model", convert="commas"),
    Flag(
        ("--max-turns",),
        "max_turns",
        "value",
        "N",
        "stop after this many model calls in a turn",
        "Limits",
        convert="integer",
    ),
    Flag(
        ("--max-budget-usd",),
        "max_budget_usd",
        "value",
        "X",
        "stop when this many dollars are spent",
        "Limits",
        convert="number",
    ),
    Flag(
        ("--max-tokens",), "max_tokens_total", "value", "N", "stop after this many tokens", "Limits", convert="integer"
    ),
    Flag(("--max-seconds",), "max_seconds", "value", "S", "stop after this many seconds", "Limits", convert="number"),
    Flag(("--task-budget",), "task_budget", "value", "N", convert="integer"),
    Flag(("--autocompact",), "", "optional"),
    # prompt
    Flag(
        ("--system-prompt",),
        "system_prompt",
        "value",
        "TEXT",
        'instead of the default system prompt ("" = none)',
        "Prompt",
    ),
    Flag(("--system-prompt-file",), "system_prompt_file", "value", "PATH", "the same, from a file", "Prompt"),
    Flag(
        ("--append-system-prompt",),
        "append_system_prompt",
        "value",
        "TEXT",
        "added to the default system prompt",
        "Prompt",
    ),
    Flag(
        ("--append-system-prompt-file",),
        "append_system_prompt_file",
        "value",
        "PATH",
        "the same, from a file",
        "Prompt",
    ),
    Flag(("--system-prompt-snapshot",), "", "value", "on|off", choices=("on", "off")),
    Flag(("--exclude-dynamic-system-prompt-sections",), ""),
    # tools and permission
    Flag(("--tools",), "tools", "rules", "NAMES", 'the built-in tools to offer ("" = none)', "Tools and permission"),
    Flag(
        ("--allowedTools", "--allowed-tools"),
        "allowed_tools",
        "rules",
        "RULES",
        'never ask about these, as in "Bash(git log:*),Edit"',
        "Tools and permission",
    ),
    Flag(
        ("--disallowedTools", "--disallowed-tools"),
        "disallowed_tools",
        "rules",
        "RULES",
        "never do these",
        "Tools and permission",
    ),
    Flag(
        ("--permission-mode",),
        "permission_mode",
        "value",
        "MODE",
        "acceptEdits, auto, bypassPermissions, default, dontAsk, plan",
        "Tools and permission",
        choices=MODES,
    ),
    Flag(("--permission-prompt-tool",), "permission_prompt_tool", "value", "NAME"),
    Flag(
        ("--ask",),
        "ask",
        "value",
        "WHO",
        "console: approval requests are answered in `bobstay serve`",
        "Tools and permission",
        choices=("console",),
    ),
    Flag(("--permission-prompts",), "", "value", "host|none", choices=("host", "none")),
    Flag(
        ("--dangerously-skip-permissions",),
        "dangerously_skip_permissions",
        help="never ask (deny rules still apply)",
        group="Tools and permission",
    ),
    Flag(
        ("--allow-dangerously-skip-permissions",),
        "allow_dangerously_skip_permissions",
        help="allow switching that on later",
        group="Tools and permission",
    ),
    Flag(("--add-dir",), "add_dirs", "paths", "DIR", "an additional working directory", "Tools and permission"),
    Flag(("--trust",), "trust", help="trust this directory's settings for this run", group="Tools and permission"),
    Flag(("--restricted",), "", refuse=_LATER),
    # session
    Flag(("-c", "--continue"), "continue_", help="resume the newest session of this directory", group="Session"),
    Flag(("-r", "--resume"), "resume", "optional", "ID", "resume this session", "Session", const=""),
    Flag(("--fork-session",), "fork_session", help="with the two above: continue in a new session", group="Session"),
    Flag(("--session-id",), "session_id", "value", "UUID", "the id of the new session", "Session"),
    Flag(("-n", "--name"), "name", "value", "NAME", "the name of the session", "Session"),
    Flag(("--resume-session-at",), "resume_session_at", "value", "UUID"),
    Flag(("--resume-drops-turn",), "resume_drops_turn", "value", "UUID"),
    Flag(("--no-session-persistence",), "no_session_persistence", help="keep nothing on disk", group="Session"),
    Flag(("--from-pr",), "", "optional", refuse=_LATER),
    Flag(("--bg",), "", refuse=_LATER),
    Flag(("--teleport",), "", "optional", refuse=_LATER),
    Flag(("--cloud",), "", "optional", refuse=_SERVICE),
    Flag(("--environment",), "", "value", refuse=_SERVICE),
    Flag(("--remote-control",), "", "optional", refuse=_SERVICE),
    Flag(("--desktop",), "", refuse=_SERVICE),
    # settings and extensions
    Flag(("--settings",), "settings", "value", "PATH|JSON", "more settings", "Settings"),
    Flag(
        ("--setting-sources",),
        "setting_sources",
        "value",
        "LIST",
        "which of user, project, local to read (empty = none)",
        "Settings",
        convert="commas",
    ),
    Flag(("--mcp-config",), "mcp_config", "paths", "PATH|JSON", "MCP servers", "Settings"),
    Flag(("--strict-mcp-config",), "strict_mcp_config", help="only those MCP servers", group="Settings"),
    Flag(("--agent",), "agent", "value", "NAME"),
    Flag(("--agents",), "agents", "value", "JSON", convert="json"),
    Flag(
        ("--coordinator",),
        "coordinator",
        help="only coordinate: all work is done by agents it starts",
        group="Settings",
    ),
    Flag(("--plugin-dir",), "plugin_dirs", "repeat", "PATH"),
    Flag(("--plugin-url",), "", "repeat", refuse=_LATER),
    Flag(("--disable-slash-commands",), "disable_slash_commands"),
    Flag(("--bare",), "setting_sources", const=()),
    Flag(("--safe-mode",), "setting_sources", const=()),
    # other
    Flag(("--debug", "-d"), "debug", "optional", "FILTER", "debug output on stderr", "Other", const=""),
    Flag(("--debug-file",), "debug_file", "value", "PATH"),
    Flag(("--worktree", "-w"), "", "optional", refuse=_LATER),
    Flag(("--tmux",), "", "optional", refuse=_LATER),
    Flag(("--ide",), ""),
    Flag(("--chrome",), "", refuse=_SERVICE),
    Flag(("--no-chrome",), ""),
    Flag(("--file",), "", "paths", refuse=_SERVICE),
    Flag(("-v", "--version"), "version", help="show the version", group="Other"),
    Flag(("-h", "--help"), "help", help="show this help", group="Other"),
)
