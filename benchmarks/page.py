"""`results.md` has two authors, the comparison with peers and the decisions: each replaces its own part of the page."""

DECISIONS = "## Decisions"


def with_decisions(page: str, part: str) -> str:
    """The page with `part`, which begins with the heading, in the place of the last decisions."""
    return _joined(_split(page)[0], part)


def with_measures(page: str, measures: str) -> str:
    """The page with new measures, and the decisions it had."""
    return _joined(measures, _split(page)[1])


def _split(page: str) -> tuple[str, str]:
    before, mark, after = page.partition(f"\n{DECISIONS}\n")
    return before, f"{DECISIONS}\n{after}" if mark else ""


def _joined(measures: str, decisions: str) -> str:
    return "\n\n".join(part.strip("\n") for part in (measures, decisions) if part.strip()) + "\n"
