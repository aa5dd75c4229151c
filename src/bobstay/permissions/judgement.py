"""Judges one call: each access by deny, ask and allow rules, then by the mode, then by the default."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.command_rules import allows_command, spells_script
from bobstay.permissions.host_rules import Address, parse_address
from bobstay.permissions.mode import PermissionMode
from bobstay.permissions.path_resolution import FileSystemView, Located, is_device, locate, protected_part, within
from bobstay.permissions.rule import Rule
from bobstay.permissions.rulebook import Rulebook

if TYPE_CHECKING:
    from bobstay.permissions.shell import RedirectTarget, ShellAnalysis, SimpleCommand

WEIGHT = {"rule": 3, "safety": 2, "mode": 1}
"""Which of two decisions with the same effect gives the reason that is shown."""
ALLOWED = PolicyDecision(Effect.ALLOW, "Nothing outside the session is touched.", "default", "default")


class Judgement(Struct):
    """One call to be judged. Deny and ask rules of all sources are matched first."""

    tool: str
    given: dict[str, Any]
    mode: PermissionMode
    rulebook: Rulebook
    view: FileSystemView
    cwd: str
    readable: FileSystemView | None = None
    """Directories that may be read although they are not working directories."""
    memory: FileSystemView | None = None
    """The folder in which the agent keeps its notes: its Markdown files are like those of a working directory."""
    read_only: bool = False

    def judge_call(self) -> PolicyDecision:
        """Apply deny and ask rules about the tool as a whole; allow rules are applied per access."""
        for effect in (Effect.DENY, Effect.ASK):
            if rule := self.rulebook.first(effect, lambda rule: rule.covers_call(self.tool, self.given)):
                return decide_by_rule(rule)
        return ALLOWED

    def judge_access(self, access: Access) -> PolicyDecision:
        match access.kind:
            case "none":
                return ALLOWED
            case "person":
                why = f"{self.tool} always needs an answer from a person."  # no mode and no rule overrides this
                return PolicyDecision(Effect.ASK, why, "default", "default")
            case "read":
                return self.judge_read(access.target)
            case "write":
                return self.judge_write(access.target)
            case "exec":
                return self.judge_command(access.target)
            case "net":
                return self.judge_url(access.target)
            case "peer":
                return self.judge_peer(access.target)
            case "outside":
                # The model requests this by a field of its own: no rule, hook or advisor may answer for a person.
                return self._ask_for_safety("The command asks to run outside the sandbox, without its restrictions.")
        return self.judge_unstated()  # type: ignore[unreachable]  # a plug-in may state an unknown kind

    def judge_unstated(self) -> PolicyDecision:
        """Judge a call that does not state what it would access."""
        if self.mode.read_only and not self.read_only:
            return self._ask_by_mode(f"{self.tool} may change something.")
        if rule := self._first_allowing():
            return decide_by_rule(rule)
        return self._ask_by_default(f"{self.tool} does not say what it touches, and no rule allows it.")

    def judge_read(self, target: str) -> PolicyDecision:
        located = locate(target, self.view.root, self.view)
        about = _is_about_path("Read", self.tool)
        if found := self._restricted_path(located, target, about, about):
            return found
        readable = self.readable is not None and self.readable.contains(located)
        if self.view.contains(located) or readable or self._is_note(located):
            return PolicyDecision(Effect.ALLOW, f"{located.path} is in a working directory.", "default", "default")
        if rule := self._first_path(Effect.ALLOW, located, about):
            return decide_by_rule(rule)
        return self._ask_by_default(f"{located.path} is outside the working directories.", located.path)

    def judge_write(self, target: str) -> PolicyDecision:
        located = locate(target, self.view.root, self.view)
        about = _is_about_path("Edit", self.tool)
        if found := self._restricted_path(located, target, about, lambda rule: about(rule) or rule.tool == "Read"):
            return found
        is_note = self._is_note(located)
        if not is_note and (part := protected_part(located)):
            why = f"{located.path} is protected ({part}): it can change what runs on this machine."
            return self._ask_for_safety(why, located.path)
        if self.mode.read_only:
            return self._ask_by_mode(f"{self.tool} would change {located.path}.")
        if rule := self._first_path(Effect.ALLOW, located, about):
            return decide_by_rule(rule)
        inside = is_note or self.view.contains(located)
        if inside and self.mode.edits:
            return PolicyDecision(
                Effect.ALLOW, f"{self.mode.name} mode edits files in working directories.", "default", "mode"
            )
        where = "" if inside else ", which is outside the working directories"
        return self._ask_by_default(f"{self.tool} would change {located.path}{where}.", "" if inside else located.path)

    def _is_note(self, located: Located) -> bool:
        """Whether a path is a note in the agent's memory. Nothing runs Markdown, so these are not protected.

        The memory itself is below a protected folder. One within it is protected: it may have skills, which run things.
        """
        if self.memory is None or not located.path.endswith(".md") or not self.memory.contains(located):
            return False
        root = self.memory.root
        if not all(within(spelling, root, fold_case=self.memory.fold_case) for spelling in located.spellings):
            return False  # the folder was replaced by a link since
        return not protected_part(Located(tuple(spelling[len(root) :] for spelling in located.spellings)))

    def judge_url(self, target: str) -> PolicyDecision:
        found = parse_address(target)
        for effect in (Effect.DENY, Effect.ASK):
            if rule := self._first_host(effect, found):
                return decide_by_rule(rule)
        if self.tool != "WebFetch" and (rule := self._first_allowing()):
            return decide_by_rule(rule)
        if found.forbidden and target:
            return PolicyDecision(Effect.DENY, f"Not fetched: {found.trouble}.", "default", "safety")
        if found.trouble:
            return self._ask_for_safety(f"The host is not certain: {found.trouble}.")
        if rule := self._first_host(Effect.ALLOW, found):
            return decide_by_rule(rule)
        kind = "" if found.public else ", a private address that only a rule naming it allows"
        return self._ask_by_default(f"No rule allows fetching from {found.host}{kind}.")

    def judge_peer(self, target: str) -> PolicyDecision:
        """Judge a message to an agent of another session. `target` is where it goes, whatever the call wrote."""
        given = {**self.given, "to": target}
        why = f"{self.tool} would give a message to {target}, outside this session."
        for effect in (Effect.DENY, Effect.ASK):
            if rule := self.rulebook.first(effect, lambda rule: rule.covers_peer(self.tool, given, target)):
                return decide_by_rule(rule)
        if self.mode.read_only:
            return self._ask_by_mode(why)
        if rule := self.rulebook.first(Effect.ALLOW, lambda rule: rule.covers_call(self.tool, given)):
            return decide_by_rule(rule)
        return self._ask_by_default(why)

    def judge_command(self, command: str) -> PolicyDecision:
        from bobstay.permissions.shell import analyze  # only sessions that run commands need it

        analysis = analyze(command, self.cwd, self.view)
        redirected = [self._judge_redirect(target) for target in analysis.targets]
        for effect in (Effect.DENY, Effect.ASK):
            if rule := self._restricting_command(effect, analysis):
                return decide_by_rule(rule)
            if found := next((one for one in redirected if one.effect is Effect.DENY), None):
                return found
        if analysis.critical:
            # No mode and no rule overrides this one either.
            return PolicyDecision(Effect.ASK, f"A person must approve this: {analysis.critical}.", "default", "safety")
        return max((self._judge_commands(command, analysis), *redirected), key=strictness)

    def _judge_redirect(self, target: "RedirectTarget") -> PolicyDecision:
        if not target.path:
            return self._ask_for_safety(
                f"Cannot determine which file the redirection to {_short(target.source)} opens."
            )
        return self.judge_read(target.path) if target.kind == "read" else self.judge_write(target.path)

    def _judge_commands(self, command: str, analysis: "ShellAnalysis") -> PolicyDecision:
        if analysis.trouble:
            return self._ask_unanalysed(analysis)
        if rule := self.rulebook.first(
            Effect.ALLOW, lambda rule: rule.names(self.tool) and spells_script(rule, analysis)
        ):
            found = [self._judge_simple(command, simple, analysis, rule) for simple in analysis.commands]
        else:
            found = [self._judge_simple(command, simple, analysis, None) for simple in analysis.commands]
        return max(found, key=strictness, default=ALLOWED)

    def _ask_unanalysed(self, analysis: "ShellAnalysis") -> PolicyDecision:
        why = f"The command cannot be analysed ({analysis.trouble}), so no rule can allow it."
        if self.mode.read_only:
            return self._ask_by_mode(why)
        if self._has_scoped_rules(self.tool, "Read", "Edit"):
            return self._ask_for_safety(f"{why} A deny or ask rule may apply to it.")
        return replace(self._ask_for_safety(why), unanalysed=True)

    def _has_scoped_rules(self, *tools: str) -> bool:
        """Whether deny or ask rules with a pattern exist for these tools."""
        return any(
            rule.pattern and rule.tool in tools
            for effect in (Effect.DENY, Effect.ASK)
            for rule in self.rulebook.with_effect(effect)
        )

    def _judge_simple(
        self, command: str, simple: "SimpleCommand", analysis: "ShellAnalysis", whole: Rule | None
    ) -> PolicyDecision:
        """Judge one simple command; `whole` is an allow rule that spells out the entire command text."""
        if why := self._read_restriction(simple):
            return self._ask_for_safety(why)
        if simple.read_only:
            return PolicyDecision(
                Effect.ALLOW, "The command only reads, inside the working directories.", "default", "default"
            )
        written = [self._locate(target) for target in simple.writes]
        for located in written:
            if part := protected_part(located):
                return self._ask_for_safety(
                    f"The command would write to {located.path}, which is protected ({part}).", located.path
                )
        if self.mode.read_only:
            return self._ask_by_mode(f"`{_short(command)}` may change something.")
        allowing = whole or self.rulebook.first(
            Effect.ALLOW, lambda rule: rule.names(self.tool) and allows_command(rule, simple)
        )
        if allowing is not None:
            if simple.refused and whole is None:
                return self._ask_for_safety(f"{simple.refused}.")
            exact = whole is not None or allowing.exact or (simple.exact_only and bool(allowing.pattern))
            if not analysis.certain and not exact and self._has_scoped_rules(self.tool, "Read", "Edit"):
                return self._ask_for_safety("Cannot determine whether a deny or ask rule applies to this command.")
            return decide_by_rule(allowing)
        inside = bool(written) and all(self.view.contains(located) for located in written)
        if simple.edits and inside and self.mode.edits:
            return PolicyDecision(
                Effect.ALLOW,
                f"{self.mode.name} mode allows simple file commands in working directories.",
                "default",
                "mode",
            )
        if not analysis.certain and self._has_scoped_rules(self.tool, "Read", "Edit"):
            return self._ask_for_safety(f"No rule allows `{_short(command)}`, and a deny or ask rule may apply to it.")
        path = next((one.path for one in written if not self.view.contains(one)), written[0].path if written else "")
        return self._ask_by_default(f"No rule allows `{_short(command)}`.", path)

    def _read_restriction(self, simple: "SimpleCommand") -> str:
        """Why the command may read a file that a Read rule restricts, although it does not name it; "" if it cannot."""
        if self._may_read_restricted(simple):
            return "It reads whole directories, which may contain a file that a Read rule restricts."
        if self._has_scoped_rules("Read") and (simple.unresolved or self._reads_devices(simple)):
            return "Cannot determine whether a Read rule applies to this command."
        return ""

    def _reads_devices(self, simple: "SimpleCommand") -> bool:
        """Whether it reads below /dev, /proc or /sys: `/proc/self/cwd/x` is one of many other names for a file."""
        return any(is_device(located) and located.path != "/dev/null" for located in map(self._locate, simple.reads))

    def _may_read_restricted(self, simple: "SimpleCommand") -> bool:
        """Whether a directory it reads may contain a file that a Read rule restricts."""
        return any(
            rule.path is not None and rule.tool == "Read" and rule.path.reaches(located, self.view)
            for located in map(self._locate, simple.read_directories)
            for effect in (Effect.DENY, Effect.ASK)
            for rule in self.rulebook.with_effect(effect)
        )

    def _restricting_command(self, effect: Effect, analysis: "ShellAnalysis") -> Rule | None:
        for rule in self.rulebook.with_effect(effect):
            if rule.names(self.tool) and any(rule.covers_text_from(*rule_text) for rule_text in analysis.rule_texts):
                return rule
        if not any(rule.pattern and rule.tool in ("Read", "Edit") for rule in self.rulebook.with_effect(effect)):
            return None
        for simple in (*analysis.commands, *analysis.hidden):
            for kind, targets in (("Read", (*simple.reads, *simple.writes)), ("Edit", simple.writes)):
                for target in targets:
                    found = self._first_path(effect, self._locate(target), _scoped(kind))
                    if found is not None:
                        return found
        return None

    def _restricted_path(
        self, located: Located, target: str, about: Callable[[Rule], bool], denied: Callable[[Rule], bool]
    ) -> PolicyDecision | None:
        """The decision of deny rules, ask rules and unusual paths, which come before any allow rule."""
        if located.forbidden:
            return PolicyDecision(Effect.DENY, f"Refused: {located.trouble}.", "default", "safety")
        if rule := self._first_path(Effect.DENY, located, denied):
            return decide_by_rule(rule, located.path)
        if rule := self._first_path(Effect.ASK, located, about):
            return decide_by_rule(rule, located.path)
        if located.trouble:
            return self._ask_for_safety(f"This path cannot be judged: {located.trouble}.", located.path or target)
        return None

    def _first_path(self, effect: Effect, located: Located, about: Callable[[Rule], bool]) -> Rule | None:
        return self.rulebook.first(effect, lambda rule: about(rule) and rule.covers_path(located, self.view))

    def _first_host(self, effect: Effect, found: Address) -> Rule | None:
        def covers(rule: Rule) -> bool:
            named = rule.names(self.tool) or (rule.tool == "WebFetch" and bool(rule.pattern))
            return named and rule.covers_host(found)

        return self.rulebook.first(effect, covers)

    def _first_allowing(self) -> Rule | None:
        return self.rulebook.first(Effect.ALLOW, lambda rule: rule.covers_call(self.tool, self.given))

    def _locate(self, target: str) -> Located:
        return locate(target, self.cwd, self.view)

    def _ask_by_default(self, why: str, path: str = "") -> PolicyDecision:
        if self.mode.bypasses:
            return PolicyDecision(Effect.ALLOW, f"{self.mode.name} mode does not ask.", "default", "mode")
        return PolicyDecision(Effect.ASK, why, "default", "default", path)

    def _ask_by_mode(self, why: str) -> PolicyDecision:
        return PolicyDecision(
            Effect.ASK, f"{why} In {self.mode.name} mode only reads are allowed without asking.", "default", "mode"
        )

    def _ask_for_safety(self, why: str, path: str = "") -> PolicyDecision:
        if self.mode.bypasses:
            return PolicyDecision(Effect.ALLOW, f"{self.mode.name} mode does not ask.", "default", "mode")
        return PolicyDecision(Effect.ASK, why, "default", "safety", path)


def strictness(decision: PolicyDecision) -> tuple[int, int, bool]:
    return decision.effect, WEIGHT.get(decision.reason_type, 0), not decision.unanalysed


def decide_by_rule(rule: Rule, path: str = "") -> PolicyDecision:
    verb = {Effect.ALLOW: "allows", Effect.ASK: "wants a person to approve", Effect.DENY: "denies"}[rule.effect]
    shown = path if rule.effect is Effect.ASK else ""
    return PolicyDecision(rule.effect, f"The {rule.source} rule {rule.text} {verb} this.", rule.source, "rule", shown)


def _is_about_path(family: str, tool: str) -> Callable[[Rule], bool]:
    """Select the rules about a path: those of the family (whichever tool is used), and those of the tool itself.

    Redirections of a shell command are judged as edits: rules about commands do not apply to them.
    """
    return lambda rule: rule.tool == family or (tool != "Bash" and rule.names(tool))


def _scoped(family: str) -> Callable[[Rule], bool]:
    return lambda rule: rule.tool == family and bool(rule.pattern)


def _short(command: str) -> str:
    line = " ".join(command.split())
    return line if len(line) <= 100 else line[:99] + "…"
