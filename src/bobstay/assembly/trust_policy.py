"""Trust policy: in an untrusted folder, commands that would execute the folder's content need an approval."""

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from bobstay.assembly.session_policy import SettingsWriter
from bobstay.assembly.start_context import StartContext
from bobstay.config.git_hardening import harden_environment
from bobstay.config.paths import Paths
from bobstay.engine.journal import LogObserver
from bobstay.model.event import Event, PermissionsChanged
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.policy import Policy

_QUOTING = r"[\\'\"]|\$(?=['\"])"
_GIT = r"(?:^|[^\w.@-])git(?:$|[^\w.-])"
_BETWEEN_COMMANDS = r"[;&|\n]+"
_EXPLICIT_REASONS = frozenset({"rule", "mode", "hook"})
"""Reasons that a person stated explicitly: a rule, a mode they chose, or a hook of theirs."""
_WHY = (
    "This folder is not trusted, and git runs programs that a repository's own configuration names. "
    "Trust it with `bobstay trust add` or --trust if you know what is in it."
)
_WHY_SANDBOX = "This folder is not trusted, so its programs are not run without a question, in a sandbox or not."


class UntrustedJudge:
    """Asks for approval where the policy alone would allow a command that executes the folder's content."""

    def __init__(self, inner: Policy) -> None:
        self._inner = inner

    @property
    def mode(self) -> str:
        return self._inner.mode

    def judge(
        self, tool: str, accesses: tuple[Access, ...], input: dict[str, Any], *, read_only: bool
    ) -> PolicyDecision:
        decision = self._inner.judge(tool, accesses, input, read_only=read_only)
        commands = [access.target for access in accesses if access.kind == "exec"]
        if decision.effect is not Effect.ALLOW or decision.reason_type in _EXPLICIT_REASONS or not commands:
            return decision
        if self.mode == "bypassPermissions":
            return decision
        if decision.reason_type not in ("default", ""):
            return self._ask_or_deny(_WHY_SANDBOX)
        if any(
            starts_git(part) and not self._has_allow_rule(tool, part)
            for each in commands
            for part in re.split(_BETWEEN_COMMANDS, each)
        ):
            return self._ask_or_deny(_WHY)
        return decision

    def suggest(self, tool: str, accesses: tuple[Access, ...], input: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        return self._inner.suggest(tool, accesses, input)

    def grant(self, rules: Iterable[str]) -> Callable[[], None]:
        return self._inner.grant(rules)

    def apply(self, event: Event) -> None:
        self._inner.apply(event)

    def _has_allow_rule(self, tool: str, command: str) -> bool:
        """Whether an allow rule covers the command: then a person approved it deliberately."""
        allowing = (rule for rule in self._inner.rules if rule.effect is Effect.ALLOW and rule.names(tool))
        return any(not rule.pattern or rule.covers_command(command.strip()) for rule in allowing)

    def _ask_or_deny(self, why: str) -> PolicyDecision:
        effect = Effect.DENY if self.mode == "dontAsk" else Effect.ASK
        return PolicyDecision(effect, why, "default", "safety")


def starts_git(command: str) -> bool:
    """Whether a command may start git. Errs on the safe side: quoting that could hide the word is removed first."""
    return re.search(_GIT, re.sub(_QUOTING, "", command)) is not None


def child_environment(start: StartContext) -> dict[str, str]:
    """Return the environment of programs that are started in the session's folder."""
    given = inherited_variables(start)
    return given if start.loaded.trusted else harden_environment(given, start.cwd)


def inherited_variables(start: StartContext) -> dict[str, str]:
    """Return the variables of child processes. They contain a model key only if the user's own settings name it."""
    environment = start.environment
    passing = tuple(
        name
        for layer in start.loaded.layers
        for name in layer.settings.pass_variables
        if layer.source not in ("local", "project") or not environment.is_model_key(name)
    )
    variables = start.loaded.settings.variables.items()
    extra = {name: value for name, value in variables if name in passing or not environment.is_model_key(name)}
    return environment.child_environment(extra, passing)


def build_settings_writer(start: StartContext) -> LogObserver:
    """Build the writer of saved rules. The folder stays trusted after bobstay itself writes to its settings."""
    destinations = start.environment.paths.destinations(start.cwd)
    stored = SettingsWriter(destinations, start.warnings)
    if not start.loaded.stored:
        return stored
    files = (destinations["projectSettings"], destinations["localSettings"])
    return TrustKeepingWriter(stored, os.path.realpath(start.cwd), start.environment.paths, files, start.warnings)


class TrustKeepingWriter(Struct):
    inner: LogObserver
    folder: str
    paths: Paths
    files: tuple[str, ...]
    warnings: list[str]

    def apply(self, event: Event) -> None:
        if not isinstance(event, PermissionsChanged):
            self.inner.apply(event)
            return
        from bobstay.config.trust import preserve_trust
        from bobstay.config.trust_store import TrustStoreError

        try:
            with preserve_trust(self.folder, self.paths, self.files):
                self.inner.apply(event)
        except TrustStoreError as error:
            self.warnings.append(f"The folder will count as changed: {error}")
