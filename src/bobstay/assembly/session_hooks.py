"""Session hooks: joins the hooks of the host with those that settings, plugins, skills and agents define."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from bobstay.assembly.start_context import StartContext
from bobstay.config.merge import are_hooks_disabled
from bobstay.config.settings_files import SettingsLayer
from bobstay.hooks.hook_event import (
    EXPORTING,
    NO_OPINION,
    HookCall,
    HookMessage,
    HookName,
    HookOutcome,
    HookReport,
    HookRunResult,
    Hooks,
)
from bobstay.library.definition import FROM_FOLDERS

if TYPE_CHECKING:
    from bobstay.hooks.hook_ports import HookPorts
    from bobstay.hooks.hook_runner import BackgroundSinks, CommandHooks
    from bobstay.hooks.hook_settings import HttpHook, SettingsHook
    from bobstay.library.definition import AgentDefinition, CommandDefinition

HookWatcher: TypeAlias = Callable[[str, HookReport], None]
"""Called with the session's id and a report of a hook that a file defines."""
BoundFiles: TypeAlias = dict[str, dict[str, str]]
"""Digests of the files that hooks refer to, by the text of the hook and by path."""
_FOLDER_SOURCES = frozenset({"project", "local"})


class SessionHooks:
    """All hooks of a session as one: those of its host, and those that files define, which may come and go."""

    def __init__(
        self, start: StartContext, host: Hooks, environment: dict[str, str], make: "Callable[[], CommandHooks]"
    ) -> None:
        """`environment` is that of the session's commands; `make` is called when the first hook of a file comes."""
        self._start = start
        self._host = host
        self._environment = environment
        self._make = make
        self._joined = host
        self.commands: CommandHooks | None = None
        """The hooks that files define; None if there were never any."""
        self.listeners: list[Callable[[], None]] = []
        """Called when hooks were added."""
        self._bound: BoundFiles = {}

    def wants(self, name: HookName, subject: str = "") -> bool:
        return self._joined.wants(name, subject)

    async def run(self, call: HookCall) -> HookOutcome:
        exports = call.name in EXPORTING and self.commands is not None
        return await (self._run_exporting(self._joined, call) if exports else self._joined.run(call))

    async def run_without_host(self, call: HookCall) -> HookOutcome:
        """Run hooks of files only: at the start and the end of a session its host is not called."""
        if self.commands is None or not self.commands.wants(call.name, call.subject):
            return NO_OPINION
        return await (self._run_exporting(self.commands, call) if call.name in EXPORTING else self.commands.run(call))

    def add(self, hooks: "Sequence[SettingsHook]") -> Callable[[], None]:
        """Add hooks of a plugin or skill from now on. Returns the function that drops them again."""
        if not hooks or self.are_disabled:
            return lambda: None
        return self._add(hooks)

    def add_settings(self, hooks: "Sequence[SettingsHook]") -> None:
        """Add the hooks of settings that are not disabled; those of managed settings may still be enabled."""
        if hooks:
            self._add(hooks)

    def _add(self, hooks: "Sequence[SettingsHook]") -> Callable[[], None]:
        drop = self._require_commands().add(hooks)
        for listener in self.listeners:
            listener()
        return drop

    def bind(self, definitions: "Iterable[AgentDefinition | CommandDefinition]") -> None:
        """Note what the hooks of agents and skills run now: the session's own tools could rewrite it before they do."""
        for definition in definitions:
            if definition.hooks:
                self._read(definition)

    def read(self, definition: "AgentDefinition | CommandDefinition") -> "list[SettingsHook]":
        """Read the hooks of an agent or a skill; what is wrong with them becomes a warning."""
        found, notices = self._read(definition)
        self._start.warnings.extend(notices)
        return found

    def _read(self, definition: "AgentDefinition | CommandDefinition") -> "tuple[list[SettingsHook], list[str]]":
        origin, root = definition.origin, definition.variables.get("CLAUDE_PLUGIN_ROOT", "")
        folder = self._start.cwd if origin.source in FROM_FOLDERS else plugin_folder(self._start, root)
        return read_hook_entries(
            definition.hooks, origin.file, variables=definition.variables, folder=folder, bound=self._bound
        )

    def for_agent(self, hooks: "Sequence[SettingsHook]") -> Hooks:
        """Return the hooks for a sub-agent: those of the session, and its own, which count only there."""
        if not hooks or self.are_disabled:
            return self
        from bobstay.hooks.hook_runner import JoinedHooks
        from bobstay.hooks.hook_settings import as_agent_hooks

        return JoinedHooks(self, self._require_commands().derive(as_agent_hooks(hooks)))

    @property
    def are_disabled(self) -> bool:
        """Whether `disableAllHooks` is set anywhere."""
        return any(layer.settings.disable_all_hooks for layer in self._start.loaded.layers)

    def _require_commands(self) -> "CommandHooks":
        if self.commands is None:
            from bobstay.hooks.hook_runner import JoinedHooks

            self.commands = self._make()
            self._joined = JoinedHooks(self.commands, self._host)
        return self.commands

    async def _run_exporting(self, hooks: Hooks, call: HookCall) -> HookOutcome:
        """Run hooks that may export variables: in a trusted folder only, as commands get them."""
        if not self._start.loaded.trusted:
            return await hooks.run(call)
        from tempfile import TemporaryDirectory

        from bobstay.assembly.hook_exports import read_exports

        outcome = None
        try:
            with TemporaryDirectory(prefix="bobstay-env-", ignore_cleanup_errors=True) as folder:
                outcome = await hooks.run(msgspec.structs.replace(call, env_files=folder))
                found, problem = await read_exports(folder, self._environment, self._start.cwd)
        except OSError as error:
            outcome = outcome or await hooks.run(call)
            found, problem = {}, f"could not be used: {error}."
        self._environment.update(found)
        if not problem:
            return outcome
        message = HookMessage(f"CLAUDE_ENV_FILE of {call.name} hooks: {problem}", "warning")
        return msgspec.structs.replace(outcome, messages=(*outcome.messages, message))


def build_hooks(
    start: StartContext,
    host: Hooks,
    inherited: dict[str, str],
    watcher: HookWatcher | None,
    *,
    ports: "Callable[[], HookPorts]",
    sinks: "Callable[[], BackgroundSinks]",
) -> SessionHooks:
    """Build the hooks of a session. `ports` and `sinks` are called only if a file defines hooks.

    `inherited` is the environment of the session's commands, to which hooks may add.

    The hooks of an untrusted folder have been removed from its settings already.
    """

    def make() -> "CommandHooks":
        from bobstay.hooks.hook_execution import HookExecution
        from bobstay.hooks.hook_runner import CommandHooks

        execution = HookExecution(
            cwd=start.cwd,
            environment={name: value for name, value in inherited.items() if not start.environment.is_model_key(name)},
            session_id=start.session_id,
            network=start.environment.network,
            variables=lambda hook: _header_variables(hook, start),
            ports=ports(),
        )
        report = _redact_reports(start, watcher) if watcher is not None else None
        return CommandHooks((), execution, report, sinks())

    hooks = SessionHooks(start, host, inherited, make)
    layers = [layer for layer in _enabled_layers(start) if layer.settings.hooks]
    hooks.add_settings([hook for layer in layers for hook in _read_layer(layer, start)])
    return hooks


def read_hook_entries(
    entries: Mapping[str, Any],
    file: str,
    *,
    variables: Mapping[str, str] | None = None,
    folder: str = "",
    bound: BoundFiles | None = None,
) -> "tuple[list[SettingsHook], list[str]]":
    """Read the hooks of a plugin, skill or agent. Returns them, and notices about what was left out.

    `variables` are for their environment, such as the root of a plugin. `folder` is the trusted folder they come from,
    if they come from one: the content of the files they refer to is then bound to this moment, or to the one at which
    a hook with the same text was first read with `bound`.
    """
    from bobstay.hooks.hook_settings import read_hooks

    notices: list[str] = []
    found = read_hooks(dict(entries), file, lambda _, what: notices.append(f"{file}: {what}."))
    hooks = [msgspec.structs.replace(hook, variables=dict(variables or {})) for hook in found]
    return (_bind_to_folder(hooks, folder, bound) if folder else hooks), notices


def plugin_folder(start: StartContext, root: str) -> str:
    """The folder that a plugin's hooks come from: that of the session, if the plugin is a part of it; else ""."""
    if not root:
        return ""
    from bobstay.library.plugin_content import is_of_project

    return start.cwd if is_of_project(root, start.cwd, start.environment.paths) else ""


async def run_session_start(
    hooks: SessionHooks, start: StartContext, facts: Callable[[], dict[str, Any]], source: str = ""
) -> HookOutcome:
    """Run the SessionStart hooks of files; their outcome is for the next prompt."""
    source = source or ("resume" if start.options.resume or start.options.continue_ else "startup")
    return await _run_recorded(
        hooks, HookCall("SessionStart", {**facts(), "source": source, "model": start.model}, source)
    )


async def run_session_end(hooks: SessionHooks, facts: Callable[[], dict[str, Any]], reason: str) -> HookOutcome:
    """Run the SessionEnd hooks of files. Hosts are not called: they end the session, and may be gone."""
    return await _run_recorded(hooks, HookCall("SessionEnd", {**facts(), "reason": reason}, reason))


async def _run_recorded(hooks: SessionHooks, call: HookCall) -> HookOutcome:
    if hooks.commands is None or not hooks.commands.wants(call.name, call.subject):
        return NO_OPINION
    import time

    began = time.monotonic()
    outcome = await hooks.run_without_host(call)
    duration = int((time.monotonic() - began) * 1000)
    return msgspec.structs.replace(outcome, label=call.label, duration_ms=duration)


def _enabled_layers(start: StartContext) -> list[SettingsLayer]:
    """Return the layers whose hooks are enabled."""
    layers = start.loaded.layers
    disabling = {layer.source for layer in layers if layer.settings.disable_all_hooks}
    return [layer for layer in layers if not are_hooks_disabled(layer.source, disabling)]


def _read_layer(layer: SettingsLayer, start: StartContext) -> "list[SettingsHook]":
    from bobstay.config import json_position
    from bobstay.hooks.hook_settings import read_hooks
    from bobstay.system.safe_read import read_regular

    def notice(path: str, what: str) -> None:
        data = read_regular(layer.file, 1 << 20) if layer.file != "--settings" else None
        position = json_position.locate_path(data, path) if data else None
        where = f"{layer.file}:{position[0]}:{position[1]}" if position else layer.file
        start.warnings.append(f"{where}: {what}.")

    # `once` is for skills, which are used again and again.
    found = [
        msgspec.structs.replace(hook, once=False) if hook.once else hook
        for hook in read_hooks(layer.settings.hooks, layer.file, notice)
    ]
    return _bind_to_folder(found, start.cwd) if layer.source in _FOLDER_SOURCES else found


def _bind_to_folder(hooks: "list[SettingsHook]", folder: str, bound: BoundFiles | None = None) -> "list[SettingsHook]":
    """Bind hooks of a folder to the content of the files they refer to.

    The session's own tools could rewrite a hook's script: only the content that was trusted is run.
    """
    known: BoundFiles = {} if bound is None else bound
    from bobstay.config.digest import DigestLimitError, digest_files
    from bobstay.config.trust_parts import find_referenced_files
    from bobstay.hooks.hook_settings import CommandHook

    for hook in hooks:
        if isinstance(hook, CommandHook) and hook.named_text not in known:
            try:
                known[hook.named_text] = digest_files(find_referenced_files(hook.named_text, folder))
            except DigestLimitError as error:
                known[hook.named_text] = {str(error): ""}  # what cannot be checked is not run
    return [
        msgspec.structs.replace(hook, folder=folder, files=known[hook.named_text])
        if isinstance(hook, CommandHook)
        else msgspec.structs.replace(hook, folder=folder)
        for hook in hooks
    ]


def _redact_reports(start: StartContext, watcher: HookWatcher) -> Callable[[HookReport], None]:
    """Redact secrets in hook output before it is reported to a host."""
    redactor = start.redactor

    def tell(report: HookReport) -> None:
        result = report.result
        if result is not None:
            result = HookRunResult(result.code, redactor.redact(result.stdout), redactor.redact(result.stderr))
        watcher(start.session_id, msgspec.structs.replace(report, result=result))

    return tell


def _header_variables(hook: "HttpHook", start: StartContext) -> Mapping[str, str]:
    """Return the variables that a hook's headers may use. A folder cannot choose where model keys are sent."""
    known = {**start.environment.withheld, **start.environment.children, **start.loaded.settings.variables}
    return {name: value for name, value in known.items() if not (hook.folder and start.environment.is_model_key(name))}
