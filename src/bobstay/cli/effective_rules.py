"""Effective permission rules of a folder, with the file and line of each."""

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
from bobstay.permissions.suggest import broad_rule_warning

if TYPE_CHECKING:
    from bobstay.permissions.sandbox.availability import Availability

ORDER = ("deny", "ask", "allow")
"""The first list with a matching rule decides."""


class RuleLocation(Struct, frozen=True):
    """File, list and position of a rule."""

    list: str
    source: str
    file: str
    index: int
    """Index in its list in its file, from 0."""

    @property
    def line(self) -> int:
        """The line in its file; 0 if unknown."""
        try:
            with open(self.file, "rb") as file:
                position = json_position.locate_path(file.read(), f"$.permissions.{self.list}[{self.index}]")
        except OSError:
            return 0
        return position[0] if position else 0

    @property
    def location(self) -> str:
        return f"{self.file}:{line}" if (line := self.line) else self.file


class EffectiveRule(RuleLocation, frozen=True, kw_only=True):
    rule: Rule

    @property
    def warning(self) -> str:
        return broad_rule_warning(self.rule)


class MalformedRule(RuleLocation, frozen=True, kw_only=True):
    """A rule that cannot be parsed: no session starts until it is fixed."""

    text: str
    why: str


class EffectivePermissions:
    """The permission settings that apply in a folder."""

    def __init__(
        self, cwd: str, environment: Environment, *, trust: bool = False, with_malformed: bool = False
    ) -> None:
        """Raises `BrokenSettings` for an invalid file, and for a malformed rule unless `with_malformed` is set."""
        self.cwd = cwd
        self.environment = environment
        check_rule = None if with_malformed else check
        self.loaded: LoadedSettings = load(cwd, environment.paths, trust=trust, check_rule=check_rule)
        parsed = _parse_rules(self.loaded.rules)
        self.rules = tuple(entry for entry in parsed if isinstance(entry, EffectiveRule))
        self.malformed = tuple(entry for entry in parsed if isinstance(entry, MalformedRule))

    @property
    def ordered(self) -> list[EffectiveRule]:
        """In order of evaluation: deny before ask before allow, the strongest source first."""
        return sorted(self.rules, key=lambda rule: ORDER.index(rule.list))

    @property
    def mode(self) -> str:
        named = self.loaded.settings.permissions.default_mode or "default"
        return ALIASES.get(named, named)

    @property
    def sandbox(self) -> "Availability | None":
        """The sandbox for commands; None if the settings do not enable one."""
        if not self.loaded.settings.sandbox.enabled:
            return None
        from bobstay.permissions.sandbox.availability import available

        return available(workspace=self.cwd, unverified=bool(self.loaded.settings.sandbox.allow_unverified))

    def policy(self, mode: str) -> Policy:
        """The policy a session in this folder would use, including sandbox auto-allow."""
        from bobstay.assembly.session_sandbox import build_auto_allow

        sandbox = self.sandbox
        auto_allow = None
        if sandbox is not None:
            auto_allow = build_auto_allow(self.loaded.settings.sandbox, lambda: sandbox)
        return Policy(
            mode,
            [_label_source(number, each) for number, each in enumerate(self.rules)],
            root=self.cwd,
            directories=self.loaded.settings.permissions.additional_directories,
            home=self.environment.paths.home,
            can_bypass=True,
            sandboxed=auto_allow,
        )

    def judge(
        self, policy: Policy, tool: str, accesses: tuple[Access, ...], given: dict[str, Any]
    ) -> tuple[PolicyDecision, EffectiveRule | None]:
        """The decision a session would make, and the rule behind it, if any."""
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


def _parse_rules(rules: tuple[RuleText, ...]) -> list[EffectiveRule | MalformedRule]:
    counted: dict[tuple[str, str], int] = {}
    parsed: list[EffectiveRule | MalformedRule] = []
    for text in rules:
        index = counted.get((text.file, text.behavior), 0)
        counted[text.file, text.behavior] = index + 1
        location = (text.behavior, text.source, os.path.abspath(text.file), index)
        try:
            parsed.append(EffectiveRule(*location, rule=Rule.parse(text.text, BEHAVIORS[text.behavior], text.source)))
        except BadRule as error:
            parsed.append(MalformedRule(*location, text=text.text, why=str(error)))
    return parsed


def _label_source(number: int, each: EffectiveRule) -> Rule:
    """The rule with its number in the source, to find it again in a decision."""
    from msgspec.structs import replace

    return replace(each.rule, source=f"{each.source}#{number}")
