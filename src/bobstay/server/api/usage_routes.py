"""Usage over HTTP: tokens, costs and tool time by day, model, project, session or tool."""

from datetime import date

from msgspec import Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db.spending import Spending, spending
from bobstay.server.db.tool_time import Group


class UsageQuery(Struct, frozen=True, rename={"since": "from", "until": "to"}):
    group: Group = "day"
    """What to group the sums by."""
    since: date | None = None
    """The first day, in UTC."""
    until: date | None = None
    """The last day, in UTC."""


async def get_usage(call: ApiCall) -> Spending:
    """Sum up tokens, costs and tool time, with the share that came from caches."""
    query: UsageQuery = call.query
    since = query.since.isoformat() if query.since else ""
    until = query.until.isoformat() if query.until else ""
    return await spending(call.services.database, query.group, since, until)


ENDPOINTS = (Endpoint("GET", "/usage", get_usage, query=UsageQuery, returns=Spending),)
