"""Usage and cost of a session, per model."""

from msgspec import Struct

from bobstay.assembly.model_routes import ModelRoutes
from bobstay.engine.state import State
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


def add_up(state: State, models: ModelRoutes) -> Totals:
    totals = {}
    for name, each in state.by_model.items():
        info = models.info(name)
        totals[name] = ModelTotals(each.usage, each.cost, info.context, info.output)
    return Totals(state.cost, state.api_ms, totals, state.lines_added, state.lines_removed)
