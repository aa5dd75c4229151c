"""Adapts the requested thinking and effort to what a model accepts."""

from typing import Literal, TypeAlias

ThinkingSupport: TypeAlias = Literal[
    "none", "unknown", "budget", "adaptive", "adaptive_only", "between_tools", "always"
]
"""How a model supports thinking.

`none`: not at all. `unknown`: unknown, so only on explicit request. `budget`: with a token budget. `adaptive`: the
model decides, or a budget. `adaptive_only`: the model decides, and a budget is refused. `between_tools`: the same, but
thinking can only be reduced to notes between tool calls, not turned off. `always`: the same, and never off.
"""

Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")

ThinkingMode: TypeAlias = Literal["off", "adaptive"] | int
"""Off, decided by the model, or at most so many tokens."""

DEFAULT_BUDGET = 16_000
"""Tokens for a model that needs a budget when none is configured, as Anthropic recommends for hard tasks."""

_REFUSES_BUDGET = ("adaptive_only", "between_tools", "always")


def fit_thinking(
    wanted: ThinkingMode, effort: Effort | None, thinks: ThinkingSupport, efforts: tuple[Effort, ...]
) -> tuple[ThinkingMode, Effort | None]:
    """Return the thinking mode and effort to request from a model with this support and these `efforts`."""
    effort = nearest_effort(effort, efforts)
    if thinks == "none" or (thinks == "unknown" and not isinstance(wanted, int)):
        return "off", effort
    if wanted == "adaptive" and thinks == "budget":
        return DEFAULT_BUDGET, effort
    if isinstance(wanted, int) and thinks in _REFUSES_BUDGET:
        return "adaptive", effort or nearest_effort(effort_for_budget(wanted), efforts)
    if wanted == "off" and thinks == "always":
        # Thinking cannot be turned off; the vendor recommends the lowest effort instead.
        return "off", effort or nearest_effort("low", efforts)
    if wanted == "off" and thinks in _REFUSES_BUDGET and effort in ("xhigh", "max"):
        # Such models refuse high effort levels without thinking.
        return "off", nearest_effort("high", efforts)
    return wanted, effort


def nearest_effort(effort: Effort | None, efforts: tuple[Effort, ...]) -> Effort | None:
    """Return the highest of `efforts` that is not above `effort`."""
    if effort is None or effort in efforts:
        return effort
    lower: list[Effort] = [level for level in efforts if EFFORTS.index(level) < EFFORTS.index(effort)]
    return lower[-1] if lower else None


def effort_for_budget(tokens: int) -> Effort:
    """Return the effort that corresponds to a budget of so many tokens."""
    if tokens <= 4_096:
        return "low"
    if tokens <= 12_000:
        return "medium"
    return "high" if tokens <= 32_000 else "xhigh"
