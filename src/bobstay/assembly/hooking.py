"""The hooks of a session: those of its host, and the commands its settings name."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from bobstay.assembly.start import Start
from bobstay.config.sources import BrokenSettings, Layer
from bobstay.engine.surroundings import Surroundings
from bobstay.hooks.event import HookCall, HookReport, Hooks, Ran

if TYPE_CHECKING:
    from bobstay.hooks.matcher import CommandHook
    from bobstay.hooks.run import JoinedHooks

HookWatcher: TypeAlias = Callable[[str, HookReport], None]
"""Told the session's id and what a command hook does."""
_OF_FOLDER = frozenset({"project", "local"})


def session_hooks(
    start: Start, host: Hooks, surroundings: Surroundings, watcher: HookWatcher | None
) -> "tuple[Hooks, JoinedHooks | None]":
    """All hooks as one, and the same again if the settings name any. Raises `BrokenSettings`.

    Settings of a folder that is not trusted have no hooks by now.
    """
    layers = [layer for layer in start.loaded.layers if layer.settings.hooks]
    if not layers:
        return host, None
    from bobstay.hooks.run import CommandHooks, JoinedHooks

    commands = CommandHooks(
        [hook for layer in layers for hook in _read(layer, start)],
        cwd=start.cwd,
        environment=surroundings.environment,
        session_id=start.session_id,
        report=_masked(start, watcher) if watcher is not None else None,
    )
    joined = JoinedHooks(commands, host)
    return joined, joined


async def session_began(hooks: "JoinedHooks", start: Start, facts: Callable[[], dict[str, Any]]) -> None:
    """Let the hooks know; what they say is kept for the first prompt. Only the settings' hooks are called here."""
    source = "resume" if start.options.resume or start.options.continue_ else "startup"
    if hooks.wants("SessionStart", source):
        fields = {**facts(), "source": source, "model": start.model}
        outcome = await hooks.run(HookCall("SessionStart", fields, source))
        hooks.open_with(outcome.context)
        start.warnings.extend(outcome.messages)


async def session_ended(hooks: Hooks, facts: Callable[[], dict[str, Any]]) -> None:
    if hooks.wants("SessionEnd", "other"):
        await hooks.run(HookCall("SessionEnd", {**facts(), "reason": "other"}, "other"))


def _masked(start: Start, watcher: HookWatcher) -> Callable[[HookReport], None]:
    """What a hook wrote goes to a host: secrets it came upon do not."""
    from bobstay.config.keys import secret_values
    from bobstay.kit.secrets import Mask

    mask = Mask({**start.environment.secrets, **secret_values(start.loaded.settings.variables)})

    def tell(report: HookReport) -> None:
        ran = report.ran
        if ran is not None:
            ran = Ran(ran.code, mask.text(ran.stdout), mask.text(ran.stderr))
        watcher(start.session_id, HookReport(report.id, report.name, report.event, ran, report.outcome))

    return tell


def _read(layer: Layer, start: Start) -> "list[CommandHook]":
    import msgspec

    from bobstay.hooks.matcher import BadHookError, command_hooks

    try:
        found = list(command_hooks(layer.settings.hooks, layer.file, start.warnings))
    except BadHookError as error:
        raise _broken(layer, error.path, str(error)) from error
    if layer.source not in _OF_FOLDER:
        return found
    # A session's own tools could rewrite the script of a hook: what was trusted is what is run.
    from bobstay.config.digest import digests_of
    from bobstay.config.trust_parts import referenced

    return [msgspec.structs.replace(hook, files=digests_of(referenced(hook.command, start.cwd))) for hook in found]


def _broken(layer: Layer, path: str, what: str) -> BrokenSettings:
    from bobstay.config import position
    from bobstay.kit.regular import read_regular

    data = read_regular(layer.file, 1 << 20) if layer.file != "--settings" else None
    return BrokenSettings(layer.file, what, position.of_path(data, path) if data else None)
