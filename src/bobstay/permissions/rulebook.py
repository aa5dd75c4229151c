"""The rules in force, grouped by effect, and permission updates to them."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from bobstay.permissions.access import Effect
from bobstay.permissions.rule import BEHAVIORS, BadRule, Rule

DESTINATIONS = {"userSettings": "user", "projectSettings": "project", "localSettings": "local", "session": "session"}
RULE_UPDATES = frozenset({"addRules", "replaceRules", "removeRules"})


class Rulebook:
    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules: tuple[Rule, ...] = ()
        self._by_effect: dict[Effect, tuple[Rule, ...]] = {}
        self._set(tuple(rules))

    def with_effect(self, effect: Effect) -> tuple[Rule, ...]:
        return self._by_effect[effect]

    def first(self, effect: Effect, covers: Callable[[Rule], bool]) -> Rule | None:
        return next((rule for rule in self._by_effect[effect] if covers(rule)), None)

    def apply(self, update: dict[str, Any]) -> None:
        """Apply one `addRules`, `replaceRules` or `removeRules`; a malformed rule never makes the policy laxer."""
        effect = BEHAVIORS.get(str(update.get("behavior", "allow")))
        source = DESTINATIONS.get(str(update.get("destination", "session")), "session")
        if effect is None:
            return
        given = [rule for raw in _rules_of(update) if (rule := _parse_rule(raw, effect, source)) is not None]
        texts = {(rule.tool, rule.pattern) for rule in given}
        kept = self.rules
        if update["type"] == "replaceRules":
            kept = tuple(rule for rule in kept if rule.effect is not effect or rule.source != source)
        elif update["type"] == "removeRules":
            kept = tuple(rule for rule in kept if not _is_listed(rule, effect, source, texts))
            given = []
        self._set((*kept, *given))

    def add(self, texts: Iterable[str], effect: Effect) -> Callable[[], None]:
        """Add rules of a command; the returned function removes them. Those that cannot be parsed are left out."""
        added: list[Rule] = []
        for text in texts:
            with suppress(BadRule):
                added.append(Rule.parse(text, effect, "command"))
        self._set((*self.rules, *added))

        def remove() -> None:
            self._set(tuple(rule for rule in self.rules if all(rule is not each for each in added)))

        return remove

    def _set(self, rules: tuple[Rule, ...]) -> None:
        self.rules = rules
        self._by_effect = {effect: tuple(rule for rule in rules if rule.effect is effect) for effect in Effect}


def rule_text(raw: dict[str, Any]) -> str:
    """The text of a rule in wire format, `{"toolName": ..., "ruleContent": ...}`."""
    content = raw.get("ruleContent")
    tool = str(raw.get("toolName", ""))
    return f"{tool}({content})" if isinstance(content, str) and content else tool


def _rules_of(update: dict[str, Any]) -> list[dict[str, Any]]:
    rules = update.get("rules")
    return [raw for raw in rules if isinstance(raw, dict)] if isinstance(rules, list | tuple) else []


def _parse_rule(raw: dict[str, Any], effect: Effect, source: str) -> Rule | None:
    """Parse a rule. A malformed deny or ask rule covers its whole tool; a malformed allow rule is dropped."""
    try:
        return Rule.parse(rule_text(raw), effect, source)
    except BadRule:
        if effect is Effect.ALLOW:
            return None
    try:
        return Rule.parse(str(raw.get("toolName", "")), effect, source)
    except BadRule:
        return None


def _is_listed(rule: Rule, effect: Effect, source: str, texts: set[tuple[str, str]]) -> bool:
    return rule.effect is effect and rule.source == source and (rule.tool, rule.pattern) in texts
