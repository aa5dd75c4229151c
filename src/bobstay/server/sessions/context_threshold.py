"""Thresholds of the context: how full a model's window is when people are warned."""

from bobstay.server.sessions.session_view import SessionView

WARNING, CRITICAL = 0.6, 0.9
"""Fractions of the context window from which it counts as nearly full."""


def fullness(view: SessionView) -> float:
    return view.context / view.context_limit if view.context_limit else 0.0


def context_threshold(before: SessionView, after: SessionView) -> str:
    """`warning` or `critical` if the context has just grown beyond that threshold, else nothing."""
    earlier, now = fullness(before), fullness(after)
    if earlier < CRITICAL <= now:
        return "critical"
    if earlier < WARNING <= now < CRITICAL:
        return "warning"
    return ""
