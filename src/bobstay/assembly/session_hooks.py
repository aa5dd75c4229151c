"""Session hooks: joins the hooks of the host with those of the settings."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from bobstay.assembly.start_context import StartContext
from bobstay.config.merge import are_hooks_disabled
from bobstay.config.secret_variables import UNSAFE_VARIABLES
from bobstay.config.settings_files import SettingsLayer
from bobstay.engine.tool_environment import ToolEnvironment
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookOutcome, HookReport, HookRunResult, Hooks

if TYPE_CHECKING:
    from bobstay.hooks.hook_runner import CommandHooks
    from bobstay.hooks.hook_settings import HttpHook, SettingsHook

HookWatcher: TypeAlias = Callable[[str, HookReport], None]
"""Called with the session's id and a report of a settings hook."""
_FOLDER_SOURCES = frozenset({"project", "local"})
_SHELL_VARIABLES = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})
_ENV_SECONDS = 10.0


def build_hooks(
    start: StartContext, host: Hooks, environment: Mapping[str, str], watcher: HookWatcher | None
) -> "tuple[Hooks, CommandHooks | None]":
    """Return all hooks as one, and separately those of the settings if there are any.

    The hooks of an untrusted folder have been removed from its settings already.
    """
    layers = [layer for layer in _enabled_layers(start) if layer.settings.hooks]
    hooks = [hook for layer in layers for hook in _read_hooks(layer, start)]
    if not hooks:
        return host, None
    from bobstay.hooks.hook_runner import CommandHooks, JoinedHooks

    commands = CommandHooks(
        hooks,
        cwd=start.cwd,
        environment={name: value for name, value in environment.items() if not start.environment.is_model_key(name)},
        session_id=start.session_id,
        report=_redact_reports(start, watcher) if watcher is not None else None,
        network=start.environment.network,
        variables=lambda hook: _header_variables(hook, start),
    )
    return JoinedHooks(commands, host), commands


async def run_session_start(
    commands: "CommandHooks",
    start: StartContext,
    tool_environment: ToolEnvironment,
    facts: Callable[[], dict[str, Any]],
) -> HookOutcome:
    """Run the SessionStart hooks of the settings; their outcome is for the first prompt."""
    source = "resume" if start.options.resume or start.options.continue_ else "startup"
    if not commands.wants("SessionStart", source):
        return NO_OPINION
    call = HookCall("SessionStart", {**facts(), "source": source, "model": start.model}, source)
    if not start.loaded.trusted:
        return await commands.run(call)
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="bobstay-env-") as folder:
        outcome = await commands.run(msgspec.structs.replace(call, env_files=folder))
        tool_environment.environment.update(await _read_exports(folder, tool_environment.environment, start))
    return outcome


async def run_session_end(commands: "CommandHooks", facts: Callable[[], dict[str, Any]]) -> None:
    """Run the SessionEnd hooks of the settings. Hosts are not called: they end the session, and may be gone."""
    if commands.wants("SessionEnd", "other"):
        await commands.run(HookCall("SessionEnd", {**facts(), "reason": "other"}, "other"))
    await commands.close()


def _enabled_layers(start: StartContext) -> list[SettingsLayer]:
    """Return the layers whose hooks are enabled."""
    layers = start.loaded.layers
    disabling = {layer.source for layer in layers if layer.settings.disable_all_hooks}
    return [layer for layer in layers if not are_hooks_disabled(layer.source, disabling)]


def _read_hooks(layer: SettingsLayer, start: StartContext) -> "list[SettingsHook]":
    from bobstay.config import json_position
    from bobstay.hooks.hook_settings import CommandHook, read_hooks
    from bobstay.system.safe_read import read_regular

    def notice(path: str, what: str) -> None:
        data = read_regular(layer.file, 1 << 20) if layer.file != "--settings" else None
        position = json_position.locate_path(data, path) if data else None
        where = f"{layer.file}:{position[0]}:{position[1]}" if position else layer.file
        start.warnings.append(f"{where}: {what}.")

    found = list(read_hooks(layer.settings.hooks, layer.file, notice))
    if layer.source not in _FOLDER_SOURCES:
        return found
    # The session's own tools could rewrite a hook's script: only the content that was trusted is run.
    from bobstay.config.digest import digest_files
    from bobstay.config.trust_parts import find_referenced_files

    return [
        msgspec.structs.replace(hook, folder=start.cwd, files=digest_files(find_referenced_files(hook.text, start.cwd)))
        if isinstance(hook, CommandHook)
        else msgspec.structs.replace(hook, folder=start.cwd)
        for hook in found
    ]


def _redact_reports(start: StartContext, watcher: HookWatcher) -> Callable[[HookReport], None]:
    """Redact secrets in hook output before it is reported to a host."""
    redactor = start.redactor

    def tell(report: HookReport) -> None:
        result = report.result
        if result is not None:
            result = HookRunResult(result.code, redactor.redact(result.stdout), redactor.redact(result.stderr))
        watcher(start.session_id, HookReport(report.id, report.name, report.event, result, report.outcome))

    return tell


def _header_variables(hook: "HttpHook", start: StartContext) -> Mapping[str, str]:
    """Return the variables that a hook's headers may use. A folder cannot choose where model keys are sent."""
    known = {**start.environment.withheld, **start.environment.children, **start.loaded.settings.variables}
    return {name: value for name, value in known.items() if not (hook.folder and start.environment.is_model_key(name))}


async def _read_exports(folder: str, environment: Mapping[str, str], start: StartContext) -> dict[str, str]:
    """Read the variables that hooks exported into their files; a shell evaluates them, so `$PATH` etc. expand."""
    files = sorted(entry.path for entry in os.scandir(folder) if entry.is_file() and entry.stat().st_size)
    if not files:
        return {}
    from bobstay.hooks.command_hook import run_command, shell

    script = 'for file; do . "$file"; done >/dev/null </dev/null; exec env -0'
    try:
        result = await run_command(
            shell(script, *files), b"", cwd=start.cwd, environment=environment, limit=_ENV_SECONDS
        )
    except OSError as error:
        result = HookRunResult(None, "", str(error))
    if result.code != 0:
        why = result.stderr.strip()[:500] or "the shell did not finish"
        start.warnings.append(f"What SessionStart hooks wrote into CLAUDE_ENV_FILE could not be read: {why}.")
        return {}
    if result.stderr.strip():
        start.warnings.append(f"CLAUDE_ENV_FILE of SessionStart hooks: {result.stderr.strip()[:500]}")
    from bobstay.system.process_tree import MARK

    ignored = _SHELL_VARIABLES | UNSAFE_VARIABLES | {MARK}
    pairs = (line.partition("=") for line in result.stdout.split("\0") if "=" in line)
    return {name: value for name, _, value in pairs if name not in ignored and environment.get(name) != value}
