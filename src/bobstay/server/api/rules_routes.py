"""Permission rules over HTTP: list those in force in a directory with their sources, add and remove them."""

from typing import Literal

from msgspec import Struct

from bobstay.config.paths import local_settings, project_settings
from bobstay.config.settings_files import BrokenSettings, RuleText, load
from bobstay.config.trust import preserve_trust
from bobstay.config.trust_store import TrustStoreError
from bobstay.permissions.rule import BEHAVIORS, BadRule, Rule
from bobstay.permissions.rule_updates import UpdateFailed, update_problem, write
from bobstay.permissions.suggest import broad_rule_warning
from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.errors import ApiError

DESTINATIONS = {"user": "userSettings", "project": "projectSettings", "local": "localSettings"}


class RuleView(Struct, frozen=True):
    rule: str
    behavior: str
    source: str
    file: str
    warning: str = ""


class RuleList(Struct, frozen=True):
    rules: tuple[RuleView, ...]
    trusted: bool
    """Whether the directory's own settings are used."""


class RuleQuery(Struct, frozen=True):
    cwd: str
    """The directory the rules are for."""


class RuleChange(Struct, frozen=True, forbid_unknown_fields=True):
    cwd: str
    rule: str
    behavior: Literal["allow", "ask", "deny"]
    scope: Literal["user", "project", "local"]


async def list_rules(call: ApiCall) -> RuleList:
    """List the rules in force in a directory, the source with the highest precedence first."""
    cwd = call.services.roots.resolve(call.query.cwd)
    try:
        loaded = load(cwd, call.services.environment.paths)
    except BrokenSettings as error:
        raise ApiError("wrong_state", str(error)) from error
    return RuleList(tuple(_rule_view(text) for text in loaded.rules), loaded.trusted)


async def add_rule(call: ApiCall) -> RuleList:
    """Add a rule to the user, project or local settings."""
    return await _apply_change(call, "addRules")


async def remove_rule(call: ApiCall) -> RuleList:
    """Remove a rule from the user, project or local settings."""
    return await _apply_change(call, "removeRules")


async def _apply_change(call: ApiCall, kind: str) -> RuleList:
    change: RuleChange = call.body
    cwd = call.services.roots.resolve(change.cwd)
    try:
        rule = Rule.parse(change.rule, BEHAVIORS[change.behavior])
    except BadRule as error:
        raise ApiError("invalid", str(error)) from error
    entry = {"toolName": rule.tool, **({"ruleContent": rule.pattern} if rule.pattern else {})}
    update = {"type": kind, "rules": [entry], "behavior": change.behavior, "destination": DESTINATIONS[change.scope]}
    if why := update_problem(update):
        raise ApiError("invalid", why)
    paths = call.services.environment.paths
    try:
        # A change by this request must not invalidate the trust in the directory.
        with preserve_trust(cwd, paths, (*local_settings(cwd), *project_settings(cwd))):
            write((update,), paths.destinations(cwd))
    except (UpdateFailed, TrustStoreError) as error:
        raise ApiError("storage", str(error)) from error
    call.services.audit.record(call.principal.name, f"rules.{kind}", {"rule": change.rule, "cwd": cwd})
    call.query = RuleQuery(cwd)
    return await list_rules(call)


def _rule_view(rule: RuleText) -> RuleView:
    try:
        warning = broad_rule_warning(Rule.parse(rule.text, BEHAVIORS[rule.behavior]))
    except BadRule as error:
        warning = str(error)
    return RuleView(rule.text, rule.behavior, rule.source, rule.file, warning)


ENDPOINTS = (
    Endpoint("GET", "/permission-rules", list_rules, query=RuleQuery, returns=RuleList, errors=("wrong_state",)),
    Endpoint("POST", "/permission-rules", add_rule, "admin", RuleChange, None, RuleList, 201, ("storage",)),
    Endpoint("DELETE", "/permission-rules", remove_rule, "admin", RuleChange, None, RuleList, 200, ("storage",)),
)
