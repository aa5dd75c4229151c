"""How long tests wait for what must happen: a safety net, long enough for a machine that is busy with other work."""

DEADLINE = 60.0
"""Seconds. Nothing that works takes so long; what is broken fails after it."""
