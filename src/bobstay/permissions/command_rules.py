"""Whether a rule that allows covers a shell command, or a whole script."""

from typing import TYPE_CHECKING

from bobstay.permissions.rule import Rule

if TYPE_CHECKING:
    from bobstay.permissions.shell import ShellAnalysis, SimpleCommand


def allows_command(rule: Rule, simple: "SimpleCommand") -> bool:
    if simple.exact_only and rule.pattern and not rule.exact:
        return _is_exactly(rule, simple)
    return any(map(rule.covers_command, simple.texts)) or (rule.exact and _is_exactly(rule, simple))


def _is_exactly(rule: Rule, simple: "SimpleCommand") -> bool:
    """Whether the rule is the exact text of the command; not if the shell expands a pattern in that text."""
    return (rule.exact or not simple.expands) and any(map(rule.spells, simple.texts))


def spells_script(rule: Rule, analysis: "ShellAnalysis") -> bool:
    """Whether the rule is the entire text, of one command or of several."""
    return (rule.exact or not analysis.expands) and rule.spells(analysis.text)
