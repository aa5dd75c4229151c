"""Full-text search in sessions over HTTP."""

from typing import Annotated

from msgspec import Meta, Struct

from bobstay.server.api.endpoint import ApiCall, Endpoint
from bobstay.server.db.full_text_search import MOST_HITS, SearchResults, search


class SearchQuery(Struct, frozen=True):
    q: Annotated[str, Meta(max_length=1_000)] = ""
    """Words that must all occur, also as prefixes of longer words; words in double quotes must be adjacent."""
    session_id: Annotated[str, Meta(max_length=200)] = ""
    """Search this session only; empty for all."""
    cursor: Annotated[str, Meta(max_length=100)] = ""
    """`cursor` of the previous page; empty for the first."""
    limit: Annotated[int, Meta(ge=1, le=MOST_HITS)] = 20
    """Maximum number of hits."""


async def search_all(call: ApiCall) -> SearchResults:
    """Search the messages and tool calls of all sessions, or of one."""
    query: SearchQuery = call.query
    if query.session_id:
        view = call.services.registry.view(query.session_id)
        await call.services.database.wait_until_indexed(view.id, view.seq)
    return await search(call.services.database, query.q, query.session_id, query.cursor, query.limit)


ENDPOINTS = (Endpoint("GET", "/search", search_all, query=SearchQuery, returns=SearchResults, errors=("not_found",)),)
