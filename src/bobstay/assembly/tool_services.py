"""Tool services: provides the services that a session's tools use, and builds its tool registry."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bobstay.assembly.start_context import StartContext
from bobstay.assembly.trust_policy import inherited_variables
from bobstay.config.secret_variables import secret_values
from bobstay.context.instructions import NestedInstructions
from bobstay.engine.tool_environment import ToolEnvironment
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.policy import Policy
from bobstay.redaction.redactor import Redactor
from bobstay.tools.base import Tool, ToolServices
from bobstay.tools.shell_session import ShellSession
from bobstay.tools.tool_registry import ToolRegistry

if TYPE_CHECKING:
    from bobstay.tools.search_engines import SearchEngine

SEARCH_BY_KEY = {"SEARXNG_URL": "searxng", "BRAVE_API_KEY": "brave", "TAVILY_API_KEY": "tavily"}


def provide_services(start: StartContext, policy: Policy, tool_environment: ToolEnvironment) -> ShellSession:
    """Fill `tool_environment.services`, and return the shell session among them."""

    def may_fetch(url: str) -> PolicyDecision:
        return policy.judge("WebFetch", (Access("net", url),), {"url": url}, read_only=True)

    shells = _build_shells(start)
    if start.loaded.settings.sandbox.enabled:
        from bobstay.assembly.session_sandbox import build_auto_allow, build_sandbox

        sandbox = shells.sandbox = build_sandbox(start, str(tool_environment.spill))
        if sandbox is not None:
            policy.sandboxed = build_auto_allow(start.loaded.settings.sandbox, lambda: sandbox.availability)
    services = tool_environment.services
    services.shells = shells
    services.instructions_for = NestedInstructions(str(tool_environment.root), silent=not start.loaded.trusted).enter
    services.may_fetch = may_fetch
    services.network = start.environment.network
    services.denied_reads = lambda: policy.read_filter
    services.schema = start.options.json_schema
    services.plan_file = Path(start.environment.paths.bobstay, "plans", f"{start.session_id}.md")
    services.search = _choose_search_engine(start)
    return shells


def build_tool_registry(
    start: StartContext, policy: Policy, services: ToolServices, tools: tuple[Tool[Any], ...], *, can_ask: bool
) -> ToolRegistry:
    available: set[Any] = {"person"} if can_ask else set()
    if services.search is not None:
        available.add("search")
    return ToolRegistry.load(
        available=available,
        base=start.options.tools,
        removed=policy.denied_tools(),
        schema=start.options.json_schema,
        extra=tools,
    )


def can_use_hosted_search(start: StartContext, policy: Policy, services: ToolServices) -> bool:
    """Whether to offer the vendor's own search: only if a rule allows all of it, as its calls cannot be approved."""
    own_server = any(name.endswith("_BASE_URL") for name in start.environment.keys)
    if services.search is not None or own_server or start.options.tools is not None:
        return False
    decision = policy.judge("WebSearch", (Access("net", ""),), {"query": ""}, read_only=True)
    return decision.effect is Effect.ALLOW and decision.reason_type == "rule"


def _build_shells(start: StartContext) -> ShellSession:
    shells = ShellSession(start.session_id)
    limits, environment = start.loaded.settings.bash, start.environment
    shells.redactor = Redactor({**environment.secrets, **secret_values(start.loaded.settings.variables)})
    shells.withheld = frozenset(
        {*environment.withheld, *start.loaded.settings.variables} - inherited_variables(start).keys()
    )
    if start.routes.helper is not None:
        start.routes.helper.on_key = shells.redactor.add_secrets
    if environment.bash_timeout_ms:
        shells.default_timeout = environment.bash_timeout_ms / 1000
    if environment.bash_longest_ms:
        shells.max_timeout = environment.bash_longest_ms / 1000
    if limits is not None:
        shells.default_timeout = limits.timeout or shells.default_timeout
        shells.max_timeout = limits.longest_timeout or shells.max_timeout
        shells.background_after = limits.background_after or None
    configured = (limits.output_length if limits else None) or environment.bash_output_length
    shells.output_limit = max(configured, 2_000) if configured else shells.output_limit
    return shells


def _choose_search_engine(start: StartContext) -> "SearchEngine | None":
    """Return the configured search engine, or one whose key is in the environment; None if there is none."""
    configured, keys = start.loaded.settings.search, start.environment.search
    kind: str = (configured.kind if configured else "") or ""
    if not kind:
        kind = next((name for variable, name in SEARCH_BY_KEY.items() if keys.get(variable)), "")
    if not kind:
        return None
    from bobstay.tools.search_engines import SearchEngine

    url = (configured.url if configured else "") or (keys.get("SEARXNG_URL", "") if kind == "searxng" else "")
    named = (
        start.environment.all_variables.get(configured.key_variable, "")
        if configured and configured.key_variable
        else ""
    )
    key = named or next(
        (keys[variable] for variable, name in SEARCH_BY_KEY.items() if name == kind and variable in keys), ""
    )
    return msgspec.convert({"kind": kind, "url": url, "key": "" if kind == "searxng" else key}, SearchEngine)
