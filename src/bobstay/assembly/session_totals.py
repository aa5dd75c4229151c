"""Usage and cost of a session, per model."""

from msgspec import Struct

from bobstay.model.message import Usage


class ModelTotals(Struct, frozen=True):
    usage: Usage
    cost: float
    window: int
    max_output: int


class Totals(Struct, frozen=True):
    """Usage and cost over the whole life of the session, including earlier runs."""

    cost_usd: float
    api_ms: int
    models: dict[str, ModelTotals]
    lines_added: int = 0
    lines_removed: int = 0
