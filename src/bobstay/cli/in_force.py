"""The permission rules that hold in a folder, each with the file and line it stands in."""

import os
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bobstay.config import position
from bobstay.config.environment import Environment
from bobstay.config.sources import Loaded, RuleText, load
from bobstay.engine.ports import Judge
from bobstay.permissions.access import Access, Decision
from bobstay.permissions.mode import ALIASES
from bobstay.permissions.policy import Policy
from bobstay.permissions.rule import BEHAVIORS, Rule, check
from bobstay.permissions.suggest import broad

if TYPE_CHECKING:
    from bobstay.permissions.sandbox.probe import Availability

ORDER = ("deny", "ask", "allow")
"""The first list with a rule that matches decides."""


class Standing(Struct, frozen=True):
    """A rule and where it stands."""

    rule: Rule
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
                found = position.of_path(file.read(), f"$.permissions.{self.list}[{self.index}]")
        except OSError:
            return 0
        return found[0] if found else 0

    @property
    def place(self) -> str:
        return f"{self.file}:{line}" if (line := self.line) else self.file

    @property
    def warning(self) -> str:
        return broad(self.rule)


class InForce:
    """What the settings of a folder mean for permissions."""

    def __init__(self, cwd: str, environment: Environment, *, trust: bool = False) -> None:
        """Raises `BrokenSettings` for a file or a rule that cannot be used."""
        self.cwd = cwd
        self.environment = environment
        self.loaded: Loaded = load(cwd, environment.paths, trust=trust, check_rule=check)
        self.rules = tuple(_standing(self.loaded.rules))

    @property
    def in_order(self) -> list[Standing]:
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
        from bobstay.permissions.sandbox.probe import available

        return available(workspace=self.cwd, unverified=bool(self.loaded.settings.sandbox.allow_unverified))

    def policy(self, mode: str) -> Policy:
        """The policy of a session here, which asks nothing that a sandbox spares."""
        from bobstay.assembly.sandbox import needs_no_question

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
    ) -> tuple[Decision, Standing | None]:
        """The decision a session would come to, and the rule behind it if it was one."""
        from msgspec.structs import replace

        from bobstay.assembly.untrusted import UntrustedJudge

        judge: Judge = policy if self.loaded.trusted else UntrustedJudge(policy)
        only_reads = bool(accesses) and all(access.kind == "read" for access in accesses)
        decision = judge.judge(tool, accesses, given, read_only=only_reads)
        source, mark, number = decision.source.partition("#")
        if not mark:
            return decision, None
        return replace(decision, source=source, why=decision.why.replace(decision.source, source)), self.rules[
            int(number)
        ]


def _standing(rules: tuple[RuleText, ...]) -> list[Standing]:
    counted: dict[tuple[str, str], int] = {}
    found = []
    for text in rules:
        index = counted.get((text.file, text.verdict), 0)
        counted[text.file, text.verdict] = index + 1
        rule = Rule.parse(text.text, BEHAVIORS[text.verdict], text.source)
        found.append(Standing(rule, text.verdict, text.source, os.path.abspath(text.file), index))
    return found


def _labelled(number: int, each: Standing) -> Rule:
    """The rule with a source that leads back to its place."""
    from msgspec.structs import replace

    return replace(each.rule, source=f"{each.source}#{number}")
