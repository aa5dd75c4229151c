"""Points at which the run is killed, chosen by a seed."""

import os
import random

SEED = os.environ.get("BOBSTAY_FAULT_SEED") or "1"
POINTS = int(os.environ.get("BOBSTAY_FAULT_POINTS") or "24")

SHARES = {"streaming": 0.2, "tool": 0.2, "append": 0.25, "approval": 0.15, "anywhere": 0.2}
"""Of 200 points at least 30 of each kind."""


def points(kind: str) -> list[int]:
    """The numbers of the points of a kind."""
    return list(range(max(1, round(POINTS * SHARES[kind]))))


def chooser(kind: str, number: int) -> random.Random:
    """Random generator of one point, independent of all others, so that it can be repeated alone."""
    return random.Random(f"{SEED}-{kind}-{number}")
