"""Fits how much a model is asked to think to what that model accepts."""

from typing import Literal, TypeAlias

Thinks: TypeAlias = Literal["none", "unknown", "budget", "adaptive", "adaptive_only", "between_tools", "always"]
"""How a model thinks.

`none`: never. `unknown`: nobody knows, so only as it was asked for. `budget`: for at most so many tokens as it is told.
`adaptive`: as it sees fit, or with a budget. `adaptive_only`: as it sees fit, and a budget is refused. `between_tools`:
the same, but it can only be turned down to notes between tool calls, never off. `always`: the same, and never off.
"""

Effort: TypeAlias = Literal["low", "medium", "high", "xhigh", "max"]
EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")

Wanted: TypeAlias = Literal["off", "adaptive"] | int
"""Off, as the model sees fit, or at most so many tokens."""

BUDGET = 16_000
"""Tokens for a model that must be told a number when nobody chose one: what Anthropic advises for hard tasks."""

_WITHOUT_BUDGET = ("adaptive_only", "between_tools", "always")


def fitted(
    wanted: Wanted, effort: Effort | None, thinks: Thinks, efforts: tuple[Effort, ...]
) -> tuple[Wanted, Effort | None]:
    """Return what to ask of a model that thinks like `thinks` and knows `efforts`."""
    effort = nearest(effort, efforts)
    if thinks == "none" or (thinks == "unknown" and not isinstance(wanted, int)):
        return "off", effort
    if wanted == "adaptive" and thinks == "budget":
        return BUDGET, effort
    if isinstance(wanted, int) and thinks in _WITHOUT_BUDGET:
        return "adaptive", effort or nearest(effort_of(wanted), efforts)
    if wanted == "off" and thinks == "always":
        # It cannot be turned off, and the least effort is what its vendor says to use instead.
        return "off", effort or nearest("low", efforts)
    if wanted == "off" and thinks in _WITHOUT_BUDGET and effort in ("xhigh", "max"):
        # Such models refuse so much effort without thinking.
        return "off", nearest("high", efforts)
    return wanted, effort


def nearest(effort: Effort | None, efforts: tuple[Effort, ...]) -> Effort | None:
    """The highest of `efforts` that is not above `effort`."""
    if effort is None or effort in efforts:
        return effort
    lower: list[Effort] = [level for level in efforts if EFFORTS.index(level) < EFFORTS.index(effort)]
    return lower[-1] if lower else None


def effort_of(tokens: int) -> Effort:
    """The effort that comes nearest to a budget of so many tokens."""
    if tokens <= 4_096:
        return "low"
    if tokens <= 12_000:
        return "medium"
    return "high" if tokens <= 32_000 else "xhigh"
