"""What trust changes in a session: where nobody trusts the folder, whatever would obey it needs a person's word."""

import os
import re
from typing import Any

from msgspec import Struct

from bobstay.assembly.session_policy import StoredUpdates
from bobstay.assembly.start_context import StartContext
from bobstay.config.paths import Paths
from bobstay.context.git_status import guarded
from bobstay.engine.driver import LogObserver
from bobstay.model.event import Event, PermissionsChanged
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.policy import Policy

_QUOTING = re.compile(r"[\\'\"]|\$(?=['\"])")
_GIT = re.compile(r"(?:^|[^\w.@-])git(?:$|[^\w.-])")
_separate = re.compile(r"[;&|\n]+").split
_SAID_SO = frozenset({"rule", "mode", "hook"})
"""Reasons behind which a person's own words stand: a rule, a mode they chose, a hook of theirs."""
_WHY = (
    "This folder is not trusted, and git runs programs that a repository's own configuration names. "
    "Trust it with `bobstay trust add` or --trust if you know what is in it."
)
_WHY_SANDBOX = "This folder is not trusted, so its programs are not run without a question, in a sandbox or not."


class UntrustedJudge:
    """Asks where the policy would let a command through by itself that executes what the folder says."""

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
        if decision.verdict is not Effect.ALLOW or decision.reason_type in _SAID_SO or not commands:
            return decision
        if self.mode == "bypassPermissions":
            return decision
        if decision.reason_type not in ("default", ""):
            return self._asked(_WHY_SANDBOX)
        if any(starts_git(part) and not self._permits(tool, part) for each in commands for part in _separate(each)):
            return self._asked(_WHY)
        return decision

    def suggest(self, tool: str, accesses: tuple[Access, ...], input: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        return self._inner.suggest(tool, accesses, input)

    def apply(self, event: Event) -> None:
        self._inner.apply(event)

    def _permits(self, tool: str, command: str) -> bool:
        """Whether a rule would allow the command if it were not free anyway: then a person thought of it."""
        allowing = (rule for rule in self._inner.rules if rule.verdict is Effect.ALLOW and rule.names(tool))
        return any(not rule.pattern or rule.covers_command(command.strip()) for rule in allowing)

    def _asked(self, why: str) -> PolicyDecision:
        verdict = Effect.DENY if self.mode == "dontAsk" else Effect.ASK
        return PolicyDecision(verdict, why, "default", "safety")


def starts_git(command: str) -> bool:
    """Whether a command may start git. Generous: quoting that could hide the word is taken away first."""
    return _GIT.search(_QUOTING.sub("", command)) is not None


def child_environment(start: StartContext) -> dict[str, str]:
    """What programs started in the session's folder are given."""
    given = inherited(start)
    return given if start.loaded.trusted else guarded(given, start.cwd)


def inherited(start: StartContext) -> dict[str, str]:
    """The variables of child processes. A key of models is among them only if the person's own settings name it."""
    environment = start.environment
    passing = tuple(
        name
        for layer in start.loaded.layers
        for name in layer.settings.pass_variables
        if layer.source not in ("local", "project") or not environment.is_model_key(name)
    )
    said = start.loaded.settings.variables.items()
    extra = {name: value for name, value in said if name in passing or not environment.is_model_key(name)}
    return environment.child_environment(extra, passing)


def kept_updates(start: StartContext) -> LogObserver:
    """Writes the rules a person wants to keep; trust in the folder survives what it writes there."""
    destinations = start.environment.paths.destinations(start.cwd)
    stored = StoredUpdates(destinations, start.warnings)
    if not start.loaded.stored:
        return stored
    files = (destinations["projectSettings"], destinations["localSettings"])
    return KeepingTrust(stored, os.path.realpath(start.cwd), start.environment.paths, files, start.warnings)


class KeepingTrust(Struct):
    inner: LogObserver
    folder: str
    paths: Paths
    files: tuple[str, ...]
    warnings: list[str]

    def apply(self, event: Event) -> None:
        if not isinstance(event, PermissionsChanged):
            self.inner.apply(event)
            return
        from bobstay.config.trust import own_change
        from bobstay.config.trust_store import TrustUnusable

        try:
            with own_change(self.folder, self.paths, self.files):
                self.inner.apply(event)
        except TrustUnusable as error:
            self.warnings.append(f"The folder will count as changed: {error}")
