"""Session policy: the initial permission mode, the rules of all sources, and writing new rules to the settings."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from bobstay.assembly.start_context import StartContext
from bobstay.model.event import Event, PermissionsChanged
from bobstay.permissions.access import Effect
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import BEHAVIORS, Rule
from bobstay.permissions.rule_updates import UpdateFailed, write

if TYPE_CHECKING:
    from bobstay.permissions.sandbox.launch import Sandbox


def initial_mode(start: StartContext) -> tuple[str, bool]:
    """Return the initial mode, and whether permissions may be bypassed at all, which needs an explicit launch flag."""
    options, permissions = start.options, start.loaded.settings.permissions
    forbidden = permissions.disable_bypass_permissions_mode == "disable"
    requested = (
        options.permission_mode == "bypassPermissions"
        or options.dangerously_skip_permissions
        or options.allow_dangerously_skip_permissions
    )
    can_bypass = requested and not forbidden
    mode = options.permission_mode or permissions.default_mode or "default"
    mode = "default" if mode == "manual" else mode
    if mode == "bypassPermissions" and not can_bypass:
        why = "the settings forbid it" if forbidden else "it needs --dangerously-skip-permissions at the start"
        start.warnings.append(f"bypassPermissions is not used: {why}. The mode is default.")
        mode = "default"
    return mode, can_bypass


def make_policy(
    start: StartContext, mode: str, *, can_bypass: bool, readable: tuple[str, ...], sandbox: "Sandbox | None"
) -> Policy:
    """Build the policy. Raises `BadRule` for a rule that cannot be parsed."""
    options, loaded = start.options, start.loaded
    rules = [Rule.parse(rule.text, BEHAVIORS[rule.behavior], rule.source) for rule in loaded.rules]
    rules += [Rule.parse(text, Effect.ALLOW, "cli") for text in options.allowed_tools]
    rules += [Rule.parse(text, Effect.DENY, "cli") for text in options.disallowed_tools]
    return Policy(
        mode,
        rules,
        root=start.cwd,
        directories=(*options.add_dirs, *loaded.settings.permissions.additional_directories),
        home=start.environment.paths.home,
        can_bypass=can_bypass,
        readable=readable,
        read_only=options.read_only,
        sandboxed=_auto_allow(start, sandbox),
    )


def _auto_allow(start: StartContext, sandbox: "Sandbox | None") -> Callable[[str], bool] | None:
    if sandbox is None:
        return None
    from bobstay.assembly.session_sandbox import build_auto_allow

    return build_auto_allow(start.loaded.settings.sandbox, lambda: sandbox.availability)


class SettingsWriter(Struct):
    """Writes permission rules that a person saved into the settings file they chose."""

    files: dict[str, str]
    warnings: list[str]

    def apply(self, event: Event) -> None:
        if isinstance(event, PermissionsChanged):
            try:
                write(event.updates, self.files)
            except UpdateFailed as error:
                self.warnings.append(str(error))
