"""What a session lends its tools, and which tools that lets it offer."""

from pathlib import Path
from typing import Any

import msgspec

from bobstay.assembly.start_context import StartContext
from bobstay.assembly.trust_policy import inherited
from bobstay.config.secret_variables import secret_values
from bobstay.context.instructions import NestedInstructions
from bobstay.engine.tool_environment import ToolEnvironment
from bobstay.permissions.access import Access, Effect, PolicyDecision
from bobstay.permissions.policy import Policy
from bobstay.redaction.redactor import Redactor
from bobstay.tools.base import Tool
from bobstay.tools.shell_session import ShellSession
from bobstay.tools.tool_registry import ToolRegistry

SEARCH_BY_KEY = {"SEARXNG_URL": "searxng", "BRAVE_API_KEY": "brave", "TAVILY_API_KEY": "tavily"}


def lend(start: StartContext, policy: Policy, surroundings: ToolEnvironment) -> None:
    """Fill `surroundings.parts` (see `tools.base.Context.parts`)."""

    def may_fetch(url: str) -> PolicyDecision:
        return policy.judge("WebFetch", (Access("net", url),), {"url": url}, read_only=True)

    shells = _shells(start)
    if start.loaded.settings.sandbox.enabled:
        from bobstay.assembly.session_sandbox import needs_no_question, sandbox_for

        sandbox = shells.sandbox = sandbox_for(start, str(surroundings.spill))
        if sandbox is not None:
            policy.sandboxed = needs_no_question(start.loaded.settings.sandbox, lambda: sandbox.availability)
    surroundings.parts.update(
        shells=shells,
        instructions=NestedInstructions(str(surroundings.root), silent=not start.loaded.trusted).entering,
        may_fetch=may_fetch,
        network=start.environment.network,
        hides=lambda: policy.hides,
        schema=start.options.json_schema,
        plan_file=Path(start.environment.paths.bobstay, "plans", f"{start.session_id}.md"),
    )
    search = _search(start)
    if search is not None:
        surroundings.parts["search"] = search


def shelf_for(
    start: StartContext, policy: Policy, parts: dict[str, Any], tools: tuple[Tool[Any], ...], *, can_ask: bool
) -> ToolRegistry:
    available: set[Any] = {"person"} if can_ask else set()
    if "search" in parts:
        available.add("search")
    return ToolRegistry.load(
        available=available,
        base=start.options.tools,
        removed=policy.denied_tools(),
        schema=start.options.json_schema,
        extra=tools,
    )


def may_search(start: StartContext, policy: Policy, parts: dict[str, Any]) -> bool:
    """A vendor's own search cannot be asked about call by call: it is offered only where a rule allows all of it."""
    own_server = any(name.endswith("_BASE_URL") for name in start.environment.keys)
    if "search" in parts or own_server or start.options.tools is not None:
        return False
    decision = policy.judge("WebSearch", (Access("net", ""),), {"query": ""}, read_only=True)
    return decision.verdict is Effect.ALLOW and decision.reason_type == "rule"


def _shells(start: StartContext) -> ShellSession:
    shells = ShellSession(start.session_id)
    limits, environment = start.loaded.settings.bash, start.environment
    shells.mask = Redactor({**environment.secrets, **secret_values(start.loaded.settings.variables)})
    shells.withheld = frozenset({*environment.withheld, *start.loaded.settings.variables} - inherited(start).keys())
    if start.routes.helper is not None:
        start.routes.helper.on_key = shells.mask.learn
    if environment.bash_timeout_ms:
        shells.default_timeout = environment.bash_timeout_ms / 1000
    if environment.bash_longest_ms:
        shells.longest_timeout = environment.bash_longest_ms / 1000
    if limits is not None:
        shells.default_timeout = limits.timeout or shells.default_timeout
        shells.longest_timeout = limits.longest_timeout or shells.longest_timeout
        shells.background_after = limits.background_after or None
    asked = (limits.output_length if limits else None) or environment.bash_output_length
    shells.shown = max(asked, 2_000) if asked else shells.shown
    return shells


def _search(start: StartContext) -> Any:
    """The configured search endpoint, or one whose key is in the environment; None if there is none."""
    asked, keys = start.loaded.settings.search, start.environment.search
    kind: str = (asked.kind if asked else "") or ""
    if not kind:
        kind = next((name for variable, name in SEARCH_BY_KEY.items() if keys.get(variable)), "")
    if not kind:
        return None
    from bobstay.tools.search_engines import SearchEngine

    url = (asked.url if asked else "") or (keys.get("SEARXNG_URL", "") if kind == "searxng" else "")
    named = start.environment.named.get(asked.key_variable, "") if asked and asked.key_variable else ""
    key = named or next(
        (keys[variable] for variable, name in SEARCH_BY_KEY.items() if name == kind and variable in keys), ""
    )
    return msgspec.convert({"kind": kind, "url": url, "key": "" if kind == "searxng" else key}, SearchEngine)
