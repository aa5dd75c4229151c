"""Sets of names, written the way they read best: as text."""


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())
