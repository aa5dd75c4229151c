"""The hooks of a session: those of its host, and those its settings name."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from bobstay.assembly.start_context import StartContext
from bobstay.config.merge import hooks_disabled
from bobstay.config.secret_variables import MISLEADING
from bobstay.config.settings_files import SettingsLayer
from bobstay.engine.tool_environment import ToolEnvironment
from bobstay.hooks.hook_event import NO_OPINION, HookCall, HookOutcome, HookReport, Hooks, Ran

if TYPE_CHECKING:
    from bobstay.hooks.hook_runner import CommandHooks
    from bobstay.hooks.hook_settings import HttpHook, SettingsHook

HookWatcher: TypeAlias = Callable[[str, HookReport], None]
"""Told the session's id and what a hook of the settings does."""
_OF_FOLDER = frozenset({"project", "local"})
_OF_SHELL = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})
_ENV_SECONDS = 10.0


def session_hooks(
    start: StartContext, host: Hooks, surroundings: ToolEnvironment, watcher: HookWatcher | None
) -> "tuple[Hooks, CommandHooks | None]":
    """All hooks as one, and those of the settings by themselves if there are any.

    Settings of a folder that is not trusted have no hooks by now.
    """
    layers = [layer for layer in _enabled(start) if layer.settings.hooks]
    hooks = [hook for layer in layers for hook in _read(layer, start)]
    if not hooks:
        return host, None
    from bobstay.hooks.hook_runner import CommandHooks, JoinedHooks

    commands = CommandHooks(
        hooks,
        cwd=start.cwd,
        environment={
            name: value for name, value in surroundings.environment.items() if not start.environment.is_model_key(name)
        },
        session_id=start.session_id,
        report=_masked(start, watcher) if watcher is not None else None,
        post=_post(start),
        variables=lambda hook: _for_headers(hook, start),
    )
    return JoinedHooks(commands, host), commands


async def session_began(
    commands: "CommandHooks", start: StartContext, surroundings: ToolEnvironment, facts: Callable[[], dict[str, Any]]
) -> HookOutcome:
    """Let the settings' hooks know; what they say is for the first prompt."""
    source = "resume" if start.options.resume or start.options.continue_ else "startup"
    if not commands.wants("SessionStart", source):
        return NO_OPINION
    call = HookCall("SessionStart", {**facts(), "source": source, "model": start.model}, source)
    if not start.loaded.trusted:
        return await commands.run(call)
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="bobstay-env-") as folder:
        commands.env_files = folder
        outcome = await commands.run(call)
        commands.env_files = ""
        surroundings.environment.update(await _exported(folder, surroundings.environment, start))
    return outcome


async def session_ended(commands: "CommandHooks", facts: Callable[[], dict[str, Any]]) -> None:
    """Hosts are not told: they end the session, and may be gone."""
    if commands.wants("SessionEnd", "other"):
        await commands.run(HookCall("SessionEnd", {**facts(), "reason": "other"}, "other"))
    await commands.close()


def _enabled(start: StartContext) -> list[SettingsLayer]:
    """The settings whose hooks count."""
    layers = start.loaded.layers
    disabling = {layer.source for layer in layers if layer.settings.disable_all_hooks}
    return [layer for layer in layers if not hooks_disabled(layer.source, disabling)]


def _read(layer: SettingsLayer, start: StartContext) -> "list[SettingsHook]":
    import msgspec

    from bobstay.config import json_position
    from bobstay.hooks.hook_settings import CommandHook, read_hooks
    from bobstay.system.safe_read import read_regular

    def notice(path: str, what: str) -> None:
        data = read_regular(layer.file, 1 << 20) if layer.file != "--settings" else None
        place = json_position.of_path(data, path) if data else None
        start.warnings.append(f"{layer.file}:{place[0]}:{place[1]}: {what}." if place else f"{layer.file}: {what}.")

    found = list(read_hooks(layer.settings.hooks, layer.file, notice))
    if layer.source not in _OF_FOLDER:
        return found
    # A session's own tools could rewrite the script of a hook: what was trusted is what is run.
    from bobstay.config.digest import digests_of
    from bobstay.config.trust_parts import referenced

    return [
        msgspec.structs.replace(hook, folder=start.cwd, files=digests_of(referenced(hook.text, start.cwd)))
        if isinstance(hook, CommandHook)
        else msgspec.structs.replace(hook, folder=start.cwd)
        for hook in found
    ]


def _masked(start: StartContext, watcher: HookWatcher) -> Callable[[HookReport], None]:
    """What a hook wrote goes to a host: secrets it came upon do not."""
    from bobstay.config.secret_variables import secret_values
    from bobstay.redaction.redactor import Redactor

    mask = Redactor({**start.environment.secrets, **secret_values(start.loaded.settings.variables)})

    def tell(report: HookReport) -> None:
        ran = report.ran
        if ran is not None:
            ran = Ran(ran.code, mask.text(ran.stdout), mask.text(ran.stderr))
        watcher(start.session_id, HookReport(report.id, report.name, report.event, ran, report.outcome))

    return tell


def _for_headers(hook: "HttpHook", start: StartContext) -> Mapping[str, str]:
    """What may stand in the headers of a hook. A folder may not choose where the keys of models are sent."""
    known = {**start.environment.withheld, **start.environment.children, **start.loaded.settings.variables}
    return {name: value for name, value in known.items() if not (hook.folder and start.environment.is_model_key(name))}


def _post(start: StartContext) -> "Callable[[str, dict[str, str], bytes], Any]":
    most = 1 << 20

    async def post(url: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        from bobstay.providers.base import ProviderError
        from bobstay.providers.http_client import HttpClient

        # Not the session's: that may be closed when the last hook is called.
        client = HttpClient(start.environment.network)
        try:
            reply = await client.post(url, headers, body)
            return reply.status, await reply.read(most)
        except ProviderError as error:
            raise OSError(str(error)) from error
        finally:
            await client.close()

    return post


async def _exported(folder: str, environment: Mapping[str, str], start: StartContext) -> dict[str, str]:
    """The variables that hooks exported into their files: a shell reads them, so `$PATH` and the like are known."""
    files = sorted(entry.path for entry in os.scandir(folder) if entry.is_file() and entry.stat().st_size)
    if not files:
        return {}
    from bobstay.hooks.command_hook import run_command, shell

    script = 'for file; do . "$file"; done >/dev/null </dev/null; exec env -0'
    try:
        ran = await run_command(shell(script, *files), b"", cwd=start.cwd, environment=environment, limit=_ENV_SECONDS)
    except OSError as error:
        ran = Ran(None, "", str(error))
    if ran.code != 0:
        why = ran.stderr.strip()[:500] or "it did not come to its end"
        start.warnings.append(f"What SessionStart hooks wrote into CLAUDE_ENV_FILE could not be read: {why}.")
        return {}
    if ran.stderr.strip():
        start.warnings.append(f"CLAUDE_ENV_FILE of SessionStart hooks: {ran.stderr.strip()[:500]}")
    from bobstay.system.process_tree import MARK

    left_out = _OF_SHELL | MISLEADING | {MARK}
    pairs = (line.partition("=") for line in ran.stdout.split("\0") if "=" in line)
    return {name: value for name, _, value in pairs if name not in left_out and environment.get(name) != value}
