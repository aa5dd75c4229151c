"""The permission rules that hold in a folder, each with the file and line it stands in."""

import os
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bobstay.config import json_position
from bobstay.config.environment import Environment
from bobstay.config.settings_files import LoadedSettings, RuleText, load
from bobstay.engine.engine_ports import PermissionJudge
from bobstay.permissions.access import Access, PolicyDecision
from bobstay.permissions.mode import ALIASES
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import BEHAVIORS, BadRule, Rule, check
from bobstay.permissions.suggest import broad

if TYPE_CHECKING:
    from bobstay.permissions.sandbox.availability import Availability

ORDER = ("deny", "ask", "allow")
"""The first list with a rule that matches decides."""


class Written(Struct, frozen=True):
    """Where a rule stands."""

    list: str
    source: str
    file: str
    index: int
    """Its place in its list in its file, from 0."""

    @property
    def line(self) -> int:
        """The line in its file; 0 if that cannot be told."""
        try:
            with open(self.file, "rb") as file:
                found = json_position.of_path(file.read(), f"$.permissions.{self.list}[{self.index}]")
        except OSError:
            return 0
        return found[0] if found else 0

    @property
    def place(self) -> str:
        return f"{self.file}:{line}" if (line := self.line) else self.file


class EffectiveRule(Written, frozen=True, kw_only=True):
    rule: Rule

    @property
    def warning(self) -> str:
        return broad(self.rule)


class Malformed(Written, frozen=True, kw_only=True):
    """A rule that means nothing: no session starts while it stands there."""

    text: str
    why: str


class InForce:
    """What the settings of a folder mean for permissions."""

    def __init__(
        self, cwd: str, environment: Environment, *, trust: bool = False, with_malformed: bool = False
    ) -> None:
        """Raises `BrokenSettings` for a file that cannot be used, and for such a rule if it is not `with_malformed`."""
        self.cwd = cwd
        self.environment = environment
        wanted = None if with_malformed else check
        self.loaded: LoadedSettings = load(cwd, environment.paths, trust=trust, check_rule=wanted)
        found = _written(self.loaded.rules)
        self.rules = tuple(one for one in found if isinstance(one, EffectiveRule))
        self.malformed = tuple(one for one in found if isinstance(one, Malformed))

    @property
    def in_order(self) -> list[EffectiveRule]:
        """As they are looked at: deny before ask before allow, the strongest source first."""
        return sorted(self.rules, key=lambda each: ORDER.index(each.list))

    @property
    def mode(self) -> str:
        named = self.loaded.settings.permissions.default_mode or "default"
        return ALIASES.get(named, named)

    @property
    def sandbox(self) -> "Availability | None":
        """What commands would be put into; None if the settings want no sandbox."""
        if not self.loaded.settings.sandbox.enabled:
            return None
        from bobstay.permissions.sandbox.availability import available

        return available(workspace=self.cwd, unverified=bool(self.loaded.settings.sandbox.allow_unverified))

    def policy(self, mode: str) -> Policy:
        """The policy of a session here, which asks nothing that a sandbox spares."""
        from bobstay.assembly.session_sandbox import needs_no_question

        policy = Policy(
            mode,
            [_labelled(number, each) for number, each in enumerate(self.rules)],
            root=self.cwd,
            directories=self.loaded.settings.permissions.additional_directories,
            home=self.environment.paths.home,
            can_bypass=True,
        )
        if (sandbox := self.sandbox) is not None:
            policy.sandboxed = needs_no_question(self.loaded.settings.sandbox, lambda: sandbox)
        return policy

    def judge(
        self, policy: Policy, tool: str, accesses: tuple[Access, ...], given: dict[str, Any]
    ) -> tuple[PolicyDecision, EffectiveRule | None]:
        """The decision a session would come to, and the rule behind it if it was one."""
        from msgspec.structs import replace

        from bobstay.assembly.trust_policy import UntrustedJudge

        judge: PermissionJudge = policy if self.loaded.trusted else UntrustedJudge(policy)
        only_reads = bool(accesses) and all(access.kind == "read" for access in accesses)
        decision = judge.judge(tool, accesses, given, read_only=only_reads)
        source, mark, number = decision.source.partition("#")
        if not mark:
            return decision, None
        return replace(decision, source=source, why=decision.why.replace(decision.source, source)), self.rules[
            int(number)
        ]


def _written(rules: tuple[RuleText, ...]) -> list[EffectiveRule | Malformed]:
    counted: dict[tuple[str, str], int] = {}
    found: list[EffectiveRule | Malformed] = []
    for text in rules:
        index = counted.get((text.file, text.verdict), 0)
        counted[text.file, text.verdict] = index + 1
        place = (text.verdict, text.source, os.path.abspath(text.file), index)
        try:
            found.append(EffectiveRule(*place, rule=Rule.parse(text.text, BEHAVIORS[text.verdict], text.source)))
        except BadRule as error:
            found.append(Malformed(*place, text=text.text, why=str(error)))
    return found


def _labelled(number: int, each: EffectiveRule) -> Rule:
    """The rule with a source that leads back to its place."""
    from msgspec.structs import replace

    return replace(each.rule, source=f"{each.source}#{number}")
