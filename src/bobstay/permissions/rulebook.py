"""All rules in force, by verdict, and how permission updates change them."""

from collections.abc import Callable, Iterable
from typing import Any

from bobstay.permissions.access import Effect
from bobstay.permissions.rule import BEHAVIORS, BadRule, Rule

DESTINATIONS = {"userSettings": "user", "projectSettings": "project", "localSettings": "local", "session": "session"}
RULE_UPDATES = frozenset({"addRules", "replaceRules", "removeRules"})


class Rulebook:
    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules: tuple[Rule, ...] = ()
        self._by_verdict: dict[Effect, tuple[Rule, ...]] = {}
        self._set(tuple(rules))

    def of(self, verdict: Effect) -> tuple[Rule, ...]:
        return self._by_verdict[verdict]

    def first(self, verdict: Effect, covers: Callable[[Rule], bool]) -> Rule | None:
        return next((rule for rule in self._by_verdict[verdict] if covers(rule)), None)

    def apply(self, update: dict[str, Any]) -> None:
        """Take in one `addRules`, `replaceRules` or `removeRules`; what is malformed changes nothing laxly."""
        verdict = BEHAVIORS.get(str(update.get("behavior", "allow")))
        source = DESTINATIONS.get(str(update.get("destination", "session")), "session")
        if verdict is None:
            return
        given = [rule for raw in _rules_of(update) if (rule := _read(raw, verdict, source)) is not None]
        texts = {(rule.tool, rule.pattern) for rule in given}
        kept = self.rules
        if update["type"] == "replaceRules":
            kept = tuple(rule for rule in kept if rule.verdict is not verdict or rule.source != source)
        elif update["type"] == "removeRules":
            kept = tuple(rule for rule in kept if not _is_among(rule, verdict, source, texts))
            given = []
        self._set((*kept, *given))

    def _set(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._by_verdict = {verdict: tuple(rule for rule in rules if rule.verdict is verdict) for verdict in Effect}


def rule_text(raw: dict[str, Any]) -> str:
    """The text of a rule in the wire's shape, `{"toolName": ..., "ruleContent": ...}`."""
    content = raw.get("ruleContent")
    tool = str(raw.get("toolName", ""))
    return f"{tool}({content})" if isinstance(content, str) and content else tool


def _rules_of(update: dict[str, Any]) -> list[dict[str, Any]]:
    rules = update.get("rules")
    return [raw for raw in rules if isinstance(raw, dict)] if isinstance(rules, list | tuple) else []


def _read(raw: dict[str, Any], verdict: Effect, source: str) -> Rule | None:
    """A rule that cannot be understood restricts its whole tool, or allows nothing."""
    try:
        return Rule.parse(rule_text(raw), verdict, source)
    except BadRule:
        if verdict is Effect.ALLOW:
            return None
    try:
        return Rule.parse(str(raw.get("toolName", "")), verdict, source)
    except BadRule:
        return None


def _is_among(rule: Rule, verdict: Effect, source: str, texts: set[tuple[str, str]]) -> bool:
    return rule.verdict is verdict and rule.source == source and (rule.tool, rule.pattern) in texts
