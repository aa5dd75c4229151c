"""Builds an agent from options and settings: its model, limits, timeouts and request settings."""

from typing import Any

from bobstay.assembly.start_context import StartContext
from bobstay.assembly.tool_services import can_use_hosted_search, coordinates
from bobstay.config.options import Options
from bobstay.engine.agent import Agent, RequestSettings, RetryPolicy, StreamTimeouts
from bobstay.engine.limits import Limits
from bobstay.engine.toolbox import Toolbox
from bobstay.library.definition import AgentDefinition
from bobstay.permissions.policy import Policy
from bobstay.providers.thinking import ThinkingMode


def build_agent(
    start: StartContext,
    toolbox: Toolbox,
    policy: Policy,
    system: tuple[str, ...],
    spent: float,
    lead: AgentDefinition | None = None,
) -> Agent:
    """Build the session's own agent; `lead` is its definition, if any.

    `spent` is what the session cost before this process, less what the sessions before it cost in this process.
    """
    options, settings = start.options, start.loaded.settings
    retries, blocks = start.environment.max_retries, start.environment.stop_hook_blocks
    return Agent(
        model=_choose_lead_model(start, lead),
        models=start.routes,
        system=system,
        toolbox=toolbox,
        session_id=start.session_id,
        fallbacks=options.fallback_models or settings.fallbacks,
        limits=Limits(
            turns=options.max_turns or settings.max_turns,
            cost=budget(options, settings.max_budget_usd),
            tokens=options.max_tokens_total or options.task_budget,
            seconds=options.max_seconds,
            stop_blocks=Limits().stop_blocks if blocks is None else blocks,
        ),
        retry=RetryPolicy() if retries is None else RetryPolicy(attempts=retries),
        timeouts=_stream_timeouts(start),
        settings=RequestSettings(_thinking(options), options.effort or parse_effort(settings.effort)),
        thinking_display=options.thinking_display or "",
        max_output=start.environment.max_output_tokens,
        betas=options.betas,
        hosted_search=not coordinates(start)
        and can_use_hosted_search(start, policy, toolbox.tool_environment.services),
        structured=options.json_schema is not None,
        spent_before=spent,
    )


def _choose_lead_model(start: StartContext, lead: AgentDefinition | None) -> str:
    if lead is None or lead.model in ("", "inherit") or start.options.model:
        return start.model
    start.routes.route(lead.model)  # raises a ValueError that says what is missing
    return lead.model


def _stream_timeouts(start: StartContext) -> StreamTimeouts:
    """Read the timeouts. A configured limit for the first event applies to local models too."""
    timeouts, defaults = start.loaded.settings.timeouts, StreamTimeouts()
    first = (timeouts.first_event if timeouts else None) or (start.environment.api_timeout_ms or 0) / 1000
    between = (timeouts.between_events if timeouts else None) or defaults.between
    return StreamTimeouts(first or defaults.first, between, first or defaults.first_local)


def budget(options: Options, configured: float | None) -> float | None:
    """Return the limit of cost: a flag comes before the settings."""
    return options.max_budget_usd if options.max_budget_usd is not None else configured


def parse_effort(configured: str | None) -> Any:
    """Return the effort a text names, or None."""
    return configured if configured in ("low", "medium", "high", "xhigh", "max") else None


def _thinking(options: Options) -> ThinkingMode:
    """Read the requested thinking mode, independent of the model: each request adapts it to its model."""
    if options.thinking == "disabled" or options.max_thinking_tokens == 0:
        return "off"
    return options.max_thinking_tokens or "adaptive"
