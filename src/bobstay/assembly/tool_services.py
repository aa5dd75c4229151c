"""What a session lends its tools, and which tools that lets it offer."""

from pathlib import Path
from typing import Any

import msgspec

from bobstay.assembly.start_context import Start
from bobstay.assembly.trust_policy import inherited
from bobstay.config.secret_variables import secret_values
from bobstay.context.instructions import Nested
from bobstay.engine.tool_environment import Surroundings
from bobstay.redaction.redactor import Mask
from bobstay.permissions.access import Access, Decision, Verdict
from bobstay.permissions.policy import Policy
from bobstay.tools.base import Tool
from bobstay.tools.tool_registry import Shelf
from bobstay.tools.shell_session import Shells

SEARCH_BY_KEY = {"SEARXNG_URL": "searxng", "BRAVE_API_KEY": "brave", "TAVILY_API_KEY": "tavily"}


def lend(start: Start, policy: Policy, surroundings: Surroundings) -> None:
    """Fill `surroundings.parts` (see `tools.base.Context.parts`)."""

    def may_fetch(url: str) -> Decision:
        return policy.judge("WebFetch", (Access("net", url),), {"url": url}, read_only=True)

    shells = _shells(start)
    if start.loaded.settings.sandbox.enabled:
        from bobstay.assembly.session_sandbox import needs_no_question, sandbox_for

        sandbox = shells.sandbox = sandbox_for(start, str(surroundings.spill))
        if sandbox is not None:
            policy.sandboxed = needs_no_question(start.loaded.settings.sandbox, lambda: sandbox.availability)
    surroundings.parts.update(
        shells=shells,
        instructions=Nested(str(surroundings.root), silent=not start.loaded.trusted).entering,
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
    start: Start, policy: Policy, parts: dict[str, Any], tools: tuple[Tool[Any], ...], *, can_ask: bool
) -> Shelf:
    available: set[Any] = {"person"} if can_ask else set()
    if "search" in parts:
        available.add("search")
    return Shelf.load(
        available=available,
        base=start.options.tools,
        removed=policy.denied_tools(),
        schema=start.options.json_schema,
        extra=tools,
    )


def may_search(start: Start, policy: Policy, parts: dict[str, Any]) -> bool:
    """A vendor's own search cannot be asked about call by call: it is offered only where a rule allows all of it."""
    own_server = any(name.endswith("_BASE_URL") for name in start.environment.keys)
    if "search" in parts or own_server or start.options.tools is not None:
        return False
    decision = policy.judge("WebSearch", (Access("net", ""),), {"query": ""}, read_only=True)
    return decision.verdict is Verdict.ALLOW and decision.reason_type == "rule"


def _shells(start: Start) -> Shells:
    shells = Shells(start.session_id)
    limits, environment = start.loaded.settings.bash, start.environment
    shells.mask = Mask({**environment.secrets, **secret_values(start.loaded.settings.variables)})
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


def _search(start: Start) -> Any:
    """The configured search endpoint, or one whose key is in the environment; None if there is none."""
    asked, keys = start.loaded.settings.search, start.environment.search
    kind: str = (asked.kind if asked else "") or ""
    if not kind:
        kind = next((name for variable, name in SEARCH_BY_KEY.items() if keys.get(variable)), "")
    if not kind:
        return None
    from bobstay.tools.search_engines import Search

    url = (asked.url if asked else "") or (keys.get("SEARXNG_URL", "") if kind == "searxng" else "")
    named = start.environment.named.get(asked.key_variable, "") if asked and asked.key_variable else ""
    key = named or next(
        (keys[variable] for variable, name in SEARCH_BY_KEY.items() if name == kind and variable in keys), ""
    )
    return msgspec.convert({"kind": kind, "url": url, "key": "" if kind == "searxng" else key}, Search)
