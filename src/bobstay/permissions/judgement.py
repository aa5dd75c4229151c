"""How one call is judged: each access by deny, ask and allow rules, then by mode, then by default."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.host_rules import Address, address
from bobstay.permissions.mode import PermissionMode
from bobstay.permissions.path_resolution import Located, PathWorld, is_device, locate, protected
from bobstay.permissions.rule import Rule
from bobstay.permissions.rulebook import Rulebook

if TYPE_CHECKING:
    from bobstay.permissions.shell import RedirectTarget, ShellAnalysis, SimpleCommand

WEIGHT = {"rule": 3, "safety": 2, "mode": 1}
"""Which of two equal verdicts gives the reason people read."""
ALLOWED = PolicyDecision(Effect.ALLOW, "Nothing outside the session is touched.", "default", "default")


class Judgement(Struct):
    """One call before the rules. Deny and ask are looked for first, over all sources."""

    tool: str
    given: dict[str, Any]
    mode: PermissionMode
    book: Rulebook
    world: PathWorld
    cwd: str
    readable: PathWorld | None = None
    """Places that may be read though nobody works there."""
    read_only: bool = False

    def of_call(self) -> PolicyDecision:
        """What rules about the tool as a whole say; allowing is left to the accesses."""
        for verdict in (Effect.DENY, Effect.ASK):
            if rule := self.book.first(verdict, lambda rule: rule.covers_call(self.tool, self.given)):
                return by_rule(rule)
        return ALLOWED

    def of(self, access: Access) -> PolicyDecision:
        match access.kind:
            case "none":
                return ALLOWED
            case "person":
                # No mode and no rule lifts this: a question is for a person.
                return PolicyDecision(
                    Effect.ASK, f"{self.tool} is there to be put before a person.", "default", "default"
                )
            case "read":
                return self.of_read(access.target)
            case "write":
                return self.of_write(access.target)
            case "exec":
                return self.of_command(access.target)
            case "net":
                return self.of_url(access.target)
            case "outside":
                # The model asks for it by a field of its own: no rule, hook or judge may stand in for a person here.
                return self._safety("The command asks to run outside the sandbox, where nothing holds it.")
        return self.of_unknown()  # type: ignore[unreachable]  # a plug-in may state a kind we do not know

    def of_unknown(self) -> PolicyDecision:
        """A call that does not say what it touches."""
        if self.mode.looks_only and not self.read_only:
            return self._by_mode(f"{self.tool} may change something.")
        if rule := self._allowing():
            return by_rule(rule)
        return self._default(f"{self.tool} does not say what it touches, and no rule allows it.")

    def of_read(self, target: str) -> PolicyDecision:
        located = locate(target, self.world.root, self.world)
        about = _about_path("Read", self.tool)
        if found := self._restricted_path(located, target, about, about):
            return found
        if self.world.holds(located) or (self.readable is not None and self.readable.holds(located)):
            return PolicyDecision(Effect.ALLOW, f"{located.path} is in a working directory.", "default", "default")
        if rule := self._first_path(Effect.ALLOW, located, about):
            return by_rule(rule)
        return self._default(f"{located.path} is outside the working directories.", located.path)

    def of_write(self, target: str) -> PolicyDecision:
        located = locate(target, self.world.root, self.world)
        about = _about_path("Edit", self.tool)
        if found := self._restricted_path(located, target, about, lambda rule: about(rule) or rule.tool == "Read"):
            return found
        if part := protected(located):
            why = f"{located.path} is protected ({part}): it can change what runs on this machine."
            return self._safety(why, located.path)
        if self.mode.looks_only:
            return self._by_mode(f"{self.tool} would change {located.path}.")
        if rule := self._first_path(Effect.ALLOW, located, about):
            return by_rule(rule)
        inside = self.world.holds(located)
        if inside and self.mode.edits:
            return PolicyDecision(
                Effect.ALLOW, f"{self.mode.name} mode edits files in working directories.", "default", "mode"
            )
        where = "" if inside else ", which is outside the working directories"
        return self._default(f"{self.tool} would change {located.path}{where}.", "" if inside else located.path)

    def of_url(self, target: str) -> PolicyDecision:
        found = address(target)
        for verdict in (Effect.DENY, Effect.ASK):
            if rule := self._first_host(verdict, found):
                return by_rule(rule)
        if self.tool != "WebFetch" and (rule := self._allowing()):
            return by_rule(rule)
        if found.hopeless and target:
            return PolicyDecision(Effect.DENY, f"Not fetched: {found.trouble}.", "default", "safety")
        if found.trouble:
            return self._safety(f"Not certain where this leads: {found.trouble}.")
        if rule := self._first_host(Effect.ALLOW, found):
            return by_rule(rule)
        kind = "" if found.public else ", a private address that only a rule naming it allows"
        return self._default(f"No rule allows fetching from {found.host}{kind}.")

    def of_command(self, command: str) -> PolicyDecision:
        from bobstay.permissions.shell import read  # only sessions that run commands pay for reading them

        reading = read(command, self.cwd, self.world)
        redirected = [self._of_target(target) for target in reading.targets]
        for verdict in (Effect.DENY, Effect.ASK):
            if rule := self._restricting_command(verdict, reading):
                return by_rule(rule)
            if found := next((one for one in redirected if one.verdict is Effect.DENY), None):
                return found
        if reading.critical:
            # No mode and no rule lifts this one either.
            return PolicyDecision(Effect.ASK, f"A person must approve this: {reading.critical}.", "default", "safety")
        return max((self._of_commands(command, reading), *redirected), key=strength)

    def _of_target(self, target: "RedirectTarget") -> PolicyDecision:
        if not target.path:
            return self._safety(f"It cannot be told which file the redirection to {_short(target.source)} opens.")
        return self.of_read(target.path) if target.kind == "read" else self.of_write(target.path)

    def _of_commands(self, command: str, reading: "ShellAnalysis") -> PolicyDecision:
        if reading.trouble:
            return self._not_understood(reading)
        if rule := self.book.first(Effect.ALLOW, lambda rule: rule.names(self.tool) and _spells(rule, reading)):
            found = [self._of_simple(command, simple, reading, rule) for simple in reading.commands]
        else:
            found = [self._of_simple(command, simple, reading, None) for simple in reading.commands]
        return max(found, key=strength, default=ALLOWED)

    def _not_understood(self, reading: "ShellAnalysis") -> PolicyDecision:
        why = f"The command cannot be analysed ({reading.trouble}), so no rule can allow it."
        if self.mode.looks_only:
            return self._by_mode(why)
        if self._has_scoped(self.tool, "Read", "Edit"):
            return self._safety(f"{why} It cannot be told whether a rule that restricts applies to it.")
        return replace(self._safety(why), unread=True)

    def _has_scoped(self, *tools: str) -> bool:
        """Whether rules restrict some uses of these tools."""
        return any(
            rule.pattern and rule.tool in tools
            for verdict in (Effect.DENY, Effect.ASK)
            for rule in self.book.of(verdict)
        )

    def _of_simple(
        self, command: str, simple: "SimpleCommand", reading: "ShellAnalysis", whole: Rule | None
    ) -> PolicyDecision:
        """One simple command; `whole` is a rule that names the text it stands in, word for word."""
        if why := self._unreadable(simple):
            return self._safety(why)
        if simple.read_only:
            return PolicyDecision(
                Effect.ALLOW, "The command only reads, inside the working directories.", "default", "default"
            )
        written = [self._located(target) for target in simple.writes]
        for located in written:
            if part := protected(located):
                return self._safety(
                    f"The command would write to {located.path}, which is protected ({part}).", located.path
                )
        if self.mode.looks_only:
            return self._by_mode(f"`{_short(command)}` may change something.")
        allowing = whole or self.book.first(Effect.ALLOW, lambda rule: rule.names(self.tool) and _allows(rule, simple))
        if allowing is not None:
            if simple.refused and whole is None:
                return self._safety(f"{simple.refused}.")
            exact = whole is not None or allowing.exact or (simple.exact_only and bool(allowing.pattern))
            if not reading.certain and not exact and self._has_scoped(self.tool, "Read", "Edit"):
                return self._safety("It cannot be told whether a rule that restricts applies to this command.")
            return by_rule(allowing)
        inside = bool(written) and all(self.world.holds(located) for located in written)
        if simple.edits and inside and self.mode.edits:
            return PolicyDecision(
                Effect.ALLOW, f"{self.mode.name} mode lets simple file commands work here.", "default", "mode"
            )
        if not reading.certain and self._has_scoped(self.tool, "Read", "Edit"):
            return self._safety(f"No rule allows `{_short(command)}`, and one that restricts may apply to it.")
        path = next((one.path for one in written if not self.world.holds(one)), written[0].path if written else "")
        return self._default(f"No rule allows `{_short(command)}`.", path)

    def _unreadable(self, simple: "SimpleCommand") -> str:
        """Why it may read what a rule keeps from being read, though it does not name it."""
        if self._may_sweep(simple):
            return "It reads whole directories, in which a rule about reading may name a file."
        if self._has_scoped("Read") and (simple.unresolved or self._reads_devices(simple)):
            return "It cannot be told whether a rule about reading applies to this command."
        return ""

    def _reads_devices(self, simple: "SimpleCommand") -> bool:
        """`/proc/self/cwd/x` is another way to spell a file, one of many."""
        return any(is_device(located) and located.path != "/dev/null" for located in map(self._located, simple.reads))

    def _may_sweep(self, simple: "SimpleCommand") -> bool:
        """Whether a directory it reads may hold a file that a rule keeps from being read."""
        return any(
            rule.path is not None and rule.tool == "Read" and rule.path.reaches(located, self.world)
            for located in map(self._located, simple.sweeps)
            for verdict in (Effect.DENY, Effect.ASK)
            for rule in self.book.of(verdict)
        )

    def _restricting_command(self, verdict: Effect, reading: "ShellAnalysis") -> Rule | None:
        for rule in self.book.of(verdict):
            if rule.names(self.tool) and any(rule.covers_suspect(*suspect) for suspect in reading.suspects):
                return rule
        if not any(rule.pattern and rule.tool in ("Read", "Edit") for rule in self.book.of(verdict)):
            return None
        for simple in (*reading.commands, *reading.hidden):
            for kind, targets in (("Read", (*simple.reads, *simple.writes)), ("Edit", simple.writes)):
                for target in targets:
                    found = self._first_path(verdict, self._located(target), _scoped(kind))
                    if found is not None:
                        return found
        return None

    def _restricted_path(
        self, located: Located, target: str, about: Callable[[Rule], bool], denied: Callable[[Rule], bool]
    ) -> PolicyDecision | None:
        """What stands against a path before anything may stand for it."""
        if located.hopeless:
            return PolicyDecision(Effect.DENY, f"Refused: {located.trouble}.", "default", "safety")
        if rule := self._first_path(Effect.DENY, located, denied):
            return by_rule(rule, located.path)
        if rule := self._first_path(Effect.ASK, located, about):
            return by_rule(rule, located.path)
        if located.trouble:
            return self._safety(f"This path cannot be judged: {located.trouble}.", located.path or target)
        return None

    def _first_path(self, verdict: Effect, located: Located, about: Callable[[Rule], bool]) -> Rule | None:
        return self.book.first(verdict, lambda rule: about(rule) and rule.covers_path(located, self.world))

    def _first_host(self, verdict: Effect, found: Address) -> Rule | None:
        def covers(rule: Rule) -> bool:
            named = rule.names(self.tool) or (rule.tool == "WebFetch" and bool(rule.pattern))
            return named and rule.covers_host(found)

        return self.book.first(verdict, covers)

    def _allowing(self) -> Rule | None:
        return self.book.first(Effect.ALLOW, lambda rule: rule.covers_call(self.tool, self.given))

    def _located(self, target: str) -> Located:
        return locate(target, self.cwd, self.world)

    def _default(self, why: str, path: str = "") -> PolicyDecision:
        if self.mode.bypasses:
            return PolicyDecision(Effect.ALLOW, f"{self.mode.name} mode asks nobody.", "default", "mode")
        return PolicyDecision(Effect.ASK, why, "default", "default", path)

    def _by_mode(self, why: str) -> PolicyDecision:
        return PolicyDecision(
            Effect.ASK, f"{why} In {self.mode.name} mode only reading goes without asking.", "default", "mode"
        )

    def _safety(self, why: str, path: str = "") -> PolicyDecision:
        if self.mode.bypasses:
            return PolicyDecision(Effect.ALLOW, f"{self.mode.name} mode asks nobody.", "default", "mode")
        return PolicyDecision(Effect.ASK, why, "default", "safety", path)


def strength(decision: PolicyDecision) -> tuple[int, int, bool]:
    return decision.verdict, WEIGHT.get(decision.reason_type, 0), not decision.unread


def by_rule(rule: Rule, path: str = "") -> PolicyDecision:
    verb = {Effect.ALLOW: "allows", Effect.ASK: "wants a person to approve", Effect.DENY: "denies"}[rule.verdict]
    shown = path if rule.verdict is Effect.ASK else ""
    return PolicyDecision(rule.verdict, f"The {rule.source} rule {rule.text} {verb} this.", rule.source, "rule", shown)


def _about_path(family: str, tool: str) -> Callable[[Rule], bool]:
    """Rules for a family speak of its paths whichever tool touches them; a tool's own rules of its own.

    A shell's redirections are judged as edits: a rule about commands does not speak of them.
    """
    return lambda rule: rule.tool == family or (tool != "Bash" and rule.names(tool))


def _scoped(family: str) -> Callable[[Rule], bool]:
    return lambda rule: rule.tool == family and bool(rule.pattern)


def _allows(rule: Rule, simple: "SimpleCommand") -> bool:
    if simple.exact_only and rule.pattern and not rule.exact:
        return _is_exactly(rule, simple)
    return any(map(rule.covers_command, simple.texts)) or (rule.exact and _is_exactly(rule, simple))


def _is_exactly(rule: Rule, simple: "SimpleCommand") -> bool:
    """Whether the rule spells the command out; where the shell expands a pattern, its text is not the command."""
    return (rule.exact or not simple.expands) and any(map(rule.spells, simple.texts))


def _spells(rule: Rule, reading: "ShellAnalysis") -> bool:
    """Whether the rule is the whole text, be it one command or many."""
    return (rule.exact or not reading.expands) and rule.spells(reading.text)


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 100 else line[:99] + "…"
