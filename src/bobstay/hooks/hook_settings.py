"""Parses the hooks of a settings file. Invalid entries are left out with a notice."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from bobstay.hooks.hook_event import HookName
from bobstay.hooks.matcher import BadMatcherError, parse_matcher, watched_names
from bobstay.permissions.access import Effect
from bobstay.permissions.rule import BadRule, Rule

DEFAULT_TIMEOUT = 60.0
LONGEST_TIMEOUT = 3600.0
SESSION_END_TIMEOUT = 5.0
"""Default timeout in seconds of SessionEnd hooks: the person is waiting for the program to end."""
_LONGEST_STATUS = 200
NAMES: frozenset[str] = frozenset(get_args(HookName))
NEVER_CALLED = frozenset({"Setup", "TeammateIdle", "WorktreeCreate", "WorktreeRemove", "DirectoryAdded"})
"""Events that settings may name without a warning about a mistake, but that do not occur in this version."""
TOOL_EVENTS = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"})


class HookDefinition(Struct, frozen=True, kw_only=True):
    """What hooks of all types have in common; each type adds what it runs."""

    timeout: float = DEFAULT_TIMEOUT
    block: bool = False
    """Whether a failure blocks."""
    source: str = ""
    """The file that defines it."""
    folder: str = ""
    """The trusted folder that defines it; "" for a hook of the user's own."""
    condition: str = ""
    """A permission rule: the hook runs only for calls it covers."""
    background: bool = False
    """It is not waited for; its context and messages are delivered with a later event."""
    wakes: bool = False
    """In the background: if it blocks, the model is told why, in a turn of its own if none runs."""
    once: bool = False
    """It runs once; only hooks of skills may say so."""
    status_message: str = ""
    """Shown while it runs."""
    variables: dict[str, str] = {}
    """Environment variables of its origin, such as the root of a plugin."""


class CommandHook(HookDefinition, frozen=True):
    """A hook that runs a command."""

    event: str
    pattern: str
    command: str
    files: dict[str, str] = {}
    """Digests of the files of its folder it refers to: they must not change during the session."""
    args: tuple[str, ...] | None = None
    """Arguments; if given, `command` is a program that is started without a shell."""
    shell: Literal["bash", "powershell"] = "bash"

    @property
    def text(self) -> str:
        """The whole command line, for display and comparison."""
        return " ".join((self.command, *(self.args or ())))

    @property
    def named_text(self) -> str:
        """The command line with the folders of its origin, such as the root of a plugin: it names the files it runs."""
        text = self.text
        for name, value in self.variables.items():
            text = text.replace(f"${{{name}}}", value).replace(f"${name}", value)
        return text

    @property
    def identity(self) -> tuple[object, ...]:
        """Hooks of one event with the same identity run once."""
        return (self.command, self.args, self.shell, *self.variables.values())


class HttpHook(HookDefinition, frozen=True):
    """A hook that posts the event to a URL."""

    event: str
    pattern: str
    url: str
    headers: dict[str, str] = {}
    header_variables: frozenset[str] = frozenset()
    """Environment variables that its headers may use."""

    @property
    def text(self) -> str:
        return self.url

    @property
    def identity(self) -> tuple[object, ...]:
        return (self.url, str(self.headers))


class PromptHook(HookDefinition, frozen=True):
    """A hook that asks a model; with `agent` one that may use tools to find its answer."""

    event: str
    pattern: str
    prompt: str
    model: str = ""
    """The model to ask; "" for a small one."""
    agent: bool = False

    @property
    def text(self) -> str:
        return self.prompt

    @property
    def identity(self) -> tuple[object, ...]:
        return (self.prompt, self.model, self.agent)


class ToolHook(HookDefinition, frozen=True):
    """A hook that calls a tool of an MCP server."""

    event: str
    pattern: str
    server: str
    tool: str
    input: dict[str, Any] = {}
    """Its strings may name fields of the event: `${tool_input.command}`."""

    @property
    def text(self) -> str:
        return f"{self.server}: {self.tool}"

    @property
    def identity(self) -> tuple[object, ...]:
        return (self.server, self.tool, str(self.input))


SettingsHook: TypeAlias = CommandHook | HttpHook | PromptHook | ToolHook
Notice: TypeAlias = Callable[[str, str], None]
"""Takes a path in the file, such as `$.hooks.Stop[0]`, and what is wrong there."""


def as_agent_hooks(hooks: Iterable[SettingsHook]) -> list[SettingsHook]:
    """Return the hooks of an agent's file: its end is `SubagentStop`, whatever its type is called."""
    return [replace(hook, event="SubagentStop", pattern="") if hook.event == "Stop" else hook for hook in hooks]


class _UnusableError(ValueError):
    """An entry is invalid; `path` is its path in the file."""

    def __init__(self, path: str, what: str) -> None:
        self.path = path
        super().__init__(what)


def read_hooks(hooks: dict[str, Any], source: str, notice: Notice) -> Iterator[SettingsHook]:
    """Read the `hooks` of one file, entry by entry: of settings, a plugin, a skill or an agent."""
    for event, groups in hooks.items():
        path = f"$.hooks.{event[:60]}"
        if event in NEVER_CALLED:
            notice(path, f"{event} does not occur in this version; its hooks are never called")
        elif event not in NAMES:
            notice(path, f"this version has no event called {event[:60]!r}; its hooks are never called")
        elif not isinstance(groups, list):
            notice(path, f"hooks.{event} must be a list; it is left out")
        else:
            for index, group in enumerate(groups):
                yield from _group(event, group, f"{path}[{index}]", source, notice)


def _group(event: str, group: object, path: str, source: str, notice: Notice) -> Iterator[SettingsHook]:
    entries = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(group, dict) or not isinstance(entries, list):
        notice(path, f'{_label(path)} must be an object with "hooks", a list; it is left out')
        return
    try:
        pattern = parse_matcher(group.get("matcher"))
    except BadMatcherError as error:
        notice(f"{path}.matcher", f"{_label(path)}.matcher: {error}; its hooks are never called")
        return
    if event == "FileChanged" and not watched_names(pattern):
        notice(path, f"{_label(path)}.matcher must name files, such as .env|.envrc; its hooks are never called")
        return
    for index, entry in enumerate(entries):
        try:
            yield _entry(event, pattern, entry, f"{path}.hooks[{index}]", source)
        except _UnusableError as error:
            notice(error.path, f"{error}; this hook is left out")


def _entry(event: str, pattern: str, entry: object, path: str, source: str) -> SettingsHook:
    if not isinstance(entry, dict):
        raise _UnusableError(path, f"{_label(path)} must be an object")
    kind = entry.get("type", "command")
    status = entry.get("statusMessage")
    shared: dict[str, Any] = {
        "timeout": _timeout(event, entry, path),
        "block": _blocks(entry, path),
        "condition": _condition(event, entry, path),
        "background": entry.get("async") is True or entry.get("asyncRewake") is True,
        "wakes": entry.get("asyncRewake") is True,
        "once": entry.get("once") is True,
        "status_message": status[:_LONGEST_STATUS] if isinstance(status, str) else "",
        "source": source,
    }
    match kind:
        case "command":
            shell, args = _shell(entry, path), _args(entry, path)
            return CommandHook(event, pattern, _text(entry, "command", path), args=args, shell=shell, **shared)
        case "http":
            headers, variables = _headers(entry, path), _variables(entry, path)
            return HttpHook(event, pattern, _url(entry, path), headers, variables, **shared)
        case "prompt" | "agent":
            prompt, model = _text(entry, "prompt", path), _model(entry, path)
            return PromptHook(event, pattern, prompt, model, kind == "agent", **shared)
        case "mcp_tool":
            server, tool = _text(entry, "server", path), _text(entry, "tool", path)
            return ToolHook(event, pattern, server, tool, _input(entry, path), **shared)
        case _:
            raise _UnusableError(path, f"{_label(path)}: there is no type of hook called {str(kind)[:40]!r}")


def _text(entry: dict[str, Any], key: str, path: str) -> str:
    text = entry.get(key)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise _UnusableError(path, f'{_label(path)} must have a "{key}" that is not empty')
    return text


def _model(entry: dict[str, Any], path: str) -> str:
    model = entry.get("model", "")
    if not isinstance(model, str):
        raise _UnusableError(f"{path}.model", f"{_label(path)}.model must be the name of a model")
    return model


def _input(entry: dict[str, Any], path: str) -> dict[str, Any]:
    given = entry.get("input", {})
    if not isinstance(given, dict):
        raise _UnusableError(f"{path}.input", f"{_label(path)}.input must be an object")
    return given


def _args(entry: dict[str, Any], path: str) -> tuple[str, ...] | None:
    args = entry.get("args")
    if args is None:
        return None
    if not isinstance(args, list) or not all(isinstance(word, str) and "\0" not in word for word in args):
        raise _UnusableError(f"{path}.args", f"{_label(path)}.args must be a list of strings")
    return tuple(args)


def _shell(entry: dict[str, Any], path: str) -> Literal["bash", "powershell"]:
    shell = entry.get("shell", "bash")
    if shell not in ("bash", "powershell"):
        raise _UnusableError(f"{path}.shell", f"{_label(path)}.shell must be bash or powershell")
    return "powershell" if shell == "powershell" else "bash"


def _url(entry: dict[str, Any], path: str) -> str:
    url = entry.get("url")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise _UnusableError(path, f'{_label(path)} must have a "url" that begins with http:// or https://')
    return url


def _headers(entry: dict[str, Any], path: str) -> dict[str, str]:
    headers = entry.get("headers", {})
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise _UnusableError(f"{path}.headers", f"{_label(path)}.headers must be an object with string values")
    return headers


def _variables(entry: dict[str, Any], path: str) -> frozenset[str]:
    names = entry.get("allowedEnvVars", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _UnusableError(f"{path}.allowedEnvVars", f"{_label(path)}.allowedEnvVars must be a list of names")
    return frozenset(names)


def _timeout(event: str, entry: dict[str, Any], path: str) -> float:
    timeout = entry.get("timeout", SESSION_END_TIMEOUT if event == "SessionEnd" else DEFAULT_TIMEOUT)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= LONGEST_TIMEOUT:
        what = f"{_label(path)}.timeout must be a number of seconds up to {LONGEST_TIMEOUT:g}"
        raise _UnusableError(f"{path}.timeout", what)
    return float(timeout)


def _blocks(entry: dict[str, Any], path: str) -> bool:
    on_failure = entry.get("onFailure", "continue")
    if on_failure not in ("block", "continue"):
        raise _UnusableError(f"{path}.onFailure", f"{_label(path)}.onFailure must be block or continue")
    return bool(on_failure == "block")


def _condition(event: str, entry: dict[str, Any], path: str) -> str:
    condition = entry.get("if")
    if condition is None:
        return ""
    if event not in TOOL_EVENTS:
        raise _UnusableError(f"{path}.if", f"{_label(path)}.if is for tool events only, and {event} is not one")
    try:
        Rule.parse(condition if isinstance(condition, str) else "", Effect.DENY)
    except BadRule as error:
        raise _UnusableError(f"{path}.if", f"{_label(path)}.if must be one permission rule: {error}") from error
    return str(condition)


def _label(path: str) -> str:
    return path.removeprefix("$.")
