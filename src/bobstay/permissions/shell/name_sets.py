"""Builds a frozenset of names from a space-separated string."""


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())
